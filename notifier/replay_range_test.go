package notifier

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/eventstore"
)

// counted is a store that counts its readers, and the events that they get.
type counted struct {
	eventstore.Store
	readers, events atomic.Int64
}

func (c *counted) Subscribe(ctx context.Context, shard int, after uint64, handle func(*eventstore.Recorded) error) error {
	c.readers.Add(1)
	return c.Store.Subscribe(ctx, shard, after, func(e *eventstore.Recorded) error {
		c.events.Add(1)
		return handle(e)
	})
}

// TestReplayReadsItsRange: events clearly before the range are not read, neither by a dry run nor
// by the replay.
func TestReplayReadsItsRange(t *testing.T) {
	t.Parallel()
	r := newLogRig(t)
	log := &counted{}
	r.opened = func(l *AttemptLog) { log.Store, l.replays.Store = l.replays.Store, log }
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

// TestReplayEndsWithItsRange: events clearly after the range are not read, however many there are.
// No event of the range is left out, although a node's clock was 5 minutes ahead of another's.
func TestReplayEndsWithItsRange(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newLogRig(t)
	log := &counted{}
	r.opened = func(l *AttemptLog) { log.Store, l.replays.Store = l.replays.Store, log }
	r.ahead.Store(int64(-5 * time.Hour))
	r.start()
	began := r.now().Add(time.Hour)
	pay := func(after time.Duration, times int) {
		t.Helper()
		r.ahead.Store(int64(time.Until(began.Add(after))))
		for range times {
			r.pay(processor.Declined)
		}
	}
	const early, inside, late = 3, 12, 40
	pay(-30*time.Minute, early)
	pay(30*time.Minute, 2)
	pay(56*time.Minute, 3)
	pay(61*time.Minute, 1) // 5 minutes ahead
	pay(57*time.Minute, 3)
	pay(63*time.Minute, 1)
	pay(58*time.Minute, 4)
	pay(3*time.Hour, late)
	q := all(r.endpoint(inbox.url + "/"))
	q.From, q.To = began, began.Add(time.Hour)
	r.isDone(r.replay(q, inside), inside)
	const walks, most = 2 + 1, 2 * (inside + 2) // a payment has two events
	if n := log.events.Load(); n < walks*2*inside || n > walks*(most+int64(r.shards)) {
		t.Errorf("%d events were read", n)
	}
}

// TestReplayOverAWrongClock: a node's clock was hours ahead for a while of the range, and hours
// behind long after it. The events after the one while are replayed, and those of the other; those
// between are not read.
func TestReplayOverAWrongClock(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newLogRig(t)
	log := &counted{}
	r.opened = func(l *AttemptLog) { log.Store, l.replays.Store = l.replays.Store, log }
	r.ahead.Store(int64(-9 * time.Hour))
	r.start()
	began := r.now().Add(time.Hour)
	for _, while := range []struct {
		after time.Duration
		times int
	}{{10 * time.Minute, 8}, {3 * time.Hour, 6}, {20 * time.Minute, 6}, {50 * time.Minute, 4}, {4 * time.Hour, 40}, {30 * time.Minute, 3}, {5 * time.Hour, 20}} {
		r.ahead.Store(int64(time.Until(began.Add(while.after))))
		for range while.times {
			r.pay(processor.Declined)
		}
	}
	q := all(r.endpoint(inbox.url + "/"))
	q.From, q.To = began, began.Add(time.Hour)
	const inside = 8 + 6 + 4 + 3
	r.isDone(r.replay(q, inside), inside)
	const walks = 2 + 1
	if n := log.events.Load(); n > walks*(2*inside+5*int64(r.shards)) { // one event behind each of the stretches
		t.Errorf("%d events were read", n)
	}
}
