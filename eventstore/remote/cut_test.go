package remote_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/external"
	"payledger/eventstore/format"
	"payledger/eventstore/remote"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

type added struct{}

func (added) Type() string { return "tally.added" }

var tallies = format.NewAggregate("tally", 1, []added{{}}, func(sum int64, _ added) int64 { return sum + 1 })

// TestCut: while writers append events without a pause, each one to another shard and after the
// answer to the one before, every cut has the first events of each writer, and none without those
// before it. It has everything that was acknowledged before it began. All groups before a cut can
// be read, and the chain of hashes is whole.
func TestCut(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	const shards, writers = 4, 8
	c := clustertest.Start(t, 3, nil).Formed(t)
	access := external.Access{URL: c.URL(clustertest.User)}
	s, err := engine.Open(t.Context(), engine.Config{
		External: access, Shards: shards, Replicas: 3, Now: time.Now, Random: rand.Reader, ReadTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	log, err := remote.Open(t.Context(), access)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	defer checkpoints(t, s)()
	var all [writers]written
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for i := range all {
		running.Go(func() {
			defer stop() // of all, after an error
			all[i].run(ctx, t, s)
		})
	}
	defer func() { stop(); running.Wait() }()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	grown := func() { // each writer has appended an event since the call
		for i := range all {
			for n := all[i].count(); all[i].count() == n && ctx.Err() == nil; {
				<-again.C
			}
		}
	}
	type cut struct {
		remote.Cut
		before [writers]int // events of each writer that were acknowledged before
	}
	var cuts []cut
	for range 6 {
		var c cut
		grown()
		for i := range all {
			c.before[i] = all[i].count()
		}
		begun := time.Now()
		if c.Cut, err = log.Cut(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Logf("a cut took %s", time.Since(begun).Round(time.Millisecond))
		cuts = append(cuts, c)
	}
	stop()
	running.Wait()
	last := cut{}
	for i := range all {
		last.before[i] = all[i].count()
	}
	if last.Cut, err = log.Cut(t.Context()); err != nil {
		t.Fatal(err)
	}
	places := map[string]place{}
	for shard := range shards {
		readShard(t, log, shard, last.Heads[shard], places)
	}
	for n, c := range append(cuts, last) {
		mark, err := s.Checkpoints().At(t.Context(), c.Heads[streams.CheckpointShard].Events)
		if err != nil {
			t.Fatal(err)
		}
		for shard := range shards {
			if mark.EventsOf(shard) != c.Heads[shard].Events {
				t.Errorf("cut %d has %d events of shard %d, and its checkpoint covers %d", n, c.Heads[shard].Events, shard, mark.EventsOf(shard))
			}
		}
		for i := range all {
			in := 0
			for at, key := range all[i].keys {
				p, there := places[key]
				if !there {
					t.Fatalf("event %d of writer %d is not in the log", at, i)
				}
				if p.seq > c.Heads[p.shard].Seq {
					continue
				}
				if in++; in != at+1 {
					t.Fatalf("cut %d has event %d of writer %d, and not the one before", n, at, i)
				}
			}
			if in < c.before[i] {
				t.Errorf("cut %d has %d events of writer %d, and %d were acknowledged before it", n, in, i, c.before[i])
			}
		}
	}
	t.Logf("%d events", len(places))
}

// checkpoints writes checkpoints of the log until the caller calls end.
func checkpoints(t *testing.T, s *engine.Store) (end func()) {
	t.Helper()
	signer, _, err := eventstoretest.Secrets(t, s).CheckpointSigner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fanout := eventstore.NewFanout(s)
	writer, err := checkpointlog.NewWriter(t.Context(), s.Checkpoints(), fanout.Reader, signer)
	if err != nil {
		t.Fatal(err)
	}
	writer.Every = 10 * time.Millisecond // a cut waits for a checkpoint, and the writers go on meanwhile
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = fanout.Run(ctx) })
	running.Go(func() { _ = writer.Run(ctx) })
	return func() { stop(); running.Wait() }
}

// written are the events of a writer, in its order.
type written struct {
	mu   sync.Mutex
	keys []string
}

func (w *written) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.keys)
}

// run appends events to new aggregates until ctx ends.
func (w *written) run(ctx context.Context, t *testing.T, s *engine.Store) {
	for ctx.Err() == nil {
		id, err := add(t.Context(), s)
		if err != nil {
			t.Error(err)
			return
		}
		w.mu.Lock()
		w.keys = append(w.keys, id)
		w.mu.Unlock()
	}
}

// add appends an event to a new aggregate, and returns its id.
func add(ctx context.Context, s *engine.Store) (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	meta, err := s.NewMeta("tester", "test")
	key := tallies.Key("acct", string(domain.NewToken(b)))
	if err == nil {
		_, err = eventstore.ExecuteNew(ctx, s, tallies, key, meta, func(int64) (added, error) { return added{}, nil })
	}
	return key.ID, err
}

// place is where an event is in the log.
type place struct {
	shard int
	seq   uint64
}

// readShard notes the places of a shard's events up to an end, and checks the chain.
func readShard(t *testing.T, log *remote.Log, shard int, end format.Head, places map[string]place) {
	t.Helper()
	head := format.Head{}
	err := log.Read(t.Context(), streams.Name(shard, 1), 1, end.Seq, false, func(r stored.Message) error {
		g, err := format.ParseGroup(bytes.Clone(r.Body))
		if err == nil {
			err = g.Follows(head)
		}
		if err != nil {
			return err
		}
		head = g.After(head)
		for _, e := range g.Frames {
			places[e.Key.ID] = place{shard, g.Seq}
		}
		return nil
	})
	if err != nil || head.Link != end.Link {
		t.Errorf("shard %d: %+v instead of %+v: %v", shard, head, end, err)
	}
}
