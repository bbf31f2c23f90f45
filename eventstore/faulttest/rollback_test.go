package faulttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain/seedtest"
)

// wholes are the streams, each with all its segments, and the tip store, that can be rolled back on
// their own. "no tips" is the tip store that is gone: a start makes it again from the log.
var wholes = []string{"LEDGER_0", "LEDGER_1", "DELIVERIES", "SECRETS", "CHECKPOINTS", "tips", "no tips"}

// combinations returns all sets of one, two and three of them.
func combinations() (all [][]string) {
	for i, a := range wholes {
		all = append(all, []string{a})
		for j, b := range wholes[i+1:] {
			if a == "tips" {
				continue // with "no tips"
			}
			all = append(all, []string{a, b})
			for _, c := range wholes[i+j+2:] {
				if b != "tips" {
					all = append(all, []string{a, b, c})
				}
			}
		}
	}
	return all
}

// rollBackWhole replaces the files of a stream, or of the tip store, by older ones.
func (i *injector) rollBackWhole(what string) error {
	parent := filepath.Join("jetstream", "LEDGER", "streams")
	of := func(name string) bool { return name == what || strings.HasPrefix(name, what+"_") }
	switch what {
	case "no tips":
		return os.RemoveAll(filepath.Join(i.dir, "tips"))
	case "tips":
		parent, of = ".", func(name string) bool { return name == "tips" }
	}
	now, err := os.ReadDir(filepath.Join(i.dir, parent))
	before, beforeErr := os.ReadDir(filepath.Join(i.older, parent))
	err = errors.Join(err, beforeErr)
	for _, entry := range now {
		if of(entry.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(i.dir, parent, entry.Name())))
		}
	}
	for _, entry := range before {
		if of(entry.Name()) {
			err = errors.Join(err, os.CopyFS(filepath.Join(i.dir, parent, entry.Name()), os.DirFS(filepath.Join(i.older, parent, entry.Name()))))
		}
	}
	return err
}

// TestRollbacks: whole streams that are rolled back together, in every combination of one, two and
// three, are noticed at the start and by verify, also with the tip store, which is a witness of the
// streams beside the log. The gate takes a part of the combinations.
func TestRollbacks(t *testing.T) {
	t.Parallel()
	all := combinations()
	if len(all) != 7+21-1+35-5 {
		t.Fatalf("%d combinations", len(all))
	}
	sample := 6
	if seedtest.Sampled() {
		sample = 3
	}
	rollbacks(t, all, sample)
}

func rollbacks(t *testing.T, all [][]string, sample int) {
	m, b := logOf(t)
	seed := *faultSeed
	if seed == 0 {
		seed = seedtest.Seed(t)
	}
	random := rand.New(rand.NewPCG(seed, 3))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if sample > 0 {
		// always: the streams that only the tip store witnessed before, with it
		all = append([][]string{{"SECRETS", "tips"}, {"CHECKPOINTS", "no tips"}, {"SECRETS", "CHECKPOINTS", "tips"}}, all[:sample]...)
	}
	counts := &tally{n: map[string]int{}}
	t.Run("all", func(t *testing.T) {
		for _, these := range all {
			t.Run(strings.Join(these, "+"), func(t *testing.T) {
				t.Parallel()
				e := &experiment{t: t, m: m, b: b, counts: counts, injector: injector{
					dir: copyOf(t, m.newer), older: m.older, random: rand.New(rand.NewPCG(seed, 4)),
				}}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				e.rolledBack(ctx, these)
			})
		}
	})
	t.Logf("%d combinations from seed %d\n%s", len(all), seed, counts)
}

// rollBackAll rolls streams back.
func (e *experiment) rollBackAll(state string, these []string) {
	for _, what := range these {
		if err := e.rollBackWhole(what); err != nil {
			e.t.Fatal(err)
		}
	}
	e.what = state + " rolled back: " + strings.Join(these, " + ")
}

// rolledBack rolls streams of a stopped log back, verifies it and starts it.
func (e *experiment) rolledBack(ctx context.Context, these []string) {
	e.rollBackAll("stopped", these)
	// The tip store is derived: a start brings it up to the log.
	if !slices.ContainsFunc(these, func(what string) bool { return what != "tips" && what != "no tips" }) {
		o, err := start(ctx, e.dir)
		if err != nil {
			e.refused(err, digest(e.dir))
			return
		}
		e.judge(ctx, e.look(ctx, o))
		return
	}
	if found := verifyFolder(e.t, e.dir); len(found) == 0 {
		e.fail("verify finds nothing")
	}
	before := digest(e.dir)
	o, err := start(ctx, e.dir)
	if err == nil {
		err = fmt.Errorf("the log started, and was stopped: %w", errors.Join(o.stop(), errors.New("nothing was noticed")))
		e.fail("%v", err)
		return
	}
	e.refused(err, before)
}
