package faulttest

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"payledger/domain/seedtest"
	"payledger/eventstore/archive"
	"payledger/eventstore/verify"
)

var verifyFaults = flag.Int("verifyfaults", 25, "number of faults that TestVerify makes; a quarter of it if the test takes a sample")

func init() { verify.Register(notes.Core) }

// byVerify is how verify found a fault.
const byVerify = "by verify"

// TestVerify: verify finds and names every fault of a stopped log, or the fault is harmless: after
// a start every answer is as before. verify changes no byte.
func TestVerify(t *testing.T) {
	t.Parallel()
	m, b := logOf(t)
	if found := verifyFolder(t, m.newer); len(found) > 0 {
		t.Fatalf("a whole log: %d faults, the first: %s", len(found), found[0])
	}
	seed, n := *faultSeed, *verifyFaults
	if seed == 0 {
		seed = seedtest.Seed(t)
	}
	if seedtest.Sampled() {
		n = (n + 3) / 4
	}
	counts := &tally{n: map[string]int{}}
	t.Run("all", func(t *testing.T) {
		for i := range uint64(n) {
			if !seedtest.Turn(int(i), 3) {
				continue
			}
			one := seed + i
			t.Run(fmt.Sprintf("seed %d", one), func(t *testing.T) {
				t.Parallel()
				e := &experiment{t: t, m: m, b: b, counts: counts, injector: injector{
					dir: copyOf(t, m.newer), older: m.older, random: rand.New(rand.NewPCG(one, 1)), class: *faultIn, kind: *faultKind,
				}}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				e.verified(ctx)
			})
		}
	})
	t.Logf("%d faults from seed %d\n%s", n, seed, counts)
}

// verified damages a stopped log and verifies it.
func (e *experiment) verified(ctx context.Context) {
	if !e.inject("stopped") {
		return
	}
	before := digest(e.dir)
	found := verifyFolder(e.t, e.dir)
	if digest(e.dir) != before {
		e.fail("verify changed the folder")
	}
	for _, f := range found {
		if e.fault.named(f) {
			e.verdict(byVerify)
			return
		}
	}
	if len(found) > 0 {
		e.fail("no fault names the place: %v", found)
		return
	}
	e.again(ctx)
}

// named reports whether a fault that verify found names the damaged stream, or the tip store.
func (f fault) named(found verify.Fault) bool {
	text := found.String()
	if f.class == "tips" {
		return strings.Contains(text, "tip store") && (found.Sequence > 0 || strings.Contains(text, "/tips"))
	}
	for _, path := range append(strings.Fields(f.detail), f.file) { // the detail may name another file
		if _, rest, in := strings.Cut(path, "/streams/"); in {
			stream, _, _ := strings.Cut(rest, "/")
			if strings.HasPrefix(text, stream+" at sequence ") || strings.HasPrefix(text, after(stream)+" at sequence ") && strings.Contains(text, "the segment before ends at") {
				return true
			}
		}
	}
	return false
}

// after returns the name of the next segment of a stream.
func after(segment string) string {
	end := strings.LastIndexByte(segment, '_') + 1
	number, err := strconv.Atoi(segment[end:])
	if err != nil {
		return segment
	}
	return segment[:end] + strconv.Itoa(number+1)
}

// verifyFolder returns the faults of a stopped log.
func verifyFolder(t *testing.T, dir string) (all []verify.Fault) {
	t.Helper()
	a, err := archive.Open(dir)
	if err != nil { // a tip store that cannot be opened, or no log at all
		return []verify.Fault{{Difference: err.Error()}}
	}
	_, err = verify.Run(context.Background(), verify.Config{Archive: a, Memory: 64 << 10, Temp: t.TempDir(), Report: func(f verify.Fault) error {
		all = append(all, f)
		return nil
	}})
	if err != nil {
		all = append(all, verify.Fault{Difference: err.Error()})
	}
	if err := a.Close(); err != nil {
		all = append(all, verify.Fault{Difference: err.Error()})
	}
	return all
}

// TestVerifyNamesAll: verify names each of several damaged streams, and the fault of a tip store.
func TestVerifyNamesAll(t *testing.T) {
	t.Parallel()
	m, _ := logOf(t)
	dir := copyOf(t, m.newer)
	i := &injector{dir: dir, random: rand.New(rand.NewPCG(1, 1))}
	var damaged []string
	for class, stream := range map[string]string{
		"journal": "LEDGER_0_1", "deliveries": "DELIVERIES_1", "secrets": "SECRETS_1", "checkpoints": "CHECKPOINTS_1",
	} {
		for _, file := range i.files(class) {
			if strings.Contains(file, "/"+stream+"/") {
				_, err := i.edit(file, func(b []byte) ([]byte, string) { b[len(b)/2] ^= 1; return b, "" })
				if err != nil {
					t.Fatal(err)
				}
				damaged = append(damaged, stream)
				break
			}
		}
	}
	manifests, err := filepath.Glob(filepath.Join(dir, "tips", "MANIFEST*"))
	if err != nil || len(manifests) == 0 {
		t.Fatal(manifests, err)
	}
	for _, path := range manifests {
		if err := os.WriteFile(path, []byte("nothing"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	damaged = append(damaged, "the tip store "+dir)
	found := verifyFolder(t, dir)
	for _, stream := range damaged {
		if !slices.ContainsFunc(found, func(f verify.Fault) bool { return strings.HasPrefix(f.String(), stream) }) {
			t.Errorf("no fault names %s: %v", stream, found)
		}
	}
	if len(damaged) < 5 {
		t.Errorf("only %v were damaged", damaged)
	}
	seen := map[string]bool{}
	for _, f := range found {
		if seen[f.String()] {
			t.Errorf("%s is named twice", f)
		}
		seen[f.String()] = true
	}
}

// TestVerifySecretsWithoutTips: without the tip store, verify finds a missing record of SECRETS
// that no destruction names.
func TestVerifySecretsWithoutTips(t *testing.T) {
	t.Parallel()
	m, _ := logOf(t)
	dir := copyOf(t, m.newer)
	if err := os.RemoveAll(filepath.Join(dir, "tips")); err != nil {
		t.Fatal(err)
	}
	if found := verifyFolder(t, dir); len(found) > 0 {
		t.Fatalf("a log without a tip store: %v", found)
	}
	i := &injector{dir: dir, random: rand.New(rand.NewPCG(1, 1))}
	for _, file := range i.files("secrets") {
		at := i.records(file)
		if len(at) < 4 {
			continue
		}
		for n := 1; n < len(at)-2; n++ { // the record of an erased value may be missing
			part, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := i.edit(file, func(b []byte) ([]byte, string) { return append(b[:at[n]:at[n]], b[at[n+1]:]...), "" }); err != nil {
				t.Fatal(err)
			}
			stream := filepath.Base(filepath.Dir(filepath.Dir(file)))
			for _, f := range verifyFolder(t, dir) {
				if f.Stream == stream && strings.Contains(f.Difference, "no destruction names it") {
					return
				}
			}
			if err := os.WriteFile(filepath.Join(dir, file), part, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Error("no missing record was found")
}
