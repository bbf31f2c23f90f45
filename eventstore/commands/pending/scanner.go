package pending

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/due"
)

const (
	// Limits of concurrent work for each processor; the package's documentation has the reasons.
	operationsAtOnce = 8
	actionsAtOnce    = 4
	inboxesAtOnce    = 4
	// pageSize is how many entries of a list are in memory.
	pageSize = 256
	// lookMost is the longest interval between two reads of a list.
	lookMost = time.Second
)

// Place is a place in a list ordered by At, then by ID.
type Place struct {
	At int64 // in microseconds: a slot in the Cycle, or a time since 1970
	ID string
}

var beforeAll = Place{At: math.MinInt64}

// Item is an entry of a list.
type Item struct {
	Place   // ID is the aggregate's
	Account domain.AccountID
}

var endOfTime = time.UnixMicro(math.MaxInt64)

// Slots select the operations with slots From to Through in the Cycle, both included. Of these,
// only operations requested no later than Requested, or later than Ahead (if set): such a request
// shows that the clock was set back.
type Slots struct {
	From, Through    int64
	Requested, Ahead time.Time
}

// Views are the lists of pending work in the views of this node. Each method returns at most limit
// entries after a place.
type Views interface {
	// OpenOperations lists the payments with an open operation at a processor, by the slot of the
	// first open operation.
	OpenOperations(ctx context.Context, name processor.Name, slots Slots, after Place, limit int) ([]Item, error)
	// ExpiredActions lists the payments at a processor whose action expired by now, by expiry.
	ExpiredActions(ctx context.Context, name processor.Name, now time.Time, after Place, limit int) ([]Item, error)
	// WaitingInboxes lists the inboxes with a processor's pending notification that can be applied
	// at now, by arrival, without accounts.
	WaitingInboxes(ctx context.Context, name processor.Name, now time.Time, after Place, limit int) ([]Item, error)
	// DueAttempts lists the payment attempts decided no later than the given time and not
	// completed, by the time of the decision.
	DueAttempts(ctx context.Context, decided time.Time, after Place, limit int) ([]Item, error)
}

// Commands carry out the work. Repeated and concurrent calls are safe.
type Commands interface {
	Recover(ctx context.Context, account domain.AccountID, id domain.PaymentID) error
	ApplyPendingNotifications(ctx context.Context, reference domain.PaymentID) error
	RecoverAttempt(ctx context.Context, account domain.AccountID, id domain.AttemptID) error
}

// Scanner finds pending work in the views and passes it to Commands.
type Scanner struct {
	Views    Views
	Commands Commands
	Patience time.Duration // age at which this process asks about another process's operation
	Actions  time.Duration // the time limit of actions; 0: ignore actions ahead of the clock
	Every    time.Duration // interval for inboxes and attempts
	// Lost counts the losses of other nodes; a nil func means a single node.
	Lost func() uint64
	// LeftPayment and LeftAttempt report whether another node that is gone wrote the last event of
	// a payment, or of a payment attempt. They are called after a loss.
	LeftPayment, LeftAttempt func(context.Context, Item) bool
	Now                      func() time.Time
	Logger                   zerolog.Logger
}

// Run works until ctx ends.
func (s *Scanner) Run(ctx context.Context) {
	var loops sync.WaitGroup
	for _, name := range processor.Names {
		loops.Go(func() { s.operations(ctx, name) })
		loops.Go(func() { s.actions(ctx, name) })
		loops.Go(func() { s.inboxes(ctx, name) })
	}
	loops.Go(func() { s.attempts(ctx) })
	loops.Wait()
}

// operations looks up the operations of one processor: all of them at the start, then each at its
// slot.
func (s *Scanner) operations(ctx context.Context, name processor.Name) {
	start := s.now()
	cursor, begun := start.Add(-Cycle), false
	s.loop(ctx, operationsAtOnce, min(s.Every, lookMost), func(pool *pool, lost bool) error {
		if lost {
			if err := s.leftOperations(ctx, pool, name); err != nil {
				return err
			}
		}
		to := start
		if begun {
			to = s.now().Add(-s.Patience)
		}
		// The cursor is more than a Cycle late, or the clock was set back.
		if from := to.Add(-Cycle); cursor.Before(from) || cursor.Sub(to) > lookMost {
			cursor = from
		}
		if err := s.eachOpen(ctx, pool, name, cursor, to, s.now().Add(s.Patience), s.recoverPayment); err != nil {
			return err
		}
		if cursor = to; !begun {
			begun, cursor = true, start.Add(-s.Patience)
		}
		return nil
	})
}

