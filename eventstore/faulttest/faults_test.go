package faulttest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
)

var (
	faults    = flag.Int("faults", 25, "number of faults; a quarter of it if the test takes a sample")
	faultSeed = flag.Uint64("faultseed", 0, "seed of the first fault; 0 takes that of package seedtest")
	faultIn   = flag.String("faultin", "", "class of files to damage; none: all")
	faultKind = flag.String("faultkind", "", "kind of faults; none: all")
)

func TestMain(m *testing.M) {
	flag.Parse()
	eventstoretest.AtOnce(4, 1)
	m.Run()
}

// How a fault was found.
const (
	atStart  = "refused at start"
	atOpen   = "refused after the server started"
	byRead   = "by read"
	byScrub  = "by scrub"
	byStop   = "at the stop" // a flush of the tip store failed
	harmless = "harmless"
)

// tally counts verdicts.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) add(what ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range what {
		c.n[w]++
	}
}

func (c *tally) String() string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(c.n)) {
		lines = append(lines, fmt.Sprintf("%4d %s", c.n[name], name))
	}
	return strings.Join(lines, "\n")
}

// TestFaults: every fault is noticed, or harmless.
func TestFaults(t *testing.T) {
	t.Parallel()
	m, b := logOf(t)
	if size := sizeOf(t, m.newer); size > 16<<20 {
		t.Errorf("the folder has %d bytes", size)
	}
	seed, n := *faultSeed, *faults
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
			running := one%2 == 0
			t.Run(fmt.Sprintf("seed %d", one), func(t *testing.T) {
				t.Parallel()
				e := &experiment{t: t, m: m, b: b, counts: counts, injector: injector{
					dir: copyOf(t, m.newer), older: m.older, random: rand.New(rand.NewPCG(one, 1)), class: *faultIn, kind: *faultKind,
				}}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				if running {
					e.running(ctx)
				} else {
					e.stopped(ctx)
				}
			})
		}
	})
	t.Logf("%d faults from seed %d\n%s", n, seed, counts)
}

// experiment is one fault and its result.
type experiment struct {
	injector
	t      *testing.T
	m      *template
	b      *books
	counts *tally
	what   string
	fault  fault
}

func (e *experiment) fail(format string, args ...any) {
	e.t.Helper()
	e.t.Errorf("%s: %s", e.what, fmt.Sprintf(format, args...))
}

func (e *experiment) inject(state string) bool {
	f, err := e.injector.inject()
	e.what, e.fault = state+" "+f.String(), f
	if err != nil {
		if !errors.Is(err, errNothing) {
			e.fail("%v", err)
		}
		return false
	}
	return true
}

// verdict counts how the fault was noticed.
func (e *experiment) verdict(how string) {
	state, rest, _ := strings.Cut(e.what, " ")
	class, _, _ := strings.Cut(rest, ":")
	e.counts.add(how, state+", "+class+": "+how)
	e.t.Logf("%s: %s", e.what, how)
}

// stopped damages a stopped log and starts it.
func (e *experiment) stopped(ctx context.Context) {
	if !e.inject("stopped") {
		return
	}
	before := digest(e.dir)
	o, err := start(ctx, e.dir)
	if err != nil {
		e.refused(err, before)
		return
	}
	e.judge(ctx, e.look(ctx, o))
}

// judge counts how the fault was found, or restarts the log.
func (e *experiment) judge(ctx context.Context, found string) {
	switch found {
	case byStop:
		e.dir = copyOf(e.t, e.dir) // the store keeps the lock of its folder
		e.again(ctx)
	case "":
		e.again(ctx)
	default:
		e.verdict(found)
	}
}

// refused judges a start that failed.
func (e *experiment) refused(err error, before string) {
	if !errors.Is(err, eventstore.ErrUnhealthy) {
		e.fail("the start says %v", err)
	}
	if digest(e.dir) != before {
		e.fail("the refused start has changed the folder: %v", err)
	}
	how := atStart
	if errors.Is(err, errOpen) {
		how = atOpen
	}
	e.verdict(how)
}

