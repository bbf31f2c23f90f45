package notifier

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/eventstore"
)

// counted is a store that counts its readers.
type counted struct {
	eventstore.Store
	readers atomic.Int64
}

func (c *counted) Subscribe(ctx context.Context, shard int, after uint64, handle func(*eventstore.Recorded) error) error {
	c.readers.Add(1)
	return c.Store.Subscribe(ctx, shard, after, handle)
}

// TestReplayReadsItsRange: events clearly before the range are not read, neither by a dry run nor
// by the replay.
func TestReplayReadsItsRange(t *testing.T) {
	t.Parallel()
	r := newLogRig(t)
	log := &counted{}
	r.opened = func(l *DeliveryLog) { log.Store, l.replays.Store = l.replays.Store, log }
	r.start()
	for range 10 {
		r.pay(processor.Declined)
	}
	q := all(r.endpoint("http://127.0.0.1:1/"))
	q.From, q.To = time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	r.isDone(r.replay(q, 0), 0)
	if n := log.readers.Load(); n != 0 {
		t.Errorf("%d shards were read", n)
	}
}
