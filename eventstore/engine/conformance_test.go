package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/format"
)

// conformance has the promises of the event store, alone and on a cluster alike.
var conformance = []promise{
	{"an appended event is read back with its state", testAppendLoad},
	{"what was made is what is read", testMadeIsRead},
	{"the history holds every event and an auditor's hash chain", testHistory},
	{"what does not exist is not found", testNotFound},
	{"nothing to record appends nothing", testNothing},
	{"a conflict is decided again on the new state", testConflict},
	{"64 concurrent writers on one aggregate", testWriters},
	{"a group whose answer was lost is found below the tip", testOwnBelowTip},
	{"of many claims exactly one wins", testClaim},
	{"a refusal stands only on what the leader holds", testRefusal},
	{"an aggregate of a newer schema is not appended to", testNewerSchema},
	{"events of older schemas are upgraded, and their state is folded again", testOlderSchema},
	{"a subscription gives every event once, in order, from any position", testSubscribe},
	{"a fan-out gives each reader its own position", testFanout},
	{"a subscriber's error ends its subscription", testPoison},
	{"a full aggregate takes outcomes and no requests", testTooLarge},
	{"a log is initialized once", testInitialize},
	{"secrets are created once and can be destroyed", testSecrets},
	{"an erased key opens nothing, and the next one seals", testErasedKeys},
	{"several nodes know each other's secrets", testSecretNodes},
	{"a log opened for reading takes no append", testReadOnly},
}

func TestConformanceSoleWriter(t *testing.T) { runPromises(t, sole, conformance) }
func TestConformanceCluster(t *testing.T)    { runPromises(t, cluster, conformance) }

func testAppendLoad(t testing.TB, r *rig) {
	key := newKey()
	meta := newMeta(t, r.store())
	meta.At = meta.At.Add(789 * time.Nanosecond) // finer than the log keeps
	appended, err := eventstore.ExecuteNew(testContext(t), r.store(), tallies, key, meta, func(tally) (added, error) { return added{N: 300}, nil })
	if err != nil || !appended.Appended {
		t.Fatal(err, appended.Appended)
	}
	for _, s := range []*engine.Store{r.store(), r.other()} {
		loaded, err := eventstore.Load(testContext(t), s, tallies, key, eventstore.Latest)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "state", loaded.State, tally{Count: 1, Sum: 300})
		same(t, "event", loaded.Recorded, appended.Recorded)
		event, err := tallies.Event(loaded.Recorded)
		if err != nil || event.N != 300 {
			t.Error(err, event)
		}
	}
	at, err := r.store().Read(testContext(t), appended.Recorded.Shard, appended.Recorded.Seq)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "event by its place", at, appended.Recorded)
}

// testMadeIsRead: an append returns the same state as its stored bytes give, together with the
// parts moved out of the state.
func testMadeIsRead(t testing.TB, r *rig) {
	created, _ := codecs()[0].full("payment.created")
	full := created.(payment.Created)
	full.Account, full.ID = "acct", domain.PaymentID(newKey().ID)
	key := eventstore.Payments.Key(full.Account, string(full.ID))
	tip, err := eventstore.ExecuteNew(testContext(t), r.store(), eventstore.Payments, key, newMeta(t, r.store()),
		func(payment.State) (payment.Event, error) { return full, nil })
	if err != nil {
		t.Fatal(err)
	}
	read, err := r.store().Read(testContext(t), tip.Recorded.Shard, tip.Recorded.Seq)
	if err != nil {
		t.Fatal(err)
	}
	event, eventErr := eventstore.Payments.Event(read)
	decoded, stateErr := eventstore.StateAt(testContext(t), r.store(), eventstore.Payments, read)
	if err := errors.Join(eventErr, stateErr); err != nil {
		t.Fatal(err)
	}
	same(t, "event", event, payment.Event(full))
	same(t, "state", decoded, tip.State)
}

func testHistory(t testing.TB, r *rig) {
	key := newKey()
	for n := range int64(5) {
		mustAdd(t, r.store(), key, added{N: n})
		mustAdd(t, r.other(), newKey(), added{}) // another aggregate in between
	}
	events, err := r.other().History(testContext(t), key)
	if err != nil || len(events) != 5 {
		t.Fatal(err, len(events))
	}
	checkChain(t, events)
	state, err := tallies.Fold(events)
	if err != nil || state.Sum != 10 {
		t.Error(err, state)
	}
}

