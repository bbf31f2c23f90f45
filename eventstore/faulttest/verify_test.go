package faulttest

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/verify"
)

var verifyFaults = flag.Int("verifyfaults", 25, "number of faults that TestVerify makes; with -short a third of it")

func init() { verify.Register(notes) }

// byVerify is how verify found a fault.
const byVerify = "by verify"

// TestVerify: verify finds and names every fault of a stopped log, or the fault is harmless: after a start every answer is as
// before. verify changes no byte.
func TestVerify(t *testing.T) {
	t.Parallel()
	m, b := makeTemplate(t)
	if found := verifyFolder(t, m.newer); len(found) > 0 {
		t.Fatalf("a whole log: %d faults, the first: %s", len(found), found[0])
	}
	seed, n := *faultSeed, *verifyFaults
	if seed == 0 {
		seed = uint64(time.Now().UnixNano() % 1e9)
	}
	if testing.Short() {
		n = (n + 2) / 3
	}
	counts := &tally{n: map[string]int{}}
	t.Run("all", func(t *testing.T) {
		for i := range uint64(n) {
			one := seed + i
			t.Run(fmt.Sprintf("seed %d", one), func(t *testing.T) {
				t.Parallel()
				e := &experiment{t: t, m: m, b: b, counts: counts, injector: injector{
					dir: copyOf(t, m.newer), older: m.older, random: rand.New(rand.NewPCG(one, 1)), class: *faultIn, kind: *faultKind,
				}}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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
		if text := f.String(); strings.Contains(text, "at sequence") || f.ID != "" || strings.Contains(text, "tip store") || strings.Contains(text, "LEDGER_") ||
			strings.Contains(text, "DELIVERIES_") || strings.Contains(text, "SECRETS_") || strings.Contains(text, "CHECKPOINTS_") || strings.Contains(text, "POSITIONS") {
			e.verdict(byVerify)
			return
		}
	}
	if len(found) > 0 {
		e.fail("no fault names a place: %v", found)
		return
	}
	e.again(ctx)
}

// verifyFolder returns the faults of a stopped log.
func verifyFolder(t *testing.T, dir string) (all []verify.Fault) {
	t.Helper()
	a, err := eventstore.OpenArchive(dir)
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
