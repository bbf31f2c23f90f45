package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/ownership"
)

// TestOwner checks the owner of a shard against the schedules of package ownership, on real
// servers.
func TestOwner(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	runPromises(t, cluster, []promise{
		{"shards are shared out", testShare}, // before a node has given shards away: it gets none for a while
		{"reads write nothing", testReadsWriteNothing},
		{"readers of positions write nothing", testPositionsWriteNothing},
		{"1: a draft of another node that is stored and not acknowledged", testReadBesideFlight},
		{"2: one group in flight", testOneFlight},
		{"3: an owner that was stopped", testStoppedOwner},
		{"6 and 8: an owner that is gone, and visitors", testGoneOwner},
		{"a node that leaves", testLeave},
		{"a node that hears nothing", testDeafOwner},
		{"a node that keeps no shard", testGuest},
		{"reads of a majority", testMajorityReads},
	})
}

// own makes a node the owner of shard 0, and waits until all nodes know it.
func (r *rig) own(t testing.TB, i int) {
	t.Helper()
	s := r.nodes[i].store
	eventually(t, time.Minute, "the node owns the shard", func() error {
		if err := second(add(t, s, keyIn(s, 0), added{Who: "owner"})); err != nil {
			return err
		}
		for _, n := range r.nodes {
			if n.store != s {
				n.store.HandTo(0, s.Node()) // if it owns the shard
			}
		}
		for _, n := range r.nodes {
			if n.store != s && n.store.Owner(0) != s.Node() {
				return fmt.Errorf("%s asks %q", n.store.Node(), n.store.Owner(0))
			}
		}
		return nil
	})
}

// latest loads a tally as of now.
func latest(t testing.TB, s *engine.Store, key eventstore.Key) (tally, error) {
	tip, err := eventstore.Load(testContext(t), s, tallies, key, eventstore.Latest)
	return tip.State, err
}

// testReadsWriteNothing: a lease is renewed at most twice in its time, whatever the number of
// reads.
func testReadsWriteNothing(t testing.TB, r *rig) {
	r.own(t, 0)
	s := r.store()
	key := keyIn(s, 0)
	mustAdd(t, s, key, added{N: 1})
	began := time.Now()
	before, _, _, _ := s.End(0)
	const reads = 200
	for _, n := range r.nodes {
		for range reads {
			if got, err := latest(t, n.store, key); err != nil || got.Sum != 1 {
				t.Fatalf("%+v, %v", got, err)
			}
		}
	}
	after, _, _, _ := s.End(0)
	most := reads/10 + uint64(len(r.nodes))*uint64(time.Since(began)/(ownership.Lease/2))
	if after-before > most {
		t.Errorf("%d reads appended %d groups in %s; at most %d", reads*len(r.nodes), after-before, time.Since(began), most)
	}
}

// testPositionsWriteNothing: nodes ask for the newest checkpoint, as a witness does each second,
// and the shard of the checkpoints stays as it is. The hourly check of the log does not append
// either.
func testPositionsWriteNothing(t testing.TB, r *rig) {
	before := endOfCheckpoints(r.store())
	for range 5 {
		for _, n := range r.nodes {
			if _, err := n.store.Checkpoints().Order(testContext(t)); err != nil {
				t.Fatal(err)
			}
			n.store.Recheck(testContext(t))
		}
	}
	if after := endOfCheckpoints(r.store()); after != before {
		t.Errorf("the checkpoints ended at %d, and end at %d", before, after)
	}
}

func endOfCheckpoints(s *engine.Store) uint64 {
	newest, _, _ := s.Checkpoints().Shard.Newest()
	return newest.Seq
}