// eachOpen passes a processor's open operations to the pool: those with a slot in (from, to] that
// were requested by to, or after ahead.
func (s *Scanner) eachOpen(ctx context.Context, pool *pool, name processor.Name, from, to, ahead time.Time, do func(context.Context, Item)) error {
	for _, slots := range slotsOf(from, to) {
		slots.Requested, slots.Ahead = to, ahead
		if err := s.each(ctx, pool, Place{At: slots.From}, do, func(after Place) ([]Item, error) {
			return s.Views.OpenOperations(ctx, name, slots, after, pageSize)
		}); err != nil {
			return err
		}
	}
	return nil
}

// maxSkew is how far the clock of a node may be off for its operations to be found at its loss. The
// others are found at their slots.
const maxSkew = 2 * time.Minute

// leftOperations asks about the operations whose newest event a lost node wrote, however young:
// nobody else asks about them.
func (s *Scanner) leftOperations(ctx context.Context, pool *pool, name processor.Name) error {
	to := s.now().Add(maxSkew)
	return s.eachOpen(ctx, pool, name, to.Add(-min(s.Patience+2*maxSkew, Cycle)), to, endOfTime, func(ctx context.Context, i Item) {
		if s.LeftPayment(ctx, i) {
			s.recoverPayment(ctx, i)
		}
	})
}

// actions ends the expired actions at one processor, and repeats that once every Cycle for those
// that did not end. If the clock was set back, earlier actions can expire later than a new action
// would: it takes these actions, too.
func (s *Scanner) actions(ctx context.Context, name processor.Name) {
	var again due.Time
	var seen Place
	var last time.Time
	s.loop(ctx, actionsAtOnce, min(s.Every, lookMost), func(pool *pool, _ bool) error {
		now := s.now()
		if again.Over(now) || now.Before(last) {
			if err := s.aheadActions(ctx, pool, name, now); err != nil {
				return err
			}
			seen, again = beforeAll, due.In(now, Cycle)
		}
		last = now
		return s.each(ctx, pool, seen, s.recoverPayment, func(after Place) ([]Item, error) {
			page, err := s.Views.ExpiredActions(ctx, name, now, after, pageSize)
			if len(page) > 0 {
				seen = page[len(page)-1].Place
			}
			return page, err
		})
	})
}

// aheadActions recovers the payments whose actions expire later than an action that is required
// now.
func (s *Scanner) aheadActions(ctx context.Context, pool *pool, name processor.Name, now time.Time) error {
	if s.Actions == 0 {
		return nil
	}
	return s.each(ctx, pool, Place{At: now.Add(s.Actions).UnixMicro()}, s.recoverPayment, func(after Place) ([]Item, error) {
		return s.Views.ExpiredActions(ctx, name, endOfTime, after, pageSize)
	})
}

func (s *Scanner) recoverPayment(ctx context.Context, i Item) {
	if err := s.Commands.Recover(ctx, i.Account, domain.PaymentID(i.ID)); err != nil && ctx.Err() == nil {
		s.Logger.Debug().Err(err).Str("payment", i.ID).Msg("payment not recovered; trying again")
	}
}

// inboxes applies a processor's pending notifications: after a crash, or when this node learns of
// their payment later (D14.6).
func (s *Scanner) inboxes(ctx context.Context, name processor.Name) {
	s.loop(ctx, inboxesAtOnce, s.Every, func(pool *pool, _ bool) error {
		now := s.now()
		return s.each(ctx, pool, beforeAll, s.applyNotices, func(after Place) ([]Item, error) {
			return s.Views.WaitingInboxes(ctx, name, now, after, pageSize)
		})
	})
}

