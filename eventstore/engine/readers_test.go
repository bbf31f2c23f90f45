package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/format"
)

// TestReadersOfGroups checks that readers read groups of any size, and return their events one by
// one: a log with groups of 1 event, of 2 of the same aggregate, of 64 and 256, and of none, by
// every kind of read, from memory and from the stream.
func TestReadersOfGroups(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		cluster bool
		change  func(*engine.Config)
	}{
		{"sole writer", false, func(*engine.Config) {}},
		{"node of a cluster", true, func(*engine.Config) {}},
		{"for reading", false, func(c *engine.Config) { c.ReadOnly = true }},
		{"for reading in a cluster", true, func(c *engine.Config) { c.ReadOnly = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newRawLogFor(t, c.cluster, 2)
			l.mixed(t)
			s := l.open(t, c.change)
			for _, from := range []struct {
				name string
				do   func()
			}{{"memory", func() {}}, {"the stream", s.ForgetGroups}} {
				readSubscribe(t, l, s, from.name, from.do)
				from.do()
				readHistory(t, l, s)
				from.do()
				readFanout(t, l, s)
				from.do()
				readNear(t, l, s)
				readNewest(t, l, s)
			}
			readChecks(t, l, s)
		})
	}
}

// TestSlowSubscriber: a subscriber that has a batch of groups gets all of them, although they leave
// the memory of the shard meanwhile.
func TestSlowSubscriber(t *testing.T) {
	t.Parallel()
	s := sole(t, 1).store()
	large := strings.Repeat("x", 3<<20) // two of them are more than the memory of a shard
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	mustAdd(t, s, keyIn(s, 0), added{Who: "first"})
	received := 0
	err := s.Subscribe(ctx, 0, 0, func(*eventstore.Recorded) error {
		switch received++; received {
		case 1: // the next batch has several groups
			for range 4 {
				mustAdd(t, s, keyIn(s, 0), added{Who: "of one batch"})
			}
		case 2:
			for range 2 {
				mustAdd(t, s, keyIn(s, 0), added{Who: large})
			}
		case 1 + 4 + 2:
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || received != 1+4+2 {
		t.Errorf("%d events, %v", received, err)
	}
}

// readSubscribe subscribes from every address there is, and from some that no event has.
func readSubscribe(t *testing.T, l *rawLog, s *engine.Store, from string, forget func()) {
	errEnd := errors.New("the end")
	for shard, h := range l.shards {
		last := h.all[len(h.all)-1]
		afters := []uint64{0, format.At(3, 0), format.At(3, 200), format.At(4, 100), format.At(6, 255), last.Seq - 1}
		for i := 0; i < len(h.all)-1; i += scale(17, 1) {
			afters = append(afters, h.all[i].Seq)
		}
		for _, after := range afters {
			next := 0
			for h.all[next].Seq <= after {
				next++
			}
			forget()
			err := s.Subscribe(testContext(t), shard, after, func(r *eventstore.Recorded) error {
				want := h.all[next]
				if r.Seq != want.Seq || r.Hash != want.Hash || r.Number != uint64(next+1) || r.Shard != shard {
					return fmt.Errorf("event %d at %d instead of %d at %d", r.Number, r.Seq, next+1, want.Seq)
				}
				if next++; next == len(h.all) {
					return errEnd
				}
				return nil
			})
			if !errors.Is(err, errEnd) {
				t.Fatalf("from %s after %d.%d: %v", from, format.GroupOf(after), format.FrameOf(after), err)
			}
		}
	}
}

// readHistory reads every event by its address, and every aggregate as a whole and from each
// revision on.
func readHistory(t *testing.T, l *rawLog, s *engine.Store) {
	ctx := testContext(t)
	for shard, h := range l.shards {
		for i, want := range h.all {
			got, err := s.Read(ctx, shard, want.Seq)
			if err != nil || got.Hash != want.Hash || got.Number != uint64(i+1) {
				t.Fatalf("event %d: %+v, %v", i+1, got, err)
			}
		}
		for group := uint64(1); group < h.end.Seq; group++ { // past the last of each group, and in empty ones
			n := len(eventsOf(t, s, shard, group))
			if n == engine.MaxFrames {
				continue
			}
			if _, err := s.Read(ctx, shard, format.At(group, n)); !errors.Is(err, eventstore.ErrNotFound) {
				t.Errorf("group %d event %d: %v", group, n, err)
			}
		}
		for key, tip := range h.tips {
			events, err := s.History(ctx, key)
			if err != nil || len(events) != int(tip.Revision) {
				t.Fatal(err, len(events))
			}
			checkChain(t, events)
			loaded, err := eventstore.Load(ctx, s, tallies, key, eventstore.Applied)
			if err != nil || loaded.Recorded.Hash != tip.Hash || loaded.State.Count != int64(tip.Revision) {
				t.Errorf("%+v, %v", loaded, err)
			}
			for revision := range tip.Revision {
				since, err := s.Since(ctx, events[len(events)-1], revision+1)
				if err != nil || len(since) != int(tip.Revision-revision) || since[0].Revision != revision+1 {
					t.Errorf("since %d: %d events, %v", revision+1, len(since), err)
				}
			}
		}
	}
}

// readFanout has readers start at the beginning, and in the middle of groups.
func readFanout(t *testing.T, l *rawLog, s *engine.Store) {
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	fanout := eventstore.NewFanout(s)
	total := 0
	readers := map[*eventstore.Reader][]int{fanout.Reader("all", nil): {0, 0}}
	for _, skip := range [][]int{{1, 2}, {2, 3}, {30, 66}, {100, 300}} {
		after := []uint64{l.shards[0].all[skip[0]-1].Seq, l.shards[1].all[skip[1]-1].Seq}
		readers[fanout.Reader(fmt.Sprint(skip), after)] = skip
	}
	for _, h := range l.shards {
		total += len(h.all)
	}
	ended := make(chan error, 1)
	go func() { ended <- fanout.Run(ctx) }()
	for reader, next := range readers {
		for next[0]+next[1] < total {
			events, err := reader.Next(ctx, 7)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if want := l.shards[e.Shard].all[next[e.Shard]]; e.Hash != want.Hash {
					t.Fatalf("%s: event %d instead of %d", reader.Name, e.Number, next[e.Shard]+1)
				}
				next[e.Shard]++
			}
		}
		reader.Stop()
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestReaderThatStandsStill checks that a blocked reader (views, notifier, checkpoints or workflows
// with a fault) delays no other reader and no append, and that the fan-out still ends.
func TestReaderThatStandsStill(t *testing.T) {
	t.Parallel()
	l := newRawLog(t, 2)
	l.mixed(t)
	l.mixed(t)
	s := l.open(t, func(*engine.Config) {})
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	fanout := eventstore.NewFanout(s)
	still, moving := fanout.Reader("still", nil), fanout.Reader("moving", nil)
	ended := make(chan error, 1)
	go func() { ended <- fanout.Run(ctx) }()
	total := len(l.shards[0].all) + len(l.shards[1].all)
	read := func(until int) {
		t.Helper()
		for seen := 0; seen < until; {
			events, err := moving.Next(ctx, 100)
			if err != nil {
				t.Fatalf("%d of %d events: %v", seen, until, err)
			}
			seen += len(events)
		}
	}
	read(total)
	for shard := range l.shards {
		mustAdd(t, s, keyIn(s, shard), added{})
	}
	read(len(l.shards))
	if waiting := len(still.Events()); waiting == 0 || waiting >= total {
		t.Errorf("%d of %d events wait for a reader that stands still", waiting, total)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// readNear reads the stretches near each event's time up to its group: the group is in them. There
// are none near a time after all events.
func readNear(t *testing.T, l *rawLog, s *engine.Store) {
	for shard, h := range l.shards {
		for _, r := range h.all {
			nearIts(t, s, r)
		}
		end := h.all[len(h.all)-1]
		late := eventstore.Window{From: end.Time.Add(time.Hour)}
		if near, err := s.Near(testContext(t), shard, format.GroupOf(end.Seq), late); err != nil || len(near) > 0 {
			t.Errorf("past the end: %v, %v", near, err)
		}
	}
}

// nearIts checks that an event's group is the last one of those near the event's time, up to the
// group.
func nearIts(t *testing.T, s *engine.Store, r *eventstore.Recorded) {
	t.Helper()
	group := format.GroupOf(r.Seq)
	near, err := s.Near(testContext(t), r.Shard, group, eventstore.Window{From: r.Time, To: r.Time})
	if n := len(near); err != nil || n == 0 || near[n-1].Last != group {
		t.Errorf("near the event in group %d of shard %d: %v, %v", group, r.Shard, near, err)
	}
}

// readNewest reads the newest event of every aggregate once.
func readNewest(t *testing.T, l *rawLog, s *engine.Store) {
	for _, account := range []string{"acct", "*", "acct2"} {
		want := map[eventstore.Key]eventstore.Hash{}
		for _, h := range l.shards {
			for key, tip := range h.tips {
				if account != "acct2" {
					want[key] = tip.Hash
				}
			}
		}
		total := uint64(0)
		begin := func(n uint64) { total = n }
		n := len(want)
		err := s.Newest(testContext(t), domain.AccountID(account), "tally", begin, func(r *eventstore.Recorded) error {
			if hash, there := want[r.Key]; !there || hash != r.Hash {
				return fmt.Errorf("%s revision %d", r.Key, r.Revision)
			}
			delete(want, r.Key)
			return nil
		})
		if err != nil || len(want) != 0 || total != uint64(n) {
			t.Errorf("%s: %d of %d missing, total %d, %v", account, len(want), n, total, err)
		}
	}
}

// readChecks compares positions of readers with the log: inside a group as well as at its end.
func readChecks(t *testing.T, l *rawLog, s *engine.Store) {
	ctx := testContext(t)
	ends := make([]uint64, len(l.shards))
	for shard, h := range l.shards {
		for _, r := range h.all {
			at := make([]uint64, len(l.shards))
			at[shard] = r.Seq
			if err := s.CheckReader(ctx, "reader", at); err != nil {
				t.Fatal(err)
			}
		}
		last, err := s.LastSeq(ctx, shard)
		if err != nil {
			t.Fatal(err)
		}
		if end := h.all[len(h.all)-1].Seq; last != end || s.Appended()[shard] != end {
			t.Errorf("the newest event is at %d and %d, not %d", last, s.Appended()[shard], end)
		}
		ends[shard] = last
	}
	if n := len(l.shards[0].all) + len(l.shards[1].all); s.Events() != uint64(n) {
		t.Errorf("%d events of %d", s.Events(), n)
	}
	if !s.Sole() { // a node waits until the leader cannot be an old one: TestLogShorterThanReader
		return
	}
	ends[1]++
	if err := s.CheckReader(ctx, "reader", ends); !errors.Is(err, eventstore.ErrUnhealthy) {
		t.Errorf("a reader that is further than the log: %v", err)
	}
}

// TestCheckpointsOfGroups: positions do not depend on the groups: checkpoints end with groups,
// empty groups are no leaves, and two checkpointers that race, or start again, make one order.
func TestCheckpointsOfGroups(t *testing.T) {
	t.Parallel()
	l := newRawLogFor(t, true, 2)
	l.mixed(t)
	s := l.open(t, func(*engine.Config) {})
	first, second := startCheckpointer(t, s), startCheckpointer(t, s)
	first.coversNow(t, s)
	first.stop(t)
	for range 5 {
		mustAdd(t, s, keyIn(s, 0), added{})
		mustAdd(t, s, keyIn(s, 1), added{})
	}
	last := second.coversNow(t, s)
	second.stop(t)
	order := audit(t, s, last.Number, second.verifier)
	if n := len(l.shards[0].all) + len(l.shards[1].all) + 10; last.Size != uint64(n) || len(order) != n {
		t.Errorf("%d events are covered, %d audited, of %d", last.Size, len(order), n)
	}
	for shard, h := range l.shards {
		for _, r := range h.all {
			position, covered := positionOf(t, s, shard, r.Seq)
			if !covered || position != order[[2]uint64{uint64(shard), r.Seq}] {
				t.Fatalf("%d.%d: position %d, the auditor's %d", format.GroupOf(r.Seq), format.FrameOf(r.Seq), position,
					order[[2]uint64{uint64(shard), r.Seq}])
			}
		}
	}
	for _, at := range []uint64{format.At(3, 0), format.At(1, 1), format.At(1<<40, 0), 0} {
		if r, err := s.Read(testContext(t), 0, at); !errors.Is(err, eventstore.ErrNotFound) {
			t.Errorf("%d.%d: %v, %v", format.GroupOf(at), format.FrameOf(at), r, err)
		}
	}
}
