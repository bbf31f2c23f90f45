package turns

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"payledger/eventstore/format"
)

// others are the actions that other nodes took, and what this node did.
type others struct {
	mu    sync.Mutex
	taken map[string]bool
	acted []string
	done  []uint64
	fail  error
}

func (o *others) take(names ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range names {
		o.taken[name] = true
	}
}

func (o *others) seen() (acted []string, done []uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.acted), slices.Clone(o.done)
}

func (o *others) queue() *Queue[string] {
	return NewQueue(func(name string) (bool, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.taken[name], nil
	}, func(_ context.Context, names []string) error {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.acted = append(o.acted, names...)
		return o.fail
	}, func(events []*format.Recorded) {
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, r := range events {
			o.done = append(o.done, r.Seq)
		}
	})
}

func event(seq uint64) []*format.Recorded { return []*format.Recorded{{Seq: seq}} }

// TestTurns: an action of another node is left to that node for Patience, and taken then. Events
// are done in their order, those without actions of others after the ones before them.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &others{taken: map[string]bool{}}
		q := o.queue()
		ctx, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := q.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		add := func(seq uint64, actions ...string) {
			if err := q.Add(ctx, event(seq), actions); err != nil {
				t.Error(err)
			}
		}
		wait := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		is := func(what string, acted []string, done ...uint64) {
			t.Helper()
			if gotActed, gotDone := o.seen(); !slices.Equal(gotActed, acted) || !slices.Equal(gotDone, done) {
				t.Errorf("%s: acted on %v, done with %v", what, gotActed, gotDone)
			}
		}
		add(1)
		is("no action of others", nil, 1)
		add(2, "a", "b")
		add(3)
		add(4, "c")
		wait(DefaultPatience / 3)
		is("the others have time", nil, 1)
		o.take("a", "b")
		wait(look)
		is("the others took the actions of event 2", nil, 1, 2, 3)
		o.take("d")
		add(5, "d", "e")
		wait(DefaultPatience - 2*look)
		is("nobody took the last actions", []string{"c"}, 1, 2, 3, 4)
		wait(3 * look)
		is("what was taken is left out", []string{"c", "e"}, 1, 2, 3, 4, 5)
		add(6)
		is("nothing waits any more", []string{"c", "e"}, 1, 2, 3, 4, 5, 6)
		end()
		running.Wait()
	})
}

// TestTurnFails: an action that cannot be taken ends the queue, and its event is not done.
func TestTurnFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		o := &others{taken: map[string]bool{}, fail: broken}
		q := o.queue()
		if err := q.Add(t.Context(), event(1), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		if err := q.Run(t.Context()); !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
		if _, done := o.seen(); len(done) > 0 {
			t.Errorf("done with %v", done)
		}
	})
}
