package position

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
)

var errBroken = errors.New("broken")

// stream has the records of one position.
type stream struct {
	mu      sync.Mutex
	records []deliverylog.Record
	before  func() // called before each Put
	fails   error  // of Put
}

func (s *stream) Put(_ context.Context, name string, expected uint64, body []byte, open bool) (uint64, error) {
	if before := s.before; before != nil {
		s.before = nil
		before()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.fails != nil:
		return 0, s.fails
	case !open:
		return 0, errors.New("the record is not open: it can be dropped")
	case expected != uint64(len(s.records)):
		return 0, eventstore.ErrConflict
	}
	s.records = append(s.records, deliverylog.Record{Name: name, Seq: expected + 1, Body: body})
	return expected + 1, nil
}

func (s *stream) Last(_ context.Context, name string) (deliverylog.Record, error) {
	return s.Known(name)
}

func (s *stream) Known(string) (deliverylog.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.records) == 0 {
		return deliverylog.Record{}, eventstore.ErrNotFound
	}
	return s.records[len(s.records)-1], nil
}

func (s *stream) writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.records)
}

func open(t *testing.T, s *stream, shards int) *Position {
	t.Helper()
	p, err := Open(t.Context(), s, "reader", shards)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *Position) to(shard int, seqs ...uint64) {
	for _, seq := range seqs {
		p.Advance([]*eventstore.Recorded{{Shard: shard, Seq: seq}})
	}
}

// saved saves a position, and checks the stored one.
func (p *Position) saved(t *testing.T, want ...uint64) {
	t.Helper()
	if got, err := p.Save(t.Context()); err != nil || !slices.Equal(got, want) {
		t.Errorf("saved %d %v, want %d", got, err, want)
	}
}

// TestOneNode checks that a record has the addresses of one node, and that a position never moves
// back: a node that is ahead in one shard and behind in another writes nothing until it has caught
// up, also if another node writes at the same moment. A node that has nothing new to say writes
// nothing.
func TestOneNode(t *testing.T) {
	t.Parallel()
	s := &stream{}
	a, b := open(t, s, 3), open(t, s, 3)
	a.to(0, 5)
	b.to(1, 7)
	s.before = func() { b.saved(t, 0, 7, 0) } // b is faster by a moment
	a.saved(t, 0, 7, 0)
	a.to(1, 6)
	a.saved(t, 0, 7, 0)
	a.to(1, 7)
	a.saved(t, 5, 7, 0)
	b.to(0, 4)
	b.saved(t, 5, 7, 0)
	b.to(0, 5)
	b.saved(t, 5, 7, 0)
	if n := s.writes(); n != 2 {
		t.Errorf("%d records, want 2", n)
	}
	if c := open(t, s, 3); !slices.Equal(c.At(), []uint64{5, 7, 0}) {
		t.Errorf("a start begins at %d", c.At())
	}
}

// TestNoSpin checks that a save ends although every one of its records comes too late, and that a
// failed one is made up for.
func TestNoSpin(t *testing.T) {
	t.Parallel()
	s := &stream{}
	a, b := open(t, s, 2), open(t, s, 2)
	tried := uint64(0)
	var faster func()
	faster = func() {
		tried++
		b.to(1, tried)
		b.saved(t, 0, tried)
		s.before = faster
	}
	a.to(0, 1)
	a.to(1, 100)
	s.before = faster
	got, err := a.Save(t.Context())
	if err != nil || tried != tries || got[0] != 0 {
		t.Errorf("saved %d %v after %d tries", got, err, tried)
	}
	s.before, s.fails = nil, errBroken
	if got, err := a.Save(t.Context()); !errors.Is(err, errBroken) || !slices.Equal(got, []uint64{0, tried}) {
		t.Errorf("saved %d %v", got, err)
	}
	s.fails = nil
	a.saved(t, 1, 100)
}

// TestWrongRecord checks that a record of a newer build, of another log, or a damaged one is
// neither read nor replaced.
func TestWrongRecord(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"newer": "\x82\xa6schema\x02\xa3log\x92\x01\x02", "of one shard": "\x82\xa6schema\x01\xa3log\x91\x01", "damaged": "\x82\xa6sch",
	} {
		s := &stream{}
		p := open(t, s, 2)
		s.records = []deliverylog.Record{{Seq: 1, Body: []byte(body)}}
		if _, err := Open(t.Context(), s, "reader", 2); err == nil {
			t.Errorf("%s: it is read", name)
		}
		p.to(0, 3)
		if got, err := p.Save(t.Context()); err == nil || s.writes() != 1 || slices.Max(got) > 0 {
			t.Errorf("%s: %d %v, %d records", name, got, err, s.writes())
		}
	}
}

// run runs positions until the end of the bubble.
func run(t *testing.T, all ...*Position) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, p := range all {
		running.Go(func() {
			p.Run(ctx, func(err error) {
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
	return func() { cancel(); running.Wait() }
}

// TestRunRecords checks how many records are written: one a minute while a few events flow, one for
// each 1,024 events while many do, one after the last event, and none while nothing changes. A
// cluster writes as many as one node.
func TestRunRecords(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			s := &stream{}
			var all []*Position
			for range nodes {
				all = append(all, open(t, s, 1))
			}
			stop := run(t, all...)
			defer stop()
			seq, before := uint64(0), 0
			flow := func(n int, every time.Duration) {
				for range n {
					seq++
					for _, p := range all {
						p.to(0, seq)
					}
					<-time.After(every)
				}
			}
			since := func(what string, least, most int) {
				t.Helper()
				synctest.Wait()
				if n := s.writes() - before; n < least || n > most {
					t.Errorf("%d nodes, %s: %d records, want %d to %d", nodes, what, n, least, most)
				}
				before = s.writes()
			}
			flow(600, time.Second)
			since("ten minutes with an event a second", 9, 10)
			flow(6*1024, time.Millisecond)
			since("6 s with a thousand events a second", 3, 6)
			<-time.After(3 * time.Minute)
			since("after the last event", 0, 1)
			if at := open(t, s, 1).At(); at[0] != seq {
				t.Errorf("stored %d of %d", at[0], seq)
			}
			<-time.After(24 * time.Hour)
			since("a day without events", 0, 0)
		})
	}
}

// TestWriterGone checks that another node saves the position when the node that wrote the newest
// record is gone.
func TestWriterGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stream{}
		a, b := open(t, s, 1), open(t, s, 1)
		a.to(0, 1)
		a.saved(t, 1)
		b.to(0, 1, 2)
		defer run(t, b)()
		<-time.After(2*defaultAfter - time.Second)
		if n := s.writes(); n != 1 {
			t.Errorf("%d records before the other node's time is over", n)
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if at := open(t, s, 1).At(); at[0] != 2 {
			t.Errorf("stored %d", at)
		}
	})
}