// look reads everything, scrubs and stops the log. found is the way in which damage was noticed.
func (e *experiment) look(ctx context.Context, o *open) (found string) {
	defer func() {
		switch err := o.stop(); {
		case err == nil || found != "":
		case strings.Contains(e.what, " tips"): // a flush failed: the files of the open tip store are others, or gone
			found = byStop
		default:
			e.fail("stop: %v", err)
		}
	}()
	read := func() bool {
		got, err := o.ask(ctx, e.b)
		if err != nil && !errors.Is(err, eventstore.ErrUnhealthy) && o.store.Healthy() == nil {
			e.fail("a read says %v", err)
		}
		want := e.m.answers
		for question, answer := range got {
			if was := want[question]; was != answer {
				e.fail("%q is answered otherwise; other error: %v", question, err)
				break
			}
		}
		if err == nil && len(got) != len(want) {
			e.fail("not all is answered: %s", want.differ(got))
		}
		if err != nil {
			e.unhealthy(ctx, o)
		}
		return err != nil
	}
	scrub := func() bool {
		err := o.store.Scrub(ctx)
		if err != nil && !errors.Is(err, eventstore.ErrUnhealthy) {
			e.fail("the scrub says %v", err)
		}
		if err != nil {
			e.unhealthy(ctx, o)
		}
		return err != nil
	}
	if e.random.IntN(2) == 0 {
		if scrub() {
			read() // its answers must still be right
			return byScrub
		}
		if read() {
			return byRead
		}
		return ""
	}
	if read() {
		return byRead
	}
	if scrub() {
		read()
		return byScrub
	}
	return ""
}

// unhealthy checks the report of a log whose damage was noticed: it is red, and names a stream and
// a sequence.
func (e *experiment) unhealthy(ctx context.Context, o *open) {
	err := o.store.Healthy()
	if err == nil {
		e.fail("damage was noticed, and the log is healthy")
		return
	}
	if text := err.Error(); !strings.Contains(text, "sequence") && !strings.Contains(text, "tip store") {
		e.fail("the reason names no sequence: %s", text)
	}
	damaged := o.store.Damaged()
	for _, key := range e.b.keys { // a claim on each must fail, whatever the server returns for its place
		if len(damaged) > 0 && !slices.Contains(damaged, o.store.ShardOf(key)) {
			continue
		}
		meta, err := o.store.NewMeta("test", "")
		if err != nil {
			e.fail("%v", err)
		}
		tip, err := eventstore.ExecuteNew(ctx, o.store, notes, key, meta, func(note) (noted, error) { return noted{"claim"}, nil })
		if err == nil || tip.Appended {
			e.fail("an append to a damaged log succeeded: %s", key)
		}
	}
}

// again restarts a log in which nothing was noticed: every answer must be as before.
func (e *experiment) again(ctx context.Context) {
	o, err := start(ctx, e.dir)
	switch {
	case err == nil:
	case (strings.Contains(e.what, " tips: ") || strings.HasPrefix(e.what, "running rolled back: ")) && errors.Is(err, eventstore.ErrUnhealthy):
		e.verdict("refused at the next start") // a file was replaced under an open tip store, which serves no answer alone
		return
	default:
		e.fail("nothing was noticed, and the next start says %v", err)
		return
	}
	got, err := o.ask(ctx, e.b)
	if question := e.m.answers.differ(got); err != nil || question != "" {
		e.fail("nothing was noticed, and after a restart: %v; %s", err, question)
	}
	if err := o.stop(); err != nil {
		e.fail("stop: %v", err)
	}
	e.verdict(harmless)
}

// running damages a log in use.
func (e *experiment) running(ctx context.Context) {
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
	e.judge(ctx, e.look(ctx, o))
}
