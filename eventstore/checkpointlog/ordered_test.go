package checkpointlog_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/eventstore/ordered"
)

// added is the event of the tests' aggregate.
type added struct {
	N int64 `json:"n"`
}

func (added) Type() string { return "tally.added" }

var tallies = format.NewAggregate("tally", 1, []added{{}}, func(sum int64, e added) int64 { return sum + e.N })

// appendTo appends an event of a new tally.
func appendTo(t testing.TB, s *engine.Store) *eventstore.Recorded {
	var b [16]byte
	rand.Read(b[:])
	meta, err := s.NewMeta("tester", "test")
	if err != nil {
		t.Error(err)
		return nil
	}
	tip, err := eventstore.ExecuteNew(t.Context(), s, tallies, tallies.Key("acct", string(domain.NewToken(b))), meta, func(int64) (added, error) { return added{1}, nil })
	if err != nil {
		t.Error(err)
	}
	return tip.Recorded
}

// open opens a store of so many shards on an embedded server.
func open(t testing.TB, shards int) *engine.Store {
	t.Helper()
	return openOn(t, eventstoretest.Config(eventstoretest.Server(t, t.TempDir())), shards)
}

func openOn(t testing.TB, c engine.Config, shards int) *engine.Store {
	t.Helper()
	c.Shards = shards
	return eventstoretest.OpenOn(t, c)
}

// often is an interval of checkpoints that tests do not notice.
const often = time.Millisecond

// checkpoints writes checkpoints at an interval until end is called.
func checkpoints(t testing.TB, s *engine.Store, every time.Duration) (end func()) {
	t.Helper()
	signer, _, err := eventstoretest.Secrets(t, s).CheckpointSigner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fanout := eventstore.NewFanout(s)
	c, err := checkpointlog.NewWriter(t.Context(), s.Checkpoints(), fanout.Reader, signer)
	if err != nil {
		t.Fatal(err)
	}
	c.Every = every
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = fanout.Run(ctx) })
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	end = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(end)
	return end
}

// awaitSize waits until so many events have a position.
func awaitSize(t testing.TB, s *engine.Store, size uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Checkpoints().Cover(ctx, func() uint64 { return size }); err != nil {
		t.Fatal(err)
	}
}

