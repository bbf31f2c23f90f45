//go:build system

package faulttest

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"payledger/domain/seedtest"
)

// TestAllRollbacks is TestRollbacks over all combinations.
func TestAllRollbacks(t *testing.T) { rollbacks(t, combinations(), 0) }

var damages = flag.Uint64("damages", 40, "number of damages that TestDamages makes")

// TestDamages makes random damages: single ones, and rollbacks of one, two and three streams
// together, of a stopped and of a running log. Each is noticed, or harmless. Its output has the
// seed of each. A thousand: -damages 1000 -timeout 60m
func TestDamages(t *testing.T) {
	m, b := logOf(t)
	seed, n := *faultSeed, *damages
	if seed == 0 {
		seed = seedtest.Seed(t)
	}
	all := combinations()
	counts := &tally{n: map[string]int{}}
	t.Run("all", func(t *testing.T) {
		for i := range n {
			if !seedtest.Turn(int(i), 3) {
				continue
			}
			one := seed + i
			t.Run(fmt.Sprintf("seed %d", one), func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(one, 1))
				e := &experiment{t: t, m: m, b: b, counts: counts, injector: injector{dir: copyOf(t, m.newer), older: m.older, random: random}}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				these := all[random.IntN(len(all))]
				switch one % 4 {
				case 0:
					e.stopped(ctx)
				case 1:
					e.running(ctx)
				case 2:
					e.rolledBack(ctx, these)
				case 3:
					e.rolledBackRunning(ctx, these)
				}
			})
		}
	})
	t.Logf("%d damages from seed %d\n%s", n, seed, counts)
}

// rolledBackRunning rolls streams of a log in use back.
func (e *experiment) rolledBackRunning(ctx context.Context, these []string) {
	o, err := start(ctx, e.dir)
	if err != nil {
		e.t.Fatal(err)
	}
	if e.random.IntN(2) == 0 { // caches are warm
		if _, err := o.ask(ctx, e.b); err != nil {
			e.t.Error(err)
		}
	}
	e.rollBackAll("running", these)
	e.judge(ctx, e.look(ctx, o))
}
