package notifier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/notifier/delivery"
	"payledger/notifier/message"
	"payledger/notifier/replay"
	"payledger/projections/deliveries"
	"payledger/projections/listing"
)

// DefaultReplayRate is the number of deliveries a second of all replays together. It is low:
// replays must not slow down live webhooks.
const DefaultReplayRate = 200

// readTime bounds the wait for the index and the reading of one answer.
const readTime = 10 * time.Second

// AttemptLogConfig is the configuration of an attempt log.
type AttemptLogConfig struct {
	Notifier   *Notifier
	Index      *deliveries.Index
	Now        func() time.Time
	ReplayRate float64       // deliveries per second, of all replays together; 0: DefaultReplayRate
	Retention  time.Duration // for which finished deliveries are kept; 0: DefaultRetention
	// Lagged, if set, gets the time from the writing of each record to its being in the index: of
	// records since Run began. It must not block.
	Lagged func(time.Duration)
}

// AttemptLog is the attempt log: it lists deliveries with their attempts, and sends them again
// (D18, D20). It reads only while Run runs.
type AttemptLog struct {
	AttemptLogConfig
	stream  *deliverylog.Stream
	replays *replay.Replayer
	began   time.Time // of Run
}

// OpenAttemptLog opens the attempt log of a notifier. It empties an index of another stream.
func OpenAttemptLog(ctx context.Context, c AttemptLogConfig) (*AttemptLog, error) {
	c.Retention = cmp.Or(c.Retention, DefaultRetention)
	l := &AttemptLog{AttemptLogConfig: c, stream: c.Notifier.Store.Deliveries()}
	var err error
	l.replays, err = replay.New(replay.Config{
		Store: c.Notifier.Store, Stream: l.stream, Notifier: c.Notifier, Endpoint: c.Notifier.messages.Endpoint,
		Index: c.Index, WaitForIndex: l.waitForIndex, Health: c.Notifier.health, Now: c.Now, Random: c.Notifier.Random, Log: c.Notifier.Logger,
		PerSecond: cmp.Or(c.ReplayRate, DefaultReplayRate), Grace: c.Notifier.Grace, Ownership: c.Notifier.ownership,
	})
	if err != nil {
		return nil, err
	}
	return l, l.resetIfForeign(ctx)
}

// Run updates the index, continues replays and drops old deliveries until ctx ends (nil), or until
// a record cannot be read. In that case the notifier is not healthy, and List returns an error. The
// next start continues the replays.
func (l *AttemptLog) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	l.began = l.Now()
	var running sync.WaitGroup
	running.Go(func() { l.replays.Run(ctx) })
	running.Go(func() { l.retain(ctx) })
	err := l.follow(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	if err != nil {
		l.Notifier.health.Set(indexProblem, err)
		l.Notifier.Logger.Error().Err(err).Msg("the index of deliveries stands still")
	}
	stop()
	l.Index.Stop(err)
	running.Wait()
	return err
}

// List returns a page of an account's deliveries, newest first, after the place from; nil: from the
// newest on. The page has every record that was durable before the call.
func (l *AttemptLog) List(ctx context.Context, owner domain.AccountID, f deliveries.Filter, from *listing.Place, limit int) (page listing.Page[deliveries.Row], err error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	floor := l.stream.Floor() // before waitForIndex: then the index has the newer place of every copied record
	if _, err := l.waitForIndex(ctx); err != nil {
		return page, deliveries.Unreadable(err)
	}
	page, err = l.Index.List(ctx, owner, f, from, limit)
	if err != nil {
		return page, deliveries.Unreadable(err)
	}
	for i := range page.Data {
		page.Data[i].Dropped = floor.Covers(page.Data[i].Seq)
	}
	return page, nil
}

// Counts counts an account's deliveries that were planned in a period. It counts every record
// that was durable before the call.
func (l *AttemptLog) Counts(ctx context.Context, owner domain.AccountID, p deliveries.Period) (deliveries.Statistics, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	_, err := l.waitForIndex(ctx)
	var found deliveries.Statistics
	if err == nil {
		found, err = l.Index.Statistics(ctx, owner, p)
	}
	if err != nil {
		return found, deliveries.Unreadable(err)
	}
	return found, nil
}

// Delivery returns one delivery with its attempts and its body. A dropped delivery has neither;
// that of a deleted endpoint has no body. A delivery that is unknown or belongs to another account
// is EntityNotFound.
func (l *AttemptLog) Delivery(ctx context.Context, owner domain.AccountID, id string) (deliveries.Detail, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	row, err := l.row(ctx, owner, id)
	if err != nil {
		return deliveries.Detail{}, err
	}
	d, detail, err := l.detail(ctx, row)
	if err != nil || detail.Dropped {
		return detail, err
	}
	if detail.Body, err = l.body(ctx, d); err != nil {
		return deliveries.Detail{}, deliveries.Unreadable(err)
	}
	return detail, nil
}

// body renders the body of a delivery with the time of the newest attempt, or now if there is none;
// nil if the endpoint is deleted.
func (l *AttemptLog) body(ctx context.Context, d delivery.Delivery) ([]byte, error) {
	at := l.Now()
	if n := len(d.Attempts); n > 0 {
		at = d.Attempts[n-1].StartedAt
	}
	body, err := l.Notifier.messages.Body(ctx, d, at)
	if errors.Is(err, message.ErrNoEndpoint) {
		return nil, nil
	}
	return body, err
}