// collect reads all events after a position.
func collect(t testing.TB, l *ordered.Log, after uint64) (events []ordered.Event) {
	t.Helper()
	through, err := l.Read(t.Context(), after, func(e ordered.Event) error {
		events = append(events, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := after + uint64(len(events)); through != want {
		t.Errorf("read through %d, and handled up to %d", through, want)
	}
	return events
}

// TestOrderedRead: every event is read once, in the order of the positions of the newest
// checkpoint, from any position on, by every store.
func TestOrderedRead(t *testing.T) {
	t.Parallel()
	for name, sole := range map[string]bool{"sole writer": true, "node of a cluster": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := eventstoretest.Config(eventstoretest.Server(t, t.TempDir()))
			if !sole {
				c = eventstoretest.Cluster(t)
			}
			s := openOn(t, c, 3)
			all := map[uint64]*eventstore.Recorded{} // by number and shard
			var mu sync.Mutex
			checkpoints(t, s, often)
			total := uint64(0)
			for range 6 {
				var writers sync.WaitGroup
				for range 8 {
					writers.Go(func() {
						for range 4 {
							e := appendTo(t, s)
							mu.Lock()
							all[e.Number*3+uint64(e.Shard)] = e
							mu.Unlock()
						}
					})
				}
				writers.Wait()
				total += 32
				awaitSize(t, s, total)
			}
			l := ordered.New(s)
			events := collect(t, l, 0)
			if uint64(len(events)) < total {
				t.Fatalf("%d events, want %d", len(events), total)
			}
			order, err := s.Checkpoints().Order(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range events {
				position, _, err := order.Position(t.Context(), e.Recorded)
				if err != nil || e.Position != position || position != uint64(i+1) {
					t.Fatalf("event %d has the position %d; Position returns %d, %v", i+1, e.Position, position, err)
				}
				delete(all, e.Number*3+uint64(e.Shard))
			}
			if len(all) > 0 {
				t.Errorf("%d events were not read", len(all))
			}
			fresh := ordered.New(s)
			for after := range events {
				rest := collect(t, fresh, uint64(after))
				if len(rest) != len(events)-after || rest[0].Hash != events[after].Hash {
					t.Fatalf("after %d: %d events, want %d", after, len(rest), len(events)-after)
				}
			}
			if _, err := l.Read(t.Context(), uint64(len(events))+1, nil); !errors.Is(err, ordered.ErrBeyond) {
				t.Errorf("an unknown position: %v", err)
			}
			if sole {
				return
			}
			other := collect(t, ordered.New(openOn(t, c, 3)), 0)
			for i := range events {
				if other[i].Hash != events[i].Hash {
					t.Fatalf("the other store has another event at %d", i+1)
				}
			}
		})
	}
}

// TestOrderedSeek: a position within a checkpoint over many groups is found, and a follower
// receives the events of later checkpoints.
func TestOrderedSeek(t *testing.T) {
	t.Parallel()
	s := open(t, 1)
	const many = 300
	for range many {
		appendTo(t, s) // one after the other: a group each
	}
	if size, err := ordered.New(s).Size(t.Context()); size != 0 || err != nil {
		t.Fatalf("%d events have a position without a checkpoint, %v", size, err)
	}
	checkpoints(t, s, checkpointlog.DefaultEvery) // long enough for one checkpoint over all groups
	awaitSize(t, s, many)
	events := collect(t, ordered.New(s), 0)
	for after := 0; after < len(events); after += 7 {
		if rest := collect(t, ordered.New(s), uint64(after)); len(rest) != len(events)-after || rest[0].Hash != events[after].Hash {
			t.Fatalf("after %d: %d events, want %d", after, len(rest), len(events)-after)
		}
	}
}

// clocked opens a log of two shards with checkpoints, whose events have the time in now, which
// begins at first.
func clocked(t *testing.T) (s *engine.Store, first time.Time, now *atomic.Pointer[time.Time]) {
	t.Helper()
	first, now = time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC), new(atomic.Pointer[time.Time])
	now.Store(&first)
	c := eventstoretest.Config(eventstoretest.Server(t, t.TempDir()))
	c.Shards, c.Now = 2, func() time.Time { return *now.Load() }
	s = eventstoretest.OpenOn(t, c)
	checkpoints(t, s, often)
	return s, first, now
}

// TestOrderedNear: a reader of a window gets all its events, and few others, whatever the number of
// events before and behind it.
func TestOrderedNear(t *testing.T) {
	t.Parallel()
	s, first, now := clocked(t)
	const hours = 20
	for n := range uint64(hours) {
		now.Store(new(first.Add(time.Duration(n) * time.Hour)))
		appendTo(t, s)
		appendTo(t, s)
		awaitSize(t, s, 2*n+2)
	}
	l := ordered.New(s)
	all := collect(t, l, 0)
	for _, w := range []eventstore.Window{
		{}, {From: first.Add(17 * time.Hour)}, {To: first.Add(2 * time.Hour)}, {From: first.Add(5 * time.Hour), To: first.Add(6 * time.Hour)},
		{From: first.Add(-time.Hour), To: first}, {From: first.Add(hours * time.Hour)}, {To: first.Add(-time.Hour)}, {From: first.Add(90 * time.Minute), To: first.Add(100 * time.Minute)},
	} {
		for _, after := range []uint64{0, 1, 11, 2 * hours} {
			want, got, read := "", "", 0
			for _, e := range all[after:] {
				if w.Holds(e.Time) {
					want += fmt.Sprintln(e.Position, e.Time)
				}
			}
			through, err := l.ReadNear(t.Context(), w, after, func(e ordered.Event) error {
				if read++; w.Holds(e.Time) {
					got += fmt.Sprintln(e.Position, e.Time)
				}
				return nil
			})
			if err != nil || got != want || through != 2*hours || read > strings.Count(want, "\n")+4 {
				t.Errorf("%v after %d: %d events are read, of them\n%swant\n%s through %d, %v", w, after, read, got, want, through, err)
			}
		}
	}
	if _, err := l.ReadNear(t.Context(), eventstore.Window{From: first}, 2*hours+1, nil); !errors.Is(err, ordered.ErrBeyond) {
		t.Errorf("an unknown position: %v", err)
	}
}

// near returns the number of the events of a window that ReadNear reads.
func near(t *testing.T, l *ordered.Log, w eventstore.Window) (n int) {
	t.Helper()
	_, err := l.ReadNear(t.Context(), w, 0, func(e ordered.Event) error {
		if w.Holds(e.Time) {
			n++
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return n
}

// TestOrderedNearAWrongClock: a while in which a clock was hours or days off hides no event of a
// window: neither the right events beside it, nor those with wrong times.
func TestOrderedNearAWrongClock(t *testing.T) {
	t.Parallel()
	for _, wrong := range []time.Duration{-24 * time.Hour, -5 * time.Hour, 5 * time.Hour, 24 * time.Hour} {
		t.Run(wrong.String(), func(t *testing.T) {
			t.Parallel()
			s, first, now := clocked(t)
			const hours = 20
			for n := range uint64(hours) {
				at := first.Add(time.Duration(n) * time.Hour)
				if n >= 8 && n < 11 {
					at = at.Add(wrong)
				}
				now.Store(&at)
				appendTo(t, s)
				awaitSize(t, s, n+1)
			}
			l := ordered.New(s)
			all := collect(t, l, 0)
			for from := -25; from < 45; from++ {
				for _, long := range []int{0, 1, 2, 5, 12, 20, 70} {
					w := eventstore.Window{From: first.Add(time.Duration(from) * time.Hour), To: first.Add(time.Duration(from+long) * time.Hour)}
					want := 0
					for _, e := range all {
						if w.Holds(e.Time) {
							want++
						}
					}
					if got := near(t, l, w); got != want {
						t.Errorf("hours %d to %d: %d events, want %d", from, from+long, got, want)
					}
				}
			}
		})
	}
}

// TestOrderedNearAgain: a window that was read while a clock was ahead of its end has the events
// that come after the clock is right again.
func TestOrderedNearAgain(t *testing.T) {
	t.Parallel()
	s, first, now := clocked(t)
	l := ordered.New(s)
	for n, hour := range []time.Duration{0, 24, 1, 30, 2, 3} {
		now.Store(new(first.Add(hour * time.Hour)))
		appendTo(t, s)
		awaitSize(t, s, uint64(n)+1)
		if got, want := near(t, l, eventstore.Window{To: first.Add(2 * time.Hour)}), []int{1, 1, 2, 2, 3, 3}[n]; got != want {
			t.Errorf("after the event of hour %d: %d events, want %d", hour, got, want)
		}
	}
}

// TestOrderedFollow checks that a follower receives every event once, also the events of later
// checkpoints, and that a blocked follower delays no other.
func TestOrderedFollow(t *testing.T) {
	t.Parallel()
	s := open(t, 2)
	checkpoints(t, s, often)
	l := ordered.New(s)
	ctx, cancel := context.WithCancel(t.Context())
	slow := make(chan error, 1)
	go func() {
		slow <- l.Follow(ctx, 0, func(ordered.Event) error { <-ctx.Done(); return ctx.Err() })
	}()
	got, ended := make(chan uint64), make(chan error, 1)
	go func() {
		ended <- l.Follow(ctx, 0, func(e ordered.Event) error {
			select {
			case got <- e.Position:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	next := uint64(1)
	for range 5 {
		appendTo(t, s)
		appendTo(t, s)
		for range 2 {
			select {
			case position := <-got:
				if position != next {
					t.Fatalf("position %d after %d", position, next-1)
				}
				next++
			case err := <-ended:
				t.Fatal(err)
			}
		}
	}
	cancel()
	for _, end := range []chan error{ended, slow} {
		if err := <-end; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	broken := errors.New("broken")
	if _, err := l.Read(t.Context(), 3, func(ordered.Event) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("the error of handle: %v", err)
	}
}