func (s *Scanner) applyNotices(ctx context.Context, i Item) {
	if err := s.Commands.ApplyPendingNotifications(ctx, domain.PaymentID(i.ID)); err != nil && ctx.Err() == nil {
		s.Logger.Debug().Err(err).Str("payment", i.ID).Msg("notification still pending")
	}
}

// attempts completes decisions about payment attempts after a crash (§3.3). A decision that cannot
// be completed now, for example because no processor is enabled, is tried again later. A decision
// ahead of the clock is completed at once: the clock was set back, and its age is unknown.
func (s *Scanner) attempts(ctx context.Context) {
	patience := time.Duration(0)
	s.loop(ctx, 1, s.Every, func(pool *pool, lost bool) error {
		if lost {
			if err := s.eachAttempt(ctx, pool, beforeAll, endOfTime, func(ctx context.Context, i Item) {
				if s.LeftAttempt(ctx, i) {
					s.recoverAttempt(ctx, i)
				}
			}); err != nil {
				return err
			}
		}
		now := s.now()
		decided := now.Add(-patience)
		patience = s.Patience
		if err := s.eachAttempt(ctx, pool, Place{At: now.Add(patience).UnixMicro()}, endOfTime, s.recoverAttempt); err != nil {
			return err
		}
		return s.eachAttempt(ctx, pool, beforeAll, decided, s.recoverAttempt)
	})
}

func (s *Scanner) eachAttempt(ctx context.Context, pool *pool, after Place, decided time.Time, do func(context.Context, Item)) error {
	return s.each(ctx, pool, after, do, func(after Place) ([]Item, error) {
		return s.Views.DueAttempts(ctx, decided, after, pageSize)
	})
}

func (s *Scanner) recoverAttempt(ctx context.Context, i Item) {
	if err := s.Commands.RecoverAttempt(ctx, i.Account, domain.AttemptID(i.ID)); err != nil && ctx.Err() == nil {
		s.Logger.Warn().Err(err).Str("paymentAttempt", i.ID).Msg("decision not carried out; trying again")
	}
}

// now returns the time by the clock, without a monotonic reading: it is compared with the times of
// records.
func (s *Scanner) now() time.Time { return s.Now().Round(0) }

// loop calls look at once, then periodically until ctx ends, and soon after the loss of another
// node: lost is true until it succeeds. The pool of look does atOnce jobs concurrently; loop
// returns when they have ended.
func (s *Scanner) loop(ctx context.Context, atOnce int, every time.Duration, look func(pool *pool, lost bool) error) {
	pool := &pool{places: make(chan struct{}, atOnce)}
	defer pool.running.Wait()
	step := min(every, lookMost)
	tick := time.NewTicker(step)
	defer tick.Stop()
	var seen uint64
	if s.Lost != nil {
		seen = s.Lost()
	}
	for next := time.Now(); ctx.Err() == nil; {
		losses := seen
		if s.Lost != nil {
			losses = s.Lost()
		}
		if losses != seen || !time.Now().Before(next) {
			next = time.Now().Add(every - step/2) // a tick is never exact
			if err := look(pool, losses != seen); err == nil {
				seen = losses
			} else if ctx.Err() == nil {
				s.Logger.Warn().Err(err).Msg("search for pending work failed; trying again")
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// each passes every entry of a list after a place to the pool. It returns when the last job has
// begun.
func (s *Scanner) each(ctx context.Context, pool *pool, after Place, do func(context.Context, Item), list func(Place) ([]Item, error)) error {
	for {
		page, err := list(after)
		if err != nil {
			return err
		}
		for _, item := range page {
			if err := pool.do(ctx, func() { do(ctx, item) }); err != nil {
				return err
			}
		}
		if len(page) < pageSize {
			return nil
		}
		after = page[len(page)-1].Place
	}
}

// pool runs a limited number of jobs concurrently. Without a job it has no goroutine.
type pool struct {
	places  chan struct{}
	running sync.WaitGroup
}

// do starts a job as soon as there is room, unless ctx ends first.
func (c *pool) do(ctx context.Context, job func()) error {
	select {
	case c.places <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	c.running.Go(func() {
		defer func() { <-c.places }()
		job()
	})
	return nil
}
