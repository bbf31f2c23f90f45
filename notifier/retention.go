package notifier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/notifier/delivery"
	"payledger/notifier/health"
)

// DefaultRetention is the default time for which finished deliveries are kept (I1).
const DefaultRetention = 90 * 24 * time.Hour

const (
	// retainEvery is the longest time between two searches for segments to drop.
	retainEvery = time.Hour
	// A segment that does not fill up is closed after retention/closeShare. Deliveries are kept at most that much longer
	// than the retention.
	closeShare = 8
)

// retentionProblem is the name of problems with dropping old deliveries, in Notifier.health.
const retentionProblem = "retention of deliveries"

func (l *DeliveryLog) retain(ctx context.Context) {
	for {
		err := l.dropOld(ctx, l.retention)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			l.notifier.health.Clear(retentionProblem)
		case l.notifier.health.Set(retentionProblem, err):
			l.log.Error().Err(err).Msg("old deliveries cannot be dropped; trying again")
		}
		if !health.Pause(ctx, min(retainEvery, l.retention/closeShare)) {
			return
		}
	}
}

// dropOld drops every segment of deliveries whose newest record is older than the retention. It first completes drops that
// an earlier process began.
func (l *DeliveryLog) dropOld(ctx context.Context, retention time.Duration) error {
	for {
		if err := l.sweep(ctx); err != nil {
			return err
		}
		oldest, open, err := l.stream.Segments(ctx)
		if err != nil {
			return err
		}
		now := l.now()
		if open.First > 0 && now.Sub(open.Oldest) > retention/closeShare {
			l.stream.CloseSegment(open.Number)
		}
		if !oldest.Closed || now.Sub(oldest.Newest) <= retention {
			return nil
		}
		err = l.drop(ctx, oldest, l.notifier.savePosition(ctx))
		if errors.Is(err, deliverylog.ErrDropped) || errors.Is(err, eventstore.ErrConflict) { // another process was faster
			return nil
		}
		if errors.Is(err, deliverylog.ErrHeld) || errors.Is(err, errUnplanned) { // the next call tries again
			l.log.Info().Err(err).Msg("old deliveries are dropped later")
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// sweep deletes the streams of dropped segments after the index shows all records.
func (l *DeliveryLog) sweep(ctx context.Context) error {
	if l.stream.Floor().Seq == 0 {
		return nil
	}
	if _, err := l.waitForIndex(ctx); err != nil {
		return err
	}
	return l.stream.Sweep(ctx)
}

// errUnplanned means that a segment has a delivery of an event that the position has not passed.
var errUnplanned = errors.New("notifier: the position has not passed an event of the segment")

// drop drops a segment. It copies the open deliveries forward, checks that planned, the durable position, has passed the
// events of all deliveries, and waits until the index shows all of the segment. Then it records the floor: events up to
// planned plan nothing any more.
func (l *DeliveryLog) drop(ctx context.Context, s deliverylog.Segment, planned []uint64) error {
	err := l.stream.Each(ctx, s.Number, func(stored deliverylog.Record, open bool) error {
		if open {
			if err := l.copyForward(ctx, stored); err != nil {
				return err
			}
		}
		if !stored.IsDelivery() {
			return nil
		}
		d, err := delivery.Decode(stored)
		if err == nil && (d.Shard >= len(planned) || d.Seq > planned[d.Shard]) {
			err = fmt.Errorf("%w: %s", errUnplanned, stored.Name)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := l.index.WaitFor(ctx, s.Last); err != nil {
		return err
	}
	floor, err := l.stream.Drop(ctx, s.Number, s.Newest, planned)
	if err != nil {
		return err
	}
	l.log.Info().Uint32("segment", floor.Segment).Time("newest", floor.Newest).Uint64("records", floor.Records).Msg("old deliveries were dropped")
	return nil
}

// copyForward writes an open record, the newest of its name, again at the end of the stream. It holds the delivery's lock, so
// no attempt is under way.
func (l *DeliveryLog) copyForward(ctx context.Context, stored deliverylog.Record) error {
	unlock, ok := l.notifier.locks.lock(ctx, stored.Name)
	if !ok {
		return ctx.Err()
	}
	defer unlock()
	open, err := l.replays.Needs(ctx, stored)
	if err != nil {
		return err
	}
	place, err := l.stream.Put(ctx, stored.Name, stored.Seq, stored.Body, open)
	if errors.Is(err, eventstore.ErrConflict) { // the delivery has a newer record
		return nil
	}
	if err != nil || !stored.IsDelivery() {
		return err
	}
	d, err := delivery.Decode(stored)
	if err != nil {
		return err
	}
	l.notifier.lanes.of(d.Lane()).moved(stored.Seq, place, d)
	return nil
}

func errDropped() error {
	err := domain.Refuse(domain.KindInvalid, domain.ReasonRequestValidation,
		"The delivery is older than deliveries are kept: its attempts were dropped, and it cannot be sent again.")
	err.Recovery = "The events are kept for ever: GET /payments/{id}/events."
	return err
}
