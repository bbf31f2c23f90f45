package eventstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/format"
	"payledger/eventstore/jetapi"
)

// ErrShort means that the stream of deliveries ends before a place that was read earlier: what was made from it
// must be made anew.
var ErrShort = errors.New("eventstore: the stream of deliveries is shorter than it was")

// followBatch is how many records Follow hands on at once at most, unless one group has more.
const followBatch = 512

// End returns the place of the stream's newest record; 0 when there is none.
func (d *DeliveryStream) End(ctx context.Context) (uint64, error) {
	if err := d.h.catchUp(ctx); err != nil {
		return 0, fmt.Errorf("eventstore: deliveries: %w", err)
	}
	end, _ := d.h.end()
	return end.Last, nil
}

// record returns the record at a place. ErrNotFound: there is none. ErrDropped: there was one perhaps.
func (d *DeliveryStream) record(ctx context.Context, place uint64) (*Recorded, error) {
	switch {
	case format.GroupOf(place) == 0:
		return nil, ErrNotFound
	case d.h.dropped(format.GroupOf(place)):
		return nil, ErrDropped
	}
	if end, _ := d.h.end(); place > end.Last {
		if err := d.h.catchUp(ctx); err != nil {
			return nil, err
		}
		if end, _ = d.h.end(); place > end.Last {
			return nil, ErrNotFound
		}
	}
	g, err := d.h.readGroup(ctx, format.GroupOf(place))
	if err != nil {
		return nil, err
	}
	if format.FrameOf(place) >= len(g.Frames) {
		return nil, ErrNotFound
	}
	return g.Frames[format.FrameOf(place)], nil
}

// At gives the record at a place. ErrNotFound: there is none. ErrDropped: it was dropped.
func (d *DeliveryStream) At(ctx context.Context, place uint64) (StoredDelivery, error) {
	r, err := d.record(ctx, place)
	if err != nil {
		return StoredDelivery{}, fmt.Errorf("eventstore: the delivery at %d.%d: %w", format.GroupOf(place), format.FrameOf(place), err)
	}
	return storedDelivery(r), nil
}

// AsOf gives the record of a name that was its newest one when the stream ended at a place. ErrNotFound: there was none
// yet. Of what was dropped it gives the oldest record that is left.
func (d *DeliveryStream) AsOf(ctx context.Context, name string, place uint64) (StoredDelivery, error) {
	key, err := deliveryKey(name)
	if err != nil {
		return StoredDelivery{}, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	r, err := d.tip(key)
	for err == nil && r != nil && r.Seq > place {
		if r.PrevSeq == 0 {
			return StoredDelivery{}, ErrNotFound
		}
		before, err := d.record(ctx, r.PrevSeq)
		if errors.Is(err, ErrDropped) {
			break
		}
		if err != nil {
			return StoredDelivery{}, fmt.Errorf("eventstore: delivery %s: %w", name, err)
		}
		r = before
	}
	switch {
	case err != nil:
		return StoredDelivery{}, fmt.Errorf("eventstore: delivery %s: %w", name, err)
	case r == nil:
		return StoredDelivery{}, ErrNotFound
	}
	return storedDelivery(r), nil
}

// Scan returns up to limit records at or after a place, or more if they stand in one group. end reports that no more
// records stood there.
func (d *DeliveryStream) Scan(ctx context.Context, from uint64, limit int) (page []StoredDelivery, end bool, err error) {
	last, err := d.End(ctx)
	if err != nil {
		return nil, false, err
	}
	first := d.h.first()
	next := max(format.GroupOf(from), first)
	for next <= format.GroupOf(last) && len(page) < limit {
		through, err := d.h.hand(ctx, next, min(format.GroupOf(last), next), func(g *format.Group) error {
			for _, r := range g.Frames {
				if r.Seq >= from {
					page = append(page, storedDelivery(r))
				}
			}
			return nil
		})
		if err != nil {
			return nil, false, fmt.Errorf("eventstore: deliveries: %w", err)
		}
		next = through
	}
	return page, next > format.GroupOf(last), nil
}

// Follow calls batch with all durable records at or after place from, each once and in order: first the existing records,
// then new ones, until ctx ends or batch returns an error. Follow returns that error. A batch holds at most some hundred
// records. Dropped records are left out. ErrShort: the stream ends before from−1, so it is not the stream that was followed
// before.
func (d *DeliveryStream) Follow(ctx context.Context, from uint64, batch func([]StoredDelivery) error) error {
	last, err := d.End(ctx)
	if err != nil {
		return err
	}
	if last+1 < from {
		return fmt.Errorf("%w: it ends at %d, and was read up to %d", ErrShort, last, from-1)
	}
	var held []StoredDelivery
	flush := func() error {
		if len(held) == 0 {
			return nil
		}
		page := held
		held = nil
		if err := batch(page); err != nil {
			return handlerError{err}
		}
		return ctx.Err()
	}
	return d.h.follow(ctx, max(format.GroupOf(from), d.h.first()), func(g *format.Group) error {
		for _, r := range g.Frames {
			if r.Seq >= from {
				held = append(held, storedDelivery(r))
			}
		}
		if end, _ := d.h.end(); g.Seq < end.Seq && len(held) < followBatch {
			return nil
		}
		return flush()
	})
}

// follow hands the shard's groups from a sequence on to each, until ctx ends or each fails with a handlerError.
func (h *shard) follow(ctx context.Context, next uint64, each func(*format.Group) error) error {
	for {
		end, grown := h.end()
		if next > end.Seq {
			select {
			case <-grown:
				continue
			case <-h.s.gone:
				return fmt.Errorf("eventstore: reading %s: %w", h.name(), nats.ErrConnectionClosed)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		through, err := h.hand(ctx, next, end.Seq, each)
		if err != nil {
			var failed handlerError
			switch {
			case errors.As(err, &failed):
				return failed.error
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.Is(err, ErrDropped): // by another process, which did not wait for this reader
				next = max(through, h.first())
				continue
			case errors.Is(err, ErrUnhealthy):
				return err
			case h.s.nc.IsClosed():
				return fmt.Errorf("eventstore: reading %s: %w", h.name(), nats.ErrConnectionClosed)
			}
			h.s.log.Debug().Err(err).Int("shard", h.n).Uint64("next", through).Msg("reading the log broke; going on")
			if err := jetapi.Pause(ctx, resubscribePause); err != nil {
				return err
			}
		}
		next = through
	}
}