func testNotFound(t testing.TB, r *rig) {
	ctx := testContext(t)
	_, load := r.store().Load(ctx, newKey(), eventstore.Applied)
	_, leader := r.store().Load(ctx, newKey(), eventstore.Latest)
	_, read := r.store().Read(ctx, 0, format.At(1<<40, 0))
	_, none := r.store().Read(ctx, 0, 0)
	_, shard := r.store().Read(ctx, 99, format.At(1, 0))
	there := mustAdd(t, r.store(), newKey(), added{}).Recorded
	_, frame := r.store().Read(ctx, there.Shard, format.At(format.GroupOf(there.Seq), engine.MaxFrames-1))
	_, wild := r.store().Load(ctx, tallies.Key("acct", ">"), eventstore.Applied)
	_, history := r.store().History(ctx, newKey())
	for i, err := range []error{load, leader, read, none, shard, frame, wild, history} {
		if !errors.Is(err, eventstore.ErrNotFound) {
			t.Errorf("%d: %v", i, err)
		}
	}
	tip, err := eventstore.Load(ctx, r.store(), tallies, newKey(), eventstore.Applied)
	if err != nil || tip.Recorded != nil {
		t.Error(err, tip)
	}
}

func testNothing(t testing.TB, r *rig) {
	key := newKey()
	first := mustAdd(t, r.store(), key, added{N: 1})
	ctx, recorded := eventstore.WithRecorded(testContext(t))
	tip, err := eventstore.Execute(ctx, r.store(), noted, key, newMeta(t, r.store()), func(tally) (domain.Event, error) { return nil, nil })
	if err != nil || tip.Appended || tip.Recorded.Seq != first.Recorded.Seq || recorded() {
		t.Error(err, tip, recorded())
	}
	if _, err := eventstore.Execute(ctx, r.store(), noted, key, newMeta(t, r.store()), func(tally) (domain.Event, error) { return added{N: 1}, nil }); err != nil || !recorded() {
		t.Error(err, recorded())
	}
}

// noted is tallies with an interface for its events, as the real aggregates have.
var noted = format.NewAggregate("tally", 1, []domain.Event{added{}}, func(s tally, e domain.Event) tally { return addUp(s, e.(added)) })

