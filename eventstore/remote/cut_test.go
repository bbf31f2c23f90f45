package remote_test

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/blocks"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/external"
	"payledger/eventstore/format"
	"payledger/eventstore/remote"
	"payledger/eventstore/streams"
)

type added struct{}

func (added) Type() string { return "tally.added" }

var tallies = format.NewAggregate("tally", 1, []added{{}}, func(sum int64, _ added) int64 { return sum + 1 })

// TestCut: while a node appends one event after the other, each to another shard and after the answer to the one before, every cut has the
// first events of that order, and none without those before it. All groups before a cut can be read, and the chain of hashes is whole.
func TestCut(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	const shards = 4
	c := clustertest.Start(t, 3, nil).Formed(t)
	access := external.Access{URL: c.URL(clustertest.User)}
	s, err := eventstore.Open(t.Context(), eventstore.Config{
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
	ctx, stop := context.WithCancel(t.Context())
	order, ended := make(chan int, 1<<16), make(chan error, 1)
	go func() {
		defer close(order)
		for ctx.Err() == nil {
			shard, err := one(t.Context(), s)
			if err != nil {
				ended <- err
				return
			}
			order <- shard
		}
		ended <- nil
	}()
	var cuts []remote.Cut
	for range 10 {
		cut, err := log.Cut(t.Context())
		if errors.Is(err, remote.ErrBusy) { // a pause is not sure on a busy machine
			t.Log(err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		cuts = append(cuts, cut)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	last, err := log.Cut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cuts = append(cuts, last)
	counts, seen := map[int]uint64{}, uint64(0)
	for i, cut := range cuts {
		total := uint64(0)
		for shard := range shards {
			total += cut.Heads[shard].Events
		}
		for ; seen < total; seen++ {
			shard, more := <-order
			if !more {
				t.Fatalf("cut %d has %d events of %d", i, total, seen)
			}
			counts[shard]++
		}
		for shard := range shards {
			if got := cut.Heads[shard].Events; got != counts[shard] {
				t.Errorf("cut %d, of %d events, has %d of shard %d; the first %[2]d events have %d there", i, total, got, shard, counts[shard])
			}
		}
	}
	if _, more := <-order; more {
		t.Error("the last cut, after all answers, lacks an event")
	}
	for shard := range shards {
		head := format.Head{}
		err := log.Read(t.Context(), streams.Name(shard, 1), 1, last.Heads[shard].Seq, false, func(r blocks.Record) error {
			g, err := format.ParseGroup(r.Body)
			if err == nil {
				err = g.Follows(head)
			}
			if err == nil {
				head = g.After(head)
			}
			return err
		})
		if err != nil || head.Link != last.Heads[shard].Link {
			t.Errorf("shard %d: %+v instead of %+v: %v", shard, head, last.Heads[shard], err)
		}
	}
	t.Logf("%d cuts, %d events", len(cuts), seen)
}

// one appends an event to a new aggregate, and returns its shard.
func one(ctx context.Context, s *eventstore.Store) (int, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, err
	}
	meta, err := s.NewMeta("tester", "test")
	if err != nil {
		return 0, err
	}
	key := tallies.Key("acct", string(domain.NewToken(b)))
	_, err = eventstore.ExecuteNew(ctx, s, tallies, key, meta, func(int64) (added, error) { return added{}, nil })
	return s.ShardOf(key), err
}