// testReadBesideFlight: another node shows the event before its writer has the acknowledgement. A
// reader that knows it from there must find it at the owner.
func testReadBesideFlight(t testing.TB, r *rig) {
	ctx := testContext(t)
	r.own(t, 0)
	s, other := r.store(), r.other()
	key := keyIn(s, 0)
	first := mustAdd(t, s, key, added{N: 1})
	flight, err := s.Depart(ctx, draft(t, s, key, first.Recorded, added{N: 1}))
	if err != nil {
		t.Fatal(err)
	}
	publish(t, flight, 0)
	eventually(t, time.Minute, "another node shows the event", func() error {
		got, err := eventstore.Load(ctx, other, tallies, key, eventstore.Applied)
		if err == nil && got.State.Count != 2 {
			err = errors.New("not yet")
		}
		return err
	})
	got := make(chan tally, 1)
	waiting, answered := context.WithCancel(ctx)
	go func() {
		defer answered()
		read, err := latest(t, s, key)
		if err != nil {
			t.Error(err)
		}
		got <- read
	}()
	if err := s.WaitReading(waiting, 0, 1); err != nil {
		t.Errorf("no reader waits for the group in flight: %v", err)
	}
	flight.Stored()
	if read := <-got; read.Count != 2 {
		t.Errorf("the owner reads %d events; another node showed 2", read.Count)
	}
	if read, err := latest(t, other, key); err != nil || read.Count != 2 {
		t.Errorf("%+v, %v", read, err)
	}
}

func testOneFlight(t testing.TB, r *rig) {
	ctx := testContext(t)
	r.own(t, 0)
	s := r.store()
	flight, err := s.Depart(ctx, draft(t, s, keyIn(s, 0), nil, added{Who: "first"}))
	if err != nil {
		t.Fatal(err)
	}
	s.PipelineFrom(1) // of a sole writer a second group would leave
	key := keyIn(s, 0)
	done := make(chan error, 1)
	go func() { done <- second(add(t, s, key, added{Who: "next"})) }()
	if err := errors.Join(s.WaitWaiting(ctx, 0, 1), s.WaitFlights(ctx, 0, 1)); err != nil {
		t.Error(err)
	}
	publish(t, flight, 0)
	flight.Stored()
	if err := errors.Join(flight.Wait(ctx), <-done); err != nil {
		t.Error(err)
	}
	checkOnce(t, s, key, "next")
}

