package faulttest

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"payledger/domain/seedtest"
	"payledger/eventstore/verify"
)

var verifyRunning = flag.Int("verifyrunning", 12, "number of faults that TestVerifyRunning makes; a quarter of it if the test takes a sample")

// TestVerifyRunning: verify of a running log finds and names every fault of the files that a read
// or the scrub finds. It changes no message of the damaged files: a server cuts a damaged block
// when it loads it.
func TestVerifyRunning(t *testing.T) {
	t.Parallel()
	m, b := logOf(t)
	seed, n := *faultSeed, *verifyRunning
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
				e.verifiedRunning(ctx)
			})
		}
	})
	t.Logf("%d faults from seed %d\n%s", n, seed, counts)
}

// verifiedRunning damages a running log and verifies it.
func (e *experiment) verifiedRunning(ctx context.Context) {
	o, err := start(ctx, e.dir)
	if err != nil {
		e.t.Fatal(err)
	}
	if e.random.IntN(2) == 0 { // caches are warm
		if _, err := o.ask(ctx, e.b); err != nil {
			e.t.Error(err)
		}
	}
	if !e.inject("running") {
		if err := o.stop(); err != nil {
			e.t.Error(err)
		}
		return
	}
	before := messages(e.dir)
	found := verifyStore(ctx, e.t, o)
	if after := messages(e.dir); !maps.Equal(before, after) {
		e.fail("verify changed files of messages")
	}
	for _, f := range found {
		if e.fault.named(f) {
			if err := o.stop(); err != nil && e.fault.class != "tips" {
				e.fail("stop: %v", err)
			}
			e.verdict(byVerify)
			return
		}
	}
	if len(found) > 0 {
		e.fail("no fault names the place: %v", found)
	}
	noticed := e.look(ctx, o)
	if noticed != "" && e.fault.class != "tips" {
		e.fail("verify found nothing, and the damage was noticed %s", noticed)
	}
	e.judge(ctx, noticed)
}

// messages are the digests of the files of messages.
func messages(dir string) map[string][32]byte {
	all := map[string][32]byte{}
	paths, _ := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*", "msgs", "*.blk")) // the pattern is valid
	for _, path := range paths {
		if b, err := os.ReadFile(path); err == nil {
			all[path] = sha256.Sum256(b)
		}
	}
	return all
}

// verifyStore returns the faults of a running log.
func verifyStore(ctx context.Context, t *testing.T, o *open) (all []verify.Fault) {
	t.Helper()
	a, err := o.store.Archive(ctx)
	if err != nil {
		return []verify.Fault{{Difference: err.Error()}}
	}
	_, err = verify.Run(ctx, verify.Config{Archive: a, Memory: 64 << 10, Temp: t.TempDir(), Report: func(f verify.Fault) error {
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
