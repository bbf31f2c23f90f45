package notifier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/notifier/delivery"
	"payledger/notifier/health"
)

// DefaultRetention is how long finished deliveries are kept (I1).
const DefaultRetention = 90 * 24 * time.Hour

const (
	// retainEvery is how often it is looked whether a segment of deliveries can be dropped; more often if the retention is
	// short.
	retainEvery = time.Hour
	// closeShare is the share of the retention after which a segment that has not grown full is closed: so long are
	// deliveries kept beyond the retention at most.
	closeShare = 8
)

// retentionProblem names the dropping of old deliveries among the troubles of a notifier.
const retentionProblem = "retention of deliveries"

// retain drops old deliveries until ctx ends.
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

// dropOld drops every segment of deliveries whose newest record is older than the retention, and completes what an
// earlier process began.
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
		err = l.drop(ctx, oldest, l.notifier.positionWriter.save(ctx))
		if errors.Is(err, eventstore.ErrDropped) || errors.Is(err, eventstore.ErrConflict) { // another process was faster
			return nil
		}
		if errors.Is(err, eventstore.ErrHeld) || errors.Is(err, errUnplanned) { // by what goes on meanwhile: next time
			l.log.Info().Err(err).Msg("old deliveries are dropped later")
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// sweep removes the dropped segments after the index has caught up.
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

// drop drops a segment. First it copies the open deliveries forward; then the index shows all of the segment, and the
// durable position (planned) has passed all of its events. That position becomes the watermark: events up to it plan
// nothing any more.
func (l *DeliveryLog) drop(ctx context.Context, s eventstore.RecordSegment, planned []uint64) error {
	err := l.stream.Each(ctx, s.Number, func(stored eventstore.StoredDelivery, open bool) error {
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

// copyForward writes an open record, the newest of its name, again at the end of the stream. No attempt of the delivery
// is under way meanwhile.
func (l *DeliveryLog) copyForward(ctx context.Context, stored eventstore.StoredDelivery) error {
	unlock, ok := l.notifier.locks.lock(ctx, stored.Name)
	if !ok {
		return ctx.Err()
	}
	defer unlock()
	place, err := l.stream.Put(ctx, stored.Name, stored.Seq, stored.Body, true)
	if errors.Is(err, eventstore.ErrConflict) { // it went on
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

// errDropped refuses to send a dropped delivery again.
func errDropped() error {
	err := domain.Refuse(domain.KindInvalid, domain.ReasonRequestValidation,
		"The delivery is older than deliveries are kept: its attempts were dropped, and it cannot be sent again.")
	err.Recovery = "The events are kept for ever: GET /payments/{id}/events."
	return err
}

func retentionOf(d time.Duration) time.Duration { return cmp.Or(d, DefaultRetention) }