// testStoppedOwner: the owner is stopped between two lines. Another node takes the shard over. The
// owner goes on, and its first read must not be from memory.
func testStoppedOwner(t testing.TB, r *rig) {
	r.own(t, 0)
	owner, other := r.nodes[0], r.nodes[1]
	key := keyIn(owner.store, 0)
	mustAdd(t, owner.store, key, added{N: 1})
	if _, err := latest(t, owner.store, key); err != nil {
		t.Fatal(err)
	}
	thaw := owner.store.Freeze(0)
	read := make(chan tally, 8)
	for range cap(read) {
		go func() {
			got, err := latest(t, owner.store, key)
			if err != nil {
				t.Error(err)
			}
			read <- got
		}()
	}
	other.ahead.Add(int64(ownership.Absence))
	_, err := add(t, other.store, key, added{N: 1})
	owner.ahead.Add(int64(ownership.Absence))
	thaw()
	if err != nil {
		t.Fatal(err)
	}
	for range cap(read) {
		<-read // they came before the other node's event: both answers are right
	}
	if got, err := latest(t, owner.store, key); err != nil || got.Count != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

// testGoneOwner: the owner's last group is stored, and it receives nothing more. Readers go on; the
// next writer waits since it saw that group, not longer.
func testGoneOwner(t testing.TB, r *rig) {
	ctx := testContext(t)
	r.own(t, 0)
	owner, writer, reader := r.nodes[0].store, r.nodes[1], r.nodes[2].store
	key := keyIn(owner, 0)
	last := draft(t, owner, key, nil, added{Who: "last"})
	flight, err := owner.Depart(ctx, last)
	if err != nil {
		t.Fatal(err)
	}
	before := writer.clock()
	thaw := owner.Freeze(0)
	publish(t, flight, 0)
	var reading sync.WaitGroup
	readingEnds, stop := context.WithCancel(ctx)
	reading.Go(func() {
		for readingEnds.Err() == nil {
			if got, err := latest(t, reader, key); err != nil || got.Count == 0 {
				t.Errorf("a reader while the owner is gone: %+v, %v", got, err)
				return
			}
		}
	})
	next := keyIn(writer.store, 0)
	err = second(add(t, writer.store, next, added{Who: "next"}))
	took := writer.clock().Since(before)
	stop()
	reading.Wait()
	thaw()
	if err := flight.Lose(ctx); err != nil { // it finds its group in the log
		t.Error(err)
	}
	if err != nil || took < ownership.Absence {
		t.Errorf("taken over after %s: %v", took, err)
	}
	t.Logf("taken over %s after the owner's last group", took.Round(time.Millisecond))
	checkOnce(t, writer.store, next, "next")
	checkOnce(t, writer.store, key, "last")
}

// testLeave: no request fails, and none waits for the absence of a node that left.
func testLeave(t testing.TB, r *rig) {
	r.own(t, 0)
	s := r.store()
	names := []string{}
	for _, n := range r.nodes {
		names = append(names, n.store.Node())
	}
	for _, n := range r.nodes {
		n.store.ServeWith(eventstoretest.Nodes{Serving: names})
	}
	ctx, stop := context.WithCancel(testContext(t))
	var writing sync.WaitGroup
	for _, n := range r.nodes {
		writing.Go(func() {
			for ctx.Err() == nil {
				if _, err := add(t, n.store, keyIn(n.store, 0), added{N: 1}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	err := s.Leave(ctx)
	if n := s.Owned(); err != nil || n != 0 {
		t.Errorf("%d shards after it left: %v", n, err)
	}
	stop()
	writing.Wait()
	if owner := s.Owner(0); !slices.Contains(names[1:], owner) {
		t.Errorf("%q owns the shard", owner)
	}
	s.Stay()
}

func testDeafOwner(t testing.TB, r *rig) {
	s := r.reopen(t, 0, func(*engine.Config) {})
	eventually(t, time.Minute, "the node owns the shard", func() error {
		for _, n := range r.nodes {
			n.store.HandTo(0, s.Node()) // if it owns the shard
		}
		_, err := add(t, s, keyIn(s, 0), added{N: 1})
		if err == nil && s.Owned() == 0 {
			err = errors.New("not yet")
		}
		return err
	})
	s.ServeWith(eventstoretest.Nodes{Serving: []string{s.Node(), r.other().Node()}})
	if err := s.Deafen(); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the node hands its shards over", func() error {
		if n := s.Owned(); n > 0 {
			return errors.New("not yet")
		}
		return nil
	})
}

func testShare(t testing.TB, r *rig) {
	names := []string{}
	for _, n := range r.nodes {
		names = append(names, n.store.Node())
	}
	for _, n := range r.nodes {
		for shard := range r.shards {
			mustAdd(t, n.store, keyIn(n.store, shard), added{N: 1})
		}
		n.store.ServeWith(eventstoretest.Nodes{Serving: names})
	}
	eventually(t, 3*time.Minute, "no node has two shards more than another", func() error {
		least, most := 99, 0
		for _, n := range r.nodes {
			owned := n.store.Owned()
			least, most = min(least, owned), max(most, owned)
		}
		if most-least > 1 {
			return errors.New("not yet")
		}
		return nil
	})
	for _, n := range r.nodes { // the other promises choose the owners
		n.store.ServeWith(eventstoretest.Nodes{})
	}
}

// testGuest: a node that keeps no shard still appends, and hands over what it owns.
func testGuest(t testing.TB, r *rig) {
	r.own(t, 0)
	s, all := r.store(), []string{}
	for _, n := range r.nodes {
		all = append(all, n.store.Node())
	}
	for _, n := range r.nodes {
		n.store.ServeWith(eventstoretest.Nodes{Serving: all, Guests: []string{s.Node()}})
	}
	eventually(t, time.Minute, "the node hands its shards over", func() error {
		if n := s.Owned(); n > 0 {
			return fmt.Errorf("it owns %d", n)
		}
		return nil
	})
	for shard := range r.shards {
		mustAdd(t, s, keyIn(s, shard), added{N: 1})
		if owner := s.Owner(shard); owner == "" || owner == s.Node() {
			t.Errorf("after an event of the node %q owns shard %d", owner, shard)
		}
	}
}

func testMajorityReads(t testing.TB, r *rig) {
	s := r.reopen(t, 1, func(c *engine.Config) { c.MajorityReads = true })
	r.own(t, 0)
	key := keyIn(s, 0)
	mustAdd(t, r.store(), key, added{N: 1})
	const reads = 5
	before, _, _, _ := r.store().End(0)
	for range reads {
		if got, err := latest(t, s, key); err != nil || got.Sum != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if after, _, _, _ := r.store().End(0); after-before < reads {
		t.Errorf("%d reads of a majority appended %d groups", reads, after-before)
	}
}
