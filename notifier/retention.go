package notifier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/due"
	"payledger/notifier/delivery"
	"payledger/projections/deliveries"
)

// DefaultRetention is the default time for which finished deliveries are kept (I1).
const DefaultRetention = 90 * 24 * time.Hour

const (
	retainEvery = time.Hour
	// A segment that does not fill up is closed after retention/closeShare: deliveries are kept at
	// most that much longer.
	closeShare = 8
)

func (l *AttemptLog) retain(ctx context.Context) {
	for {
		err := l.dropOld(ctx, l.Retention)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			l.Notifier.health.Clear(retentionProblem)
		case l.Notifier.health.Set(retentionProblem, err):
			l.Notifier.Logger.Error().Err(err).Msg("old deliveries cannot be dropped; trying again")
		}
		if due.Rest(ctx, min(retainEvery, l.Retention/closeShare), nil) != nil {
			return
		}
	}
}

// dropOld drops every segment whose newest record is older than the retention, and first completes
// drops of earlier processes.
func (l *AttemptLog) dropOld(ctx context.Context, retention time.Duration) error {
	for {
		if err := l.sweep(ctx); err != nil {
			return err
		}
		oldest, open, err := l.stream.Segments(ctx)
		if err != nil {
			return err
		}
		now := l.Now()
		if open.First > 0 && now.Sub(open.Oldest) > retention/closeShare {
			l.stream.CloseSegment(open.Number)
		}
		if !oldest.Closed || now.Sub(oldest.Newest) <= retention {
			return nil
		}
		err = l.drop(ctx, oldest, l.Notifier.savePosition(ctx))
		if errors.Is(err, deliverylog.ErrDropped) || errors.Is(err, eventstore.ErrConflict) { // another node was faster
			return nil
		}
		if errors.Is(err, deliverylog.ErrHeld) || errors.Is(err, errUnplanned) { // the next call tries again
			l.Notifier.Logger.Info().Err(err).Msg("old deliveries are dropped later")
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (l *AttemptLog) sweep(ctx context.Context) error {
	if l.stream.Floor().Seq == 0 {
		return nil
	}
	if _, err := l.waitForIndex(ctx); err != nil {
		return err
	}
	return l.stream.Sweep(ctx)
}

var errUnplanned = errors.New("notifier: the position has not passed an event of the segment")

// drop drops a segment in the steps of doc.go. planned is the durable position: after the drop,
// events up to it are not planned again.
func (l *AttemptLog) drop(ctx context.Context, s deliverylog.Segment, planned []uint64) error {
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
	if err := l.Index.WaitFor(ctx, s.Last); err != nil {
		return err
	}
	floor, err := l.stream.Drop(ctx, s.Number, s.Newest, planned)
	if err != nil {
		return err
	}
	l.Notifier.Logger.Info().Uint32("segment", floor.Segment).Time("newest", floor.Newest).Uint64("records", floor.Records).Msg("old deliveries were dropped")
	return nil
}

// copyForward writes an open record again at the end of the stream, closed if no replay needs it.
// It holds the delivery's lock, so this process makes no attempt.
func (l *AttemptLog) copyForward(ctx context.Context, stored deliverylog.Record) error {
	unlock, ok := l.Notifier.locks.lock(ctx, stored.Name)
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
	l.Notifier.lanes.of(d.Lane()).moved(stored.Seq, place, d)
	return nil
}

func errDropped(row deliveries.Row) error {
	err := domain.Refuse(domain.KindInvalid, domain.ReasonRequestValidation,
		"The delivery is older than the retention period: its attempts were dropped, and it cannot be sent again.")
	err.Recovery = "The events are kept for ever: GET /events."
	if row.Aggregate == "payment" {
		err.Recovery = "The events are kept for ever: GET /payments/" + row.AggregateID + "/events."
	}
	return err
}
