package notifier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/notifier/message"
	"payledger/projections/deliveries"
)

// DefaultReplayRate is the number of deliveries that all replays together send per second. It is low, so that replays do
// not slow down live webhooks.
const DefaultReplayRate = 200

// readTime bounds the wait for the index and the reading of one answer.
const readTime = 10 * time.Second

// DeliveryLogConfig is the configuration of an attempt log.
type DeliveryLogConfig struct {
	Notifier   *Notifier
	Store      *eventstore.Store
	Index      *deliveries.Index
	Now        func() time.Time
	Random     io.Reader
	Logger     zerolog.Logger
	ReplayRate float64 // deliveries per second, of all replays together; 0: DefaultReplayRate
	// Retention is the time for which finished deliveries are kept; 0: DefaultRetention.
	Retention time.Duration
}

// DeliveryLog is the attempt log for merchants and operators: it lists deliveries with their attempts, and sends them
// again, one by one or by range (D18, D20). Reads work only while Run runs.
type DeliveryLog struct {
	notifier      *Notifier
	store         *eventstore.Store
	stream        records
	index         *deliveries.Index
	now           func() time.Time
	random        io.Reader
	log           zerolog.Logger
	pace          *rate.Limiter
	runner        string // the id of this process, in its records of replays
	retention     time.Duration
	counting      chan struct{} // holds a token while a replay's range is counted: one at a time
	firstAttempts firstAttempts

	mu      sync.Mutex
	context context.Context // of the replays; nil before Run
	cut     context.Context // ends later than context, so that attempts in flight can finish
	active  map[string]bool // replays that run here, by name
	running sync.WaitGroup
}

// OpenDeliveryLog opens the attempt log of a notifier. It empties an index of another stream.
func OpenDeliveryLog(ctx context.Context, c DeliveryLogConfig) (*DeliveryLog, error) {
	stream, err := openRecords(ctx, c.Store)
	if err != nil {
		return nil, err
	}
	runner, err := eventstore.NewUUID(c.Random)
	if err != nil {
		return nil, err
	}
	perSecond := cmp.Or(c.ReplayRate, DefaultReplayRate)
	l := &DeliveryLog{
		notifier: c.Notifier, store: c.Store, stream: stream, index: c.Index, now: c.Now, random: c.Random, log: c.Logger,
		pace: rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond/20))), runner: runner,
		retention: retentionOf(c.Retention), counting: make(chan struct{}, 1), active: map[string]bool{},
	}
	return l, l.resetIfForeign(ctx)
}

// Run updates the index, continues replays and drops old deliveries until ctx ends (nil), or until a record cannot be read.
// In that case the notifier is not healthy, and List returns an error. The next start continues the replays.
func (l *DeliveryLog) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	l.enter(ctx)
	l.running.Go(func() { l.resume(ctx) })
	l.running.Go(func() { l.retain(ctx) })
	err := l.follow(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	if err != nil {
		l.notifier.health.Set(indexProblem, err)
		l.log.Error().Err(err).Msg("the index of deliveries stands still")
	}
	l.leave(stop)
	l.index.Stop(err)
	l.firstAttempts.stop()
	l.running.Wait()
	return err
}

// List returns a page of an account's deliveries, newest first, after the place from; nil: from the newest on. The page
// reflects every record that was durable before the call.
func (l *DeliveryLog) List(ctx context.Context, owner domain.AccountID, f deliveries.Filter, from *deliveries.Place, limit int) (deliveries.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	floor := l.stream.Floor() // before waitForIndex: then the index has the newer place of every copied record
	if _, err := l.waitForIndex(ctx); err != nil {
		return deliveries.Page{}, errUnreadable(err)
	}
	page, err := l.index.List(ctx, owner, f, from, limit)
	if err != nil {
		return page, errUnreadable(err)
	}
	for i := range page.Data {
		page.Data[i].Dropped = floor.Covers(page.Data[i].Seq)
	}
	return page, nil
}

// Delivery returns one delivery with its attempts. A dropped delivery has no attempts. A delivery that is unknown or belongs
// to another account is EntityNotFound.
func (l *DeliveryLog) Delivery(ctx context.Context, owner domain.AccountID, id string) (deliveries.Detail, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	row, err := l.row(ctx, owner, id)
	if err != nil {
		return deliveries.Detail{}, err
	}
	return l.detail(ctx, row)
}

// Resend makes one attempt of a delivery now, in any status, and returns the delivery after it (D18). A failing receiver
// is no error.
func (l *DeliveryLog) Resend(ctx context.Context, owner domain.AccountID, id string) (deliveries.Detail, error) {
	row, err := l.row(ctx, owner, id)
	if err != nil {
		return deliveries.Detail{}, err
	}
	if err := l.notifier.Resend(ctx, owner, row.Name); err != nil {
		return deliveries.Detail{}, errNotSent(err)
	}
	return l.detail(ctx, row)
}

// row returns a delivery's row by its id. It waits for the index if the index does not have the id yet.
func (l *DeliveryLog) row(ctx context.Context, owner domain.AccountID, id string) (deliveries.Row, error) {
	row, found, err := l.index.Find(ctx, owner, id)
	if err == nil && !found {
		if _, err = l.waitForIndex(ctx); err == nil {
			row, found, err = l.index.Find(ctx, owner, id)
		}
	}
	if err != nil {
		return row, errUnreadable(err)
	}
	if !found {
		return row, domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "There is no webhook delivery of this id.")
	}
	return row, nil
}

func (l *DeliveryLog) detail(ctx context.Context, row deliveries.Row) (deliveries.Detail, error) {
	stored, d, err := l.notifier.last(ctx, row.Name)
	if errors.Is(err, eventstore.ErrNotFound) { // the index has the delivery, so its record was dropped
		row.Dropped = true
		return deliveries.Detail{Row: row}, nil
	}
	if err != nil {
		return deliveries.Detail{}, errUnreadable(err)
	}
	return detailOf(stored.Seq, d), nil
}

// waitForIndex waits until the index shows every record that is in the stream now. It returns the place of the last one.
func (l *DeliveryLog) waitForIndex(ctx context.Context) (uint64, error) {
	end, err := l.stream.End(ctx)
	if err != nil {
		return 0, err
	}
	return end, l.index.WaitFor(ctx, end)
}

// errUnreadable wraps a failure to read (D3).
func errUnreadable(err error) error {
	return &domain.Error{
		Kind: domain.KindUnavailable, Reason: domain.ReasonServiceUnavailable,
		Message: "The deliveries cannot be read now.", Recovery: "Repeat the request.", Err: err,
	}
}

// errNotSent returns the error of a delivery that could not be sent.
func errNotSent(err error) error {
	switch {
	case errors.Is(err, eventstore.ErrNotFound): // the index has the delivery, so its record was dropped
		return errDropped()
	case errors.Is(err, message.ErrNoEndpoint):
		return account.NoEndpoint()
	case errors.Is(err, message.ErrDisabled):
		err := domain.Refuse(domain.KindInvalid, domain.ReasonRequestValidation, "The delivery's webhook endpoint is disabled.")
		err.Recovery = "Enable the endpoint, then send the delivery again: PATCH /management/webhook-endpoints/{id}."
		return err
	}
	return &domain.Error{
		Kind: domain.KindUnavailable, Reason: domain.ReasonServiceUnavailable,
		Message: "The webhook was not sent, or what became of it could not be recorded.", Recovery: "Read the delivery.",
		Err: fmt.Errorf("resend: %w", err),
	}
}
