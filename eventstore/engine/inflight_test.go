package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/format"
)

// TestTwoGroupsInFlight checks two groups in flight: the first is lost, refused or given up after
// the second was sent. A stored group is acknowledged once, the other is not in the log, and the
// shard continues.
func TestTwoGroupsInFlight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		first func(context.Context, *testing.T, *engine.Flight) error // ends the first group
		want  error                                                   // of the first append
		there int                                                     // the number of times that the first event is in the log
	}{
		{"the answer to the first is lost", func(ctx context.Context, t *testing.T, f *engine.Flight) error {
			publish(t, f, 0)
			return f.Lose(ctx)
		}, nil, 1},
		{"the first is lost on the way", func(ctx context.Context, _ *testing.T, f *engine.Flight) error { return f.Lose(ctx) }, nil, 1},
		{"the first is refused", func(ctx context.Context, _ *testing.T, f *engine.Flight) error { return f.Refuse(ctx) }, eventstore.ErrRefused, 0},
		{"the first is given up and never comes", func(ctx context.Context, _ *testing.T, f *engine.Flight) error { return f.GiveUp(ctx) }, eventstore.ErrUnknown, 0},
		{"the first is given up and was stored", func(ctx context.Context, t *testing.T, f *engine.Flight) error {
			publish(t, f, 0)
			return f.GiveUp(ctx)
		}, eventstore.ErrUnknown, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			s := sole(t, 1).store()
			s.PipelineFrom(1)
			key := newKey()
			before := mustAdd(t, s, key, added{Who: "before"})
			flight, err := s.Depart(ctx, draft(t, s, key, before.Recorded, added{Who: "first"}))
			if err != nil {
				t.Fatal(err)
			}
			other := newKey()
			second := make(chan error, 1)
			go func() { second <- s.Append(ctx, draft(t, s, other, nil, added{Who: "second"})) }()
			waitFlights(t, s, 2)
			if err := c.first(ctx, t, flight); !errors.Is(err, c.want) {
				t.Errorf("the first: %v, want %v", err, c.want)
			}
			if err := <-second; err != nil {
				t.Errorf("the second: %v", err)
			}
			mustAdd(t, s, key, added{Who: "after"})
			checkOnce(t, s, other, "second")
			events, err := s.History(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			checkChain(t, events)
			if n := countOf(t, events, "first"); n != c.there || len(events) != 2+c.there {
				t.Errorf("the first stands there %d times among %d, want %d", n, len(events), c.there)
			}
			if err := s.Healthy(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestGroupMadeBehindALostOne checks a group that is made, and not sent yet, when the group before
// it is refused or given up: it could never be stored at its place. It is not sent there, and its
// events are stored at once.
func TestGroupMadeBehindALostOne(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(context.Context, *engine.Flight) error{
		"refused":  func(ctx context.Context, f *engine.Flight) error { return f.Refuse(ctx) },
		"given up": func(ctx context.Context, f *engine.Flight) error { return f.GiveUp(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			s := sole(t, 1).store()
			s.PipelineFrom(1)
			key := newKey()
			before := mustAdd(t, s, key, added{Who: "before"})
			first, err := s.Depart(ctx, draft(t, s, key, before.Recorded, added{Who: "first"}))
			if err != nil {
				t.Fatal(err)
			}
			other := newKey()
			drive, err := s.Make(draft(t, s, other, nil, added{Who: "second"}))
			if err != nil {
				t.Fatal(err)
			}
			if err := end(ctx, first); err == nil {
				t.Error("the first was stored")
			}
			if err := drive(ctx); err != nil { // it was unknown, after 15 seconds
				t.Errorf("the second: %v", err)
			}
			checkOnce(t, s, other, "second")
			mustAdd(t, s, key, added{Who: "after"})
			if err := s.Healthy(); err != nil {
				t.Error(err)
			}
		})
	}
}

// waitFlights waits until so many groups are under way.
func waitFlights(t testing.TB, s *engine.Store, n int) {
	t.Helper()
	if err := s.WaitFlights(testContext(t), 0, n); err != nil {
		t.Fatal(err)
	}
}

// TestClaimsInFlight: two drafts of one aggregate are never in one group, and the second is not
// sent before the first is acknowledged: the second claim is a conflict, whatever the outcome of
// the first.
func TestClaimsInFlight(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := sole(t, 1).store()
	key := newKey()
	flight, err := s.Depart(ctx, draft(t, s, key, nil, added{Who: "first"}))
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	go func() { second <- s.Append(ctx, draft(t, s, key, nil, added{Who: "second"})) }()
	if err := s.WaitWaiting(ctx, 0, 1); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Load(ctx, key, eventstore.Applied); !errors.Is(err, eventstore.ErrNotFound) {
		t.Errorf("a claim that is not acknowledged is shown: %+v, %v", r, err)
	}
	publish(t, flight, 0)
	if err := flight.Lose(ctx); err != nil {
		t.Error(err)
	}
	if err := <-second; !errors.Is(err, eventstore.ErrConflict) {
		t.Errorf("the second claim: %v", err)
	}
	checkOnce(t, s, key, "first")
}

// TestWithdrawnDraft: a draft whose caller has left before the group is sent is not sent.
func TestWithdrawnDraft(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := sole(t, 1).store()
	key := newKey()
	flight, err := s.Depart(ctx, draft(t, s, key, nil, added{Who: "first"}))
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithCancel(ctx)
	second := make(chan error, 1)
	go func() { second <- s.Append(short, draft(t, s, key, nil, added{Who: "second"})) }()
	if err := s.WaitWaiting(ctx, 0, 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-second; !errors.Is(err, eventstore.ErrRefused) || errors.Is(err, eventstore.ErrUnknown) {
		t.Errorf("withdrawn: %v", err)
	}
	publish(t, flight, 0)
	if err := flight.Lose(ctx); err != nil {
		t.Error(err)
	}
	checkOnce(t, s, key, "first")
}

// TestSecondWriterIsFound: another process writes between the groups of a sole writer: at the place
// of its next group, or below a group that was sent by its number alone. The hash shows both, and
// the shard accepts nothing more.
func TestSecondWriterIsFound(t *testing.T) {
	t.Parallel()
	t.Run("at the next place", func(t *testing.T) {
		t.Parallel()
		ctx := testContext(t)
		r := sole(t, 2)
		s := r.store()
		mustAdd(t, s, keyIn(s, 0), added{})
		slipIn(t, r, 0)
		if err := second(add(t, s, keyIn(s, 0), added{})); !errors.Is(err, eventstore.ErrRefused) && !errors.Is(err, eventstore.ErrUnknown) {
			t.Errorf("an append behind it: %v", err)
		}
		if err := s.Healthy(); !errors.Is(err, eventstore.ErrUnhealthy) {
			t.Error(err)
		}
		if err := second(add(t, s, keyIn(s, 0), added{})); !errors.Is(err, eventstore.ErrUnhealthy) {
			t.Errorf("a further append: %v", err)
		}
		if _, err := s.Load(ctx, keyIn(s, 0), eventstore.Applied); !errors.Is(err, eventstore.ErrUnhealthy) {
			t.Errorf("what is not known here may stand there: %v", err)
		}
	})
	t.Run("under a group that was predicted", func(t *testing.T) {
		t.Parallel()
		ctx := testContext(t)
		r := sole(t, 1)
		s := r.store()
		mustAdd(t, s, newKey(), added{})
		flight, err := s.Depart(ctx, draft(t, s, newKey(), nil, added{Who: "first"}))
		if err != nil {
			t.Fatal(err)
		}
		behind, err := s.DepartBehind(ctx, draft(t, s, newKey(), nil, added{Who: "second"}))
		if err != nil {
			t.Fatal(err)
		}
		slipIn(t, r, 0)
		publish(t, behind, 0) // the server compares numbers only
		behind.Stored()
		if err := flight.Lose(ctx); err == nil {
			t.Error("a group whose place another has is a success")
		}
		if err := behind.Wait(ctx); err == nil {
			t.Error("a group on top of another's is a success")
		}
		if err := s.Healthy(); !errors.Is(err, eventstore.ErrUnhealthy) {
			t.Error(err)
		}
	})
}

// slipIn appends a group to a shard as another writer would that knows the log.
func slipIn(t *testing.T, r *rig, shard int) {
	t.Helper()
	s := r.store()
	nc := r.connect(t, 0)
	seq, hash, events, aggregates := s.End(shard)
	g := engine.Group{
		Kind: engine.KindEmpty, Shard: shard, Log: s.ID(), Seq: seq + 1, Before: hash, Events: events, Aggregates: aggregates,
		WitnessShard: engine.NoShard,
	}
	if code, err := engine.PublishGroup(testContext(t), nc, shard, 1, g.Seq, g.Encode()); err != nil || code != 0 {
		t.Fatal(code, err)
	}
}

// TestPredictedOnAnothersGroup: a start finds a group that was predicted on top of another writer's
// group.
func TestPredictedOnAnothersGroup(t *testing.T) {
	t.Parallel()
	l := newRawLog(t, 1)
	h := l.shards[0]
	l.put(t, h, l.keys(0, 1)...)
	g := h.end
	g.Frames = l.frames(t, h, l.keys(0, 1)...)
	g.Before[0] ^= 1
	l.publish(t, h, &g)
	l.refuses(t)
}

// TestGroupsThatDoNotFollow: a store that opens the log finds any group that does not continue the
// log, although each group is well formed and has the right hash.
func TestGroupsThatDoNotFollow(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*engine.Group){
		"of another log":                 func(g *engine.Group) { g.Log[0] ^= 1 },
		"of another shard":               func(g *engine.Group) { g.Shard = 1 },
		"with another sequence":          func(g *engine.Group) { g.Seq++ },
		"after another group":            func(g *engine.Group) { g.Before[31] ^= 1 },
		"with fewer events before it":    func(g *engine.Group) { g.Events-- },
		"with more aggregates before it": func(g *engine.Group) { g.Aggregates++ },
		"with a revision twice": func(g *engine.Group) {
			relink(g.Frames[0], func(r *eventstore.Recorded) { r.Revision = 1; r.PrevSeq = 0 })
		},
		"with a gap in the revisions":    func(g *engine.Group) { relink(g.Frames[0], func(r *eventstore.Recorded) { r.Revision = 3 }) },
		"with a wrong place before it":   func(g *engine.Group) { g.Frames[0].PrevSeq++ },
		"with a wrong hash of an event":  func(g *engine.Group) { g.Frames[0].Hash[0] ^= 1 },
		"with another body under a hash": func(g *engine.Group) { g.Frames[1].Body = append([]byte{}, g.Frames[0].Body...) },
		"with a second event on the tip": func(g *engine.Group) { c := *g.Frames[0]; g.Frames = append(g.Frames, &c) },
		"with an aggregate's second only": func(g *engine.Group) {
			relink(g.Frames[1], func(r *eventstore.Recorded) { r.Revision, r.PrevSeq = 2, format.At(1, 0) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newRawLog(t, 1)
			h := l.shards[0]
			keys := l.keys(0, 2)
			l.put(t, h, keys[0])
			g := h.end
			g.Frames = l.frames(t, h, keys...)
			seq := g.Seq
			change(&g)
			if code, err := engine.PublishGroup(testContext(t), l.nc, 0, 1, seq, g.Encode()); err != nil || code != 0 {
				t.Fatal(code, err)
			}
			l.refuses(t)
		})
	}
}

// relink changes an event and gives it a hash that fits its bytes, but continues no event before
// it.
func relink(r *eventstore.Recorded, change func(*eventstore.Recorded)) {
	change(r)
	r.Hash = r.Link(eventstore.Hash{})
}

// TestWhatWaitsGoesTogether: 32 appends wait while a group is under way, and the next group has all
// of them, in the order of their arrival.
func TestWhatWaitsGoesTogether(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := sole(t, 1).store()
	flight, err := s.Depart(ctx, draft(t, s, newKey(), nil, added{Who: "first"}))
	if err != nil {
		t.Fatal(err)
	}
	behind, err := s.DepartBehind(ctx, draft(t, s, newKey(), nil, added{Who: "second"})) // as many as may be under way
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	var drafts []*eventstore.Recorded
	for i := range 32 {
		r := draft(t, s, newKey(), nil, added{N: int64(i)})
		drafts = append(drafts, r)
		group.Go(func() {
			if err := s.Append(ctx, r); err != nil {
				t.Error(err)
			}
		})
		if err := s.WaitWaiting(ctx, 0, i+1); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, flight, 0)
	publish(t, behind, 0)
	behind.Stored()
	if err := errors.Join(flight.Lose(ctx), behind.Wait(ctx)); err != nil {
		t.Error(err)
	}
	group.Wait()
	for i, r := range drafts {
		if r.Seq != format.At(behind.Seq()+1, i) || r.Number != uint64(3+i) || r.EndsGroup() != (i == 31) {
			t.Errorf("draft %d is event %d at %d.%d", i, r.Number, format.GroupOf(r.Seq), format.FrameOf(r.Seq))
		}
	}
}

// TestEmptyGroupsRace: two nodes make sure of each other's events at the same moment, by groups: of
// two empty groups for one place only one is stored, and the other node tries again behind it
// instead of waiting for ever.
func TestEmptyGroupsRace(t *testing.T) {
	t.Parallel()
	r := cluster(t, 1)
	for range scale(20, 60) {
		var group sync.WaitGroup
		for i, s := range []*engine.Store{r.store(), r.other()} {
			group.Go(func() {
				key := mustAdd(t, s, newKey(), added{}).Recorded.Key
				theirs := []*engine.Store{r.other(), r.store()}[i]
				for _, least := range []eventstore.Consistency{eventstore.Latest, eventstore.Majority} {
					for _, of := range []*engine.Store{theirs, s} {
						if _, err := of.Load(testContext(t), key, least); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		group.Wait()
	}
}