func testConflict(t testing.TB, r *rig) {
	key := newKey()
	mustAdd(t, r.store(), key, added{N: 1})
	var seen []int64
	tip, err := eventstore.Execute(testContext(t), r.store(), tallies, key, newMeta(t, r.store()), func(s tally) (added, error) {
		seen = append(seen, s.Sum)
		if len(seen) == 1 { // another comes between the decision and its append
			mustAdd(t, r.other(), key, added{N: 10})
		}
		return added{N: 100}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) == 2 && seen[0] == 0 && len(r.nodes) > 1 { // the first replica that answered was behind
		seen[0] = 1
	}
	same(t, "states decided on", seen, []int64{1, 11})
	same(t, "state", tip.State, tally{Count: 3, Sum: 111})
}

func testWriters(t testing.TB, r *rig) {
	const writers = 64
	each := scale(1, 3)
	key := newKey()
	var unknown sync.Map
	var group sync.WaitGroup
	for w := range writers {
		s := r.nodes[w%len(r.nodes)].store
		group.Go(func() {
			for n := range each {
				who := fmt.Sprintf("%d-%d", w, n)
				err := r.insist(t, func() error { return second(add(t, s, key, added{N: 1, Who: who})) })
				if r.mayBeUnknown(err) {
					unknown.Store(who, true)
				} else if err != nil {
					t.Errorf("%s: %v", who, err)
				}
			}
		})
	}
	group.Wait()
	events, err := r.store().History(testContext(t), key)
	if err != nil {
		t.Fatal(err)
	}
	checkChain(t, events)
	stored := map[string]int{}
	for _, e := range events {
		event, err := tallies.Event(e)
		if err != nil {
			t.Fatal(err)
		}
		stored[event.Who]++
	}
	for w := range writers {
		for n := range each {
			who := fmt.Sprintf("%d-%d", w, n)
			count := stored[who]
			delete(stored, who)
			if _, doubted := unknown.Load(who); count != 1 && (count != 0 || !doubted) {
				t.Errorf("%s stands there %d times; unknown outcome: %t", who, count, doubted)
			}
		}
	}
	if len(stored) > 0 {
		t.Errorf("events that nobody made: %v", stored)
	}
}

// insist repeats an append that recorded nothing because other callers were faster or, on replicas,
// because the leader changed.
func (r *rig) insist(t testing.TB, try func() error) error {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for {
		err := try()
		reason := domain.ReasonOf(err)
		refused := r.replicas() > 1 && reason == domain.ReasonServiceUnavailable && !errors.Is(err, eventstore.ErrUnknown)
		if reason != domain.ReasonConcurrentModification && !refused || ctx.Err() != nil {
			return err
		}
	}
}

// mayBeUnknown reports whether an error is an unknown outcome, on replicas: there, a change of the
// leader can swallow an answer.
func (r *rig) mayBeUnknown(err error) bool {
	return r.replicas() > 1 && errors.Is(err, eventstore.ErrUnknown)
}

func testClaim(t testing.TB, r *rig) {
	errTaken := errors.New("taken")
	for range scale(5, 20) {
		key := newKey()
		var won, unknown sync.Map
		var group sync.WaitGroup
		for w := range 16 {
			s, who := r.nodes[w%len(r.nodes)].store, fmt.Sprint(w)
			claim := func() error {
				tip, err := eventstore.ExecuteNew(testContext(t), s, tallies, key, newMeta(t, s), func(there tally) (added, error) {
					if there.Count > 0 {
						return added{}, errTaken
					}
					return added{Who: who}, nil
				})
				if err == nil && tip.Appended {
					won.Store(who, true)
				}
				return err
			}
			group.Go(func() {
				err := r.insist(t, claim)
				for r.mayBeUnknown(err) {
					unknown.Store(who, true)
					err = r.insist(t, claim) // until it knows that it, or another, has the claim
				}
				if err != nil && !errors.Is(err, errTaken) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		events, err := r.store().History(testContext(t), key)
		if err != nil || len(events) != 1 {
			t.Fatalf("%d claims are recorded: %v", len(events), err)
		}
		winner, err := tallies.Event(events[0])
		if err != nil {
			t.Fatal(err)
		}
		_, doubted := unknown.Load(winner.Who)
		_, answered := won.LoadAndDelete(winner.Who)
		if !answered && !doubted {
			t.Errorf("%s has the claim, and no answer said so", winner.Who)
		}
		won.Range(func(who, _ any) bool { t.Errorf("%s won the claim of %s", who, winner.Who); return true })
	}
}

func testRefusal(t testing.TB, r *rig) {
	key := newKey()
	old := mustAdd(t, r.store(), key, added{N: 1})
	mustAdd(t, r.other(), key, added{N: 1})
	errEarly := errors.New("too early")
	decided := 0
	decide := func(s tally) (added, error) {
		if decided++; s.Count < 2 {
			return added{}, errEarly
		}
		return added{N: 5}, nil
	}
	tip, err := eventstore.ExecuteFrom(testContext(t), r.store(), tallies, old, newMeta(t, r.store()), decide)
	if err != nil || tip.State.Sum != 7 || decided != 2 {
		t.Errorf("an old state refused: %v, %+v, decided %d times", err, tip.State, decided)
	}
	decided = 0
	never := func(tally) (added, error) { decided++; return added{}, errEarly }
	if _, err := eventstore.Execute(testContext(t), r.store(), tallies, key, newMeta(t, r.store()), never); !errors.Is(err, errEarly) {
		t.Error(err)
	}
	want := min(2, r.replicas()) // on several replicas, the first time as this store has applied the log
	if decided != want {
		t.Errorf("a refusal was decided %d times, want %d", decided, want)
	}
}

func testNewerSchema(t testing.TB, r *rig) {
	key := newKey()
	newer := format.NewAggregate("tally", 2, []added{{}}, addUp)
	if _, err := eventstore.Execute(testContext(t), r.store(), newer, key, newMeta(t, r.store()), func(tally) (added, error) { return added{N: 1}, nil }); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"execute": second(add(t, r.store(), key, added{N: 1})),
		"new": second(eventstore.ExecuteNew(testContext(t), r.store(), tallies, key, newMeta(t, r.store()),
			func(tally) (added, error) { return added{N: 1}, nil })),
		"load": second(eventstore.Load(testContext(t), r.store(), tallies, key, eventstore.Latest)),
	} {
		if !errors.Is(err, format.ErrNewerSchema) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if events, err := r.store().History(testContext(t), key); err != nil || len(events) != 1 {
		t.Error(err, len(events))
	}
}

func testSubscribe(t testing.TB, r *rig) {
	var want []*eventstore.Recorded
	for range 20 {
		want = append(want, mustAdd(t, r.store(), keyIn(r.store(), 0), added{N: 1}).Recorded)
	}
	errDone := errors.New("seen enough")
	last := want[len(want)-1]
	for _, from := range []struct{ after, first uint64 }{
		{0, 1}, {want[0].Seq - 1, want[0].Number}, {want[7].Seq, want[8].Number}, {want[18].Seq, last.Number},
	} {
		next := from.first
		err := r.other().Subscribe(testContext(t), 0, from.after, func(e *eventstore.Recorded) error {
			if e.Number != next || e.Seq <= from.after {
				return fmt.Errorf("event %d at %d came instead of event %d", e.Number, e.Seq, next)
			}
			if next++; e.Seq == last.Seq {
				return errDone
			}
			return nil
		})
		if !errors.Is(err, errDone) || next != last.Number+1 {
			t.Errorf("from %d up to event %d of %d: %v", from.after, next-1, last.Number, err)
		}
	}
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	got := make(chan *eventstore.Recorded)
	ended := make(chan error)
	go func() {
		ended <- r.other().Subscribe(ctx, 0, last.Seq, func(e *eventstore.Recorded) error {
			select {
			case got <- e:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	later := mustAdd(t, r.store(), keyIn(r.store(), 0), added{N: 2}).Recorded
	same(t, "an event that came later", <-got, later)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func testFanout(t testing.TB, r *rig) {
	head := mustAdd(t, r.store(), keyIn(r.store(), 0), added{}).Recorded
	after := make([]uint64, r.shards)
	for shard := range r.shards {
		seq, err := r.store().LastSeq(testContext(t), shard)
		if err != nil {
			t.Fatal(err)
		}
		after[shard] = seq
	}
	same(t, "the newest event's address", after[0], head.Seq)
	fanout := eventstore.NewFanout(r.store())
	all, rest, idle := fanout.Reader("all", nil), fanout.Reader("rest", after), fanout.Reader("idle", nil)
	idle.Stop() // a failed reader delays no other reader
	ctx, cancel := context.WithCancel(testContext(t))
	ended := make(chan error, 1)
	go func() { ended <- fanout.Run(ctx) }()
	last := mustAdd(t, r.store(), keyIn(r.store(), 0), added{}).Recorded
	for reader, next := range map[*eventstore.Reader]uint64{all: 1, rest: head.Number + 1} {
		for next <= last.Number {
			events, err := reader.Next(ctx, 3)
			if err != nil || len(events) == 0 || len(events) > 3 {
				t.Fatal(err, len(events))
			}
			for _, e := range events {
				if e.Shard == 0 && e.Number != next {
					t.Fatalf("%s: event %d instead of %d", reader.Name, e.Number, next)
				} else if e.Shard == 0 {
					next++
				}
			}
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := rest.Next(ctx, 1); err == nil {
		t.Error("a reader goes on after its context")
	}
}

func testPoison(t testing.TB, r *rig) {
	seq := mustAdd(t, r.store(), keyIn(r.store(), 1), added{}).Recorded.Seq
	errPoison := errors.New("poison")
	calls := 0
	err := r.store().Subscribe(testContext(t), 1, seq-1, func(*eventstore.Recorded) error { calls++; return errPoison })
	if !errors.Is(err, errPoison) || calls != 1 {
		t.Error(err, calls)
	}
}

func testTooLarge(t testing.TB, r *rig) {
	key := newKey()
	big := added{Who: string(slices.Repeat([]byte("x"), 300<<10))}
	meta := newMeta(t, r.store())
	meta.Request = true
	_, err := eventstore.Execute(testContext(t), r.store(), tallies, key, meta, func(tally) (added, error) { return big, nil })
	if !errors.Is(err, eventstore.ErrTooLarge) || domain.ReasonOf(err) != domain.ReasonRequestTooLarge {
		t.Errorf("a request: %v", err)
	}
	if _, err := add(t, r.store(), key, big); err != nil {
		t.Errorf("an outcome: %v", err)
	}
	huge := added{Who: string(slices.Repeat([]byte("x"), 9<<20))}
	if _, err := add(t, r.store(), key, huge); !errors.Is(err, eventstore.ErrRefused) {
		t.Errorf("more than a message holds: %v", err)
	}
}

func testInitialize(t testing.TB, r *rig) {
	ctx := testContext(t)
	if _, err := eventstore.Initialized(ctx, r.store()); !errors.Is(err, eventstore.ErrNotFound) {
		t.Fatal(err)
	}
	want := eventstore.LogState{Account: "a1", Environment: "sandbox"}
	if err := eventstore.Initialize(ctx, r.store(), want, "tester"); err != nil {
		t.Fatal(err)
	}
	if err := eventstore.Initialize(ctx, r.other(), eventstore.LogState{Account: "a2"}, "tester"); !errors.Is(err, eventstore.ErrConflict) {
		t.Error(err)
	}
	got, err := eventstore.Initialized(ctx, r.other())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "log", got, want)
}

func testReadOnly(t testing.TB, r *rig) {
	key := newKey()
	mustAdd(t, r.store(), key, added{N: 4})
	before, err := r.store().LastSeq(testContext(t), r.store().ShardOf(key))
	if err != nil {
		t.Fatal(err)
	}
	s := r.reopen(t, 0, func(c *engine.Config) { c.ReadOnly = true })
	tip, err := eventstore.Load(testContext(t), s, tallies, key, eventstore.Latest)
	if err != nil || tip.State.Sum != 4 {
		t.Error(err, tip.State)
	}
	if _, err := add(t, s, key, added{N: 1}); !errors.Is(err, eventstore.ErrRefused) {
		t.Error(err)
	}
	after, err := r.store().LastSeq(testContext(t), s.ShardOf(key))
	if err != nil || after != before {
		t.Errorf("the log went from %d to %d: %v", before, after, err)
	}
}
