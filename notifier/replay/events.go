package replay

import (
	"context"
	"errors"
	"sync"

	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/format"
)

const walkAhead = 64

var errEndOfRange = errors.New("notifier: end of the replay's range")

type relevantEvent struct {
	*eventstore.Recorded
	wanted []webhook.Candidate
}

// eachEvent calls do for the relevant events of a replay, on each shard from after At up to End:
// all other events are not in the time, or came after the call. Each shard's events are in order,
// and the shards are merged by the events' times. So a payment's events are always in order.
func (r *Replayer) eachEvent(ctx context.Context, p *record, do func(relevantEvent) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer cancel()
	shards := make([]*shardEvents, len(p.End))
	for shard := range p.End {
		w := &shardEvents{events: make(chan relevantEvent, walkAhead)}
		shards[shard] = w
		after, end := p.At[shard], p.End[shard]
		readers.Go(func() {
			defer close(w.events)
			w.failure = r.readShard(ctx, p, shard, part{after, end}, w.events)
		})
	}
	for {
		first := -1
		for shard, w := range shards {
			if err := w.fill(); err != nil {
				return err
			}
			if w.head != nil && (first < 0 || w.head.Time.Before(shards[first].head.Time)) {
				first = shard
			}
		}
		if first < 0 {
			return ctx.Err()
		}
		next := *shards[first].head
		shards[first].head = nil
		if err := do(next); err != nil {
			return err
		}
	}
}

type shardEvents struct {
	events  chan relevantEvent
	failure error // set before events is closed
	head    *relevantEvent
}

func (w *shardEvents) fill() error {
	if w.head != nil {
		return nil
	}
	next, open := <-w.events
	if !open { // the shard has ended
		return w.failure
	}
	w.head = &next
	return nil
}

// part is a part of a shard, by addresses.
type part struct{ after, end uint64 }

// readShard reads the stretches of a part of a shard that may have events of the replay's time, not
// those between: one wrong clock would add years.
func (r *Replayer) readShard(ctx context.Context, p *record, shard int, in part, to chan<- relevantEvent) error {
	if in.after >= in.end {
		return nil
	}
	near, err := r.Store.Near(ctx, shard, format.GroupOf(in.end), eventstore.NewWindow(&p.From, &p.To))
	if err != nil {
		return err
	}
	for _, stretch := range near {
		some := part{max(in.after, stretch.Before()), min(in.end, stretch.Through())}
		if some.after >= some.end {
			continue
		}
		if err := r.read(ctx, p, shard, some, to); err != nil {
			return err
		}
	}
	return nil
}

func (r *Replayer) read(ctx context.Context, p *record, shard int, in part, to chan<- relevantEvent) error {
	err := r.Store.Subscribe(ctx, shard, in.after, func(e *eventstore.Recorded) error {
		if e.Seq > in.end { // not by the time: a clock may have been ahead for a while
			return errEndOfRange
		}
		wanted, err := p.wanted(e)
		if err != nil {
			return err
		}
		if len(wanted) > 0 {
			select {
			case to <- relevantEvent{e, wanted}:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if e.Seq == in.end {
			return errEndOfRange
		}
		return nil
	})
	if errors.Is(err, errEndOfRange) {
		return nil
	}
	return err
}