// Records is DeliveryReader.Records for the deliveries of an account. A place that no record has is
// EntityNotFound.
func (l *AttemptLog) Records(ctx context.Context, owner domain.AccountID, after uint64, limit int, emit func(deliveries.Recorded) error) (uint64, error) {
	next, err := DeliveryReader{l.stream}.Records(ctx, owner, after, limit, emit)
	if errors.Is(err, ErrNoPlace) {
		err := domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "No record of a webhook delivery has this place yet.")
		err.Recovery = "Name the place of a record that you have read, or 0 to begin with the first record."
		return 0, err
	}
	return next, err
}

// Resend is Notifier.ResendOnce, and returns the delivery after it (D18). A repeat with the same
// key records nothing.
func (l *AttemptLog) Resend(ctx context.Context, owner domain.AccountID, id string, q deliveries.ResendRequest) (deliveries.Detail, error) {
	row, err := l.row(ctx, owner, id)
	if err != nil {
		return deliveries.Detail{}, err
	}
	var refused error
	err = l.Notifier.ResendOnce(ctx, owner, row.Name, q.Key, func(ctx context.Context) error {
		if q.Record != nil {
			refused = q.Record(ctx, row)
		}
		return refused
	})
	if refused != nil {
		return deliveries.Detail{}, refused
	}
	if err != nil {
		return deliveries.Detail{}, resendError(row, err)
	}
	_, detail, err := l.detail(ctx, row)
	return detail, err
}

// row returns a delivery's row by its id. It waits for the index if the index does not have the id
// yet.
func (l *AttemptLog) row(ctx context.Context, owner domain.AccountID, id string) (deliveries.Row, error) {
	row, found, err := l.Index.Find(ctx, owner, id)
	if err == nil && !found {
		if _, err = l.waitForIndex(ctx); err == nil {
			row, found, err = l.Index.Find(ctx, owner, id)
		}
	}
	if err != nil {
		return row, deliveries.Unreadable(err)
	}
	if !found {
		return row, domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "There is no webhook delivery of this id.")
	}
	return row, nil
}

func (l *AttemptLog) detail(ctx context.Context, row deliveries.Row) (delivery.Delivery, deliveries.Detail, error) {
	stored, d, err := l.Notifier.last(ctx, row.Name)
	if errors.Is(err, eventstore.ErrNotFound) { // the index has the delivery, so its record was dropped
		row.Dropped = true
		return d, deliveries.Detail{Row: row}, nil
	}
	if err != nil {
		return d, deliveries.Detail{}, deliveries.Unreadable(err)
	}
	return d, detailOf(stored.Seq, d), nil
}

// StartReplay counts the webhooks of a replay, and starts the replay unless dry is set
// (replay.Replayer.Start).
func (l *AttemptLog) StartReplay(ctx context.Context, q deliveries.ReplayRequest, dry bool) (deliveries.Replay, error) {
	return l.replays.Start(ctx, q, dry)
}

// Replay returns a replay's progress. A replay that is unknown or belongs to another account is
// EntityNotFound.
func (l *AttemptLog) Replay(ctx context.Context, owner domain.AccountID, id string) (deliveries.Replay, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	return l.replays.Find(ctx, owner, id)
}

// waitForIndex waits until the index shows every record that is in the stream now. It returns the
// place of the last one.
func (l *AttemptLog) waitForIndex(ctx context.Context) (uint64, error) {
	end, err := l.stream.End(ctx)
	if err != nil {
		return 0, err
	}
	return end, l.Index.WaitFor(ctx, end)
}

func resendError(row deliveries.Row, err error) error {
	switch {
	case errors.Is(err, eventstore.ErrNotFound): // the index has the delivery, so its record was dropped
		return errDropped(row)
	case errors.Is(err, delivery.ErrMaxManual):
		err := domain.Refuse(domain.KindInvalid, domain.ReasonRequestValidation, "The delivery was resent %d times, which is the limit.", delivery.MaxManual)
		err.Recovery = "Read the webhook's content at GET /management/webhook-deliveries/" + row.ID + ", or create another endpoint and send it the events with POST /management/webhook-replays."
		return err
	case errors.Is(err, message.ErrNoEndpoint):
		err := domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "The delivery's webhook endpoint was deleted.")
		err.Recovery = "Create an endpoint with POST /management/webhook-endpoints, and send it the events with POST /management/webhook-replays."
		return err
	case errors.Is(err, message.ErrDisabled):
		err := domain.Refuse(domain.KindInvalid, domain.ReasonRequestValidation, "The delivery's webhook endpoint is disabled.")
		err.Recovery = "Enable the endpoint with PATCH /management/webhook-endpoints/" + string(row.Endpoint) + ", then send the delivery again."
		return err
	}
	return &domain.Error{
		Kind: domain.KindUnavailable, Reason: domain.ReasonServiceUnavailable,
		Message: "The webhook was not sent, or its outcome could not be recorded.", Recovery: "GET /management/webhook-deliveries/" + row.ID + " shows its attempts.",
		Err: fmt.Errorf("resend: %w", err),
	}
}
