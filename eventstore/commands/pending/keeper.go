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
	At int64 // in microseconds: a turn on the wheel, or a time since 1970
	ID string
}

var beforeAll = Place{At: math.MinInt64}

// Item is an entry of a list.
type Item struct {
	Place   // ID is the aggregate's
	Account domain.AccountID
}

var endOfTime = time.UnixMicro(math.MaxInt64)

// Turns select the operations with turns From to Through on the wheel, both included. Of these, only operations
// requested no later than Requested, or later than Ahead (if set): such a request shows that the clock was set back.
type Turns struct {
	From, Through    int64
	Requested, Ahead time.Time
}

// Views are the lists of pending work in the views of this node. Each method returns at most limit entries after a place.
type Views interface {
	// OpenOperations lists the payments with an open operation at a processor, by the turn of the first open operation.
	OpenOperations(ctx context.Context, name processor.Name, turns Turns, after Place, limit int) ([]Item, error)
	// ExpiredActions lists the payments at a processor whose action expired by now, by expiry.
	ExpiredActions(ctx context.Context, name processor.Name, now time.Time, after Place, limit int) ([]Item, error)
	// WaitingInboxes lists the inboxes with a processor's pending notification that can be applied at now, by arrival, without accounts.
	WaitingInboxes(ctx context.Context, name processor.Name, now time.Time, after Place, limit int) ([]Item, error)
	// DueAttempts lists the payment attempts decided no later than the given time and not completed, by the time of the decision.
	DueAttempts(ctx context.Context, decided time.Time, after Place, limit int) ([]Item, error)
}

// Commands carry out the work. Repeated and concurrent calls are safe.
type Commands interface {
	Recover(ctx context.Context, account domain.AccountID, id domain.PaymentID) error
	ApplyPendingNotifications(ctx context.Context, reference domain.PaymentID) error
	RecoverAttempt(ctx context.Context, account domain.AccountID, id domain.AttemptID) error
}

// Keeper finds pending work in the views and passes it to Commands.
type Keeper struct {
	Views    Views
	Commands Commands
	Patience time.Duration // age at which this process asks about another process's operation
	Actions  time.Duration // the time limit of actions; 0: ignore actions ahead of the clock
	Every    time.Duration // interval for inboxes and attempts
	// Lost counts the losses of other nodes; a nil func means a single node.
	Lost func() uint64
	// LeftPayment and LeftAttempt report whether another node that is gone wrote the last event of a payment, or of a payment attempt.
	// They are called after a loss.
	LeftPayment, LeftAttempt func(context.Context, Item) bool
	Now                      func() time.Time
	Logger                   zerolog.Logger
}

// Run works until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	var loops sync.WaitGroup
	for _, name := range processor.Names {
		loops.Go(func() { k.operations(ctx, name) })
		loops.Go(func() { k.actions(ctx, name) })
		loops.Go(func() { k.inboxes(ctx, name) })
	}
	loops.Go(func() { k.attempts(ctx) })
	loops.Wait()
}

// operations asks one processor about its operations: about all of them at the start, then about each at its turn.
func (k *Keeper) operations(ctx context.Context, name processor.Name) {
	start := k.now()
	hand, begun := start.Add(-Round), false
	k.loop(ctx, operationsAtOnce, min(k.Every, lookMost), func(crew *crew, lost bool) error {
		if lost {
			if err := k.leftOperations(ctx, crew, name); err != nil {
				return err
			}
		}
		to := start
		if begun {
			to = k.now().Add(-k.Patience)
		}
		// The hand is more than a Round late, or the clock was set back.
		if from := to.Add(-Round); hand.Before(from) || hand.Sub(to) > lookMost {
			hand = from
		}
		if err := k.eachOpen(ctx, crew, name, hand, to, k.now().Add(k.Patience), k.recoverPayment); err != nil {
			return err
		}
		if hand = to; !begun {
			begun, hand = true, start.Add(-k.Patience)
		}
		return nil
	})
}

// eachOpen passes a processor's open operations to the crew: those with a turn in (from, to] that were requested by to, or after ahead.
func (k *Keeper) eachOpen(ctx context.Context, crew *crew, name processor.Name, from, to, ahead time.Time, do func(context.Context, Item)) error {
	for _, turns := range turnsOf(from, to) {
		turns.Requested, turns.Ahead = to, ahead
		if err := k.each(ctx, crew, Place{At: turns.From}, do, func(after Place) ([]Item, error) {
			return k.Views.OpenOperations(ctx, name, turns, after, pageSize)
		}); err != nil {
			return err
		}
	}
	return nil
}

// maxSkew is how far the clock of a node may be off for its operations to be found at its loss. The wheel finds the others.
const maxSkew = 2 * time.Minute

// leftOperations asks about the operations whose newest event a lost node wrote, however young: nobody else asks about them.
func (k *Keeper) leftOperations(ctx context.Context, crew *crew, name processor.Name) error {
	to := k.now().Add(maxSkew)
	return k.eachOpen(ctx, crew, name, to.Add(-min(k.Patience+2*maxSkew, Round)), to, endOfTime, func(ctx context.Context, i Item) {
		if k.LeftPayment(ctx, i) {
			k.recoverPayment(ctx, i)
		}
	})
}

// actions ends the expired actions at one processor, and repeats that once every Round for those that did not end. If the clock was set
// back, earlier actions can expire later than a new action would: it takes these actions, too.
func (k *Keeper) actions(ctx context.Context, name processor.Name) {
	var again due.Time
	var seen Place
	var last time.Time
	k.loop(ctx, actionsAtOnce, min(k.Every, lookMost), func(crew *crew, _ bool) error {
		now := k.now()
		if again.Over(now) || now.Before(last) {
			if err := k.aheadActions(ctx, crew, name, now); err != nil {
				return err
			}
			seen, again = beforeAll, due.In(now, Round)
		}
		last = now
		return k.each(ctx, crew, seen, k.recoverPayment, func(after Place) ([]Item, error) {
			page, err := k.Views.ExpiredActions(ctx, name, now, after, pageSize)
			if len(page) > 0 {
				seen = page[len(page)-1].Place
			}
			return page, err
		})
	})
}

// aheadActions recovers the payments whose actions expire later than an action that is required now.
func (k *Keeper) aheadActions(ctx context.Context, crew *crew, name processor.Name, now time.Time) error {
	if k.Actions == 0 {
		return nil
	}
	return k.each(ctx, crew, Place{At: now.Add(k.Actions).UnixMicro()}, k.recoverPayment, func(after Place) ([]Item, error) {
		return k.Views.ExpiredActions(ctx, name, endOfTime, after, pageSize)
	})
}

func (k *Keeper) recoverPayment(ctx context.Context, i Item) {
	if err := k.Commands.Recover(ctx, i.Account, domain.PaymentID(i.ID)); err != nil && ctx.Err() == nil {
		k.Logger.Debug().Err(err).Str("payment", i.ID).Msg("payment not recovered; trying again")
	}
}

// inboxes applies a processor's pending notifications: after a crash, or when this node learns of their payment later (D14.6).
func (k *Keeper) inboxes(ctx context.Context, name processor.Name) {
	k.loop(ctx, inboxesAtOnce, k.Every, func(crew *crew, _ bool) error {
		now := k.now()
		return k.each(ctx, crew, beforeAll, k.applyNotices, func(after Place) ([]Item, error) {
			return k.Views.WaitingInboxes(ctx, name, now, after, pageSize)
		})
	})
}

func (k *Keeper) applyNotices(ctx context.Context, i Item) {
	if err := k.Commands.ApplyPendingNotifications(ctx, domain.PaymentID(i.ID)); err != nil && ctx.Err() == nil {
		k.Logger.Debug().Err(err).Str("payment", i.ID).Msg("notification still pending")
	}
}

// attempts completes decisions about payment attempts after a crash (§3.3). A decision that cannot be completed now,
// for example because no processor is enabled, is tried again later. A decision ahead of the clock is completed at
// once: the clock was set back, and its age is unknown.
func (k *Keeper) attempts(ctx context.Context) {
	patience := time.Duration(0)
	k.loop(ctx, 1, k.Every, func(crew *crew, lost bool) error {
		if lost {
			if err := k.eachAttempt(ctx, crew, beforeAll, endOfTime, func(ctx context.Context, i Item) {
				if k.LeftAttempt(ctx, i) {
					k.recoverAttempt(ctx, i)
				}
			}); err != nil {
				return err
			}
		}
		now := k.now()
		decided := now.Add(-patience)
		patience = k.Patience
		if err := k.eachAttempt(ctx, crew, Place{At: now.Add(patience).UnixMicro()}, endOfTime, k.recoverAttempt); err != nil {
			return err
		}
		return k.eachAttempt(ctx, crew, beforeAll, decided, k.recoverAttempt)
	})
}

func (k *Keeper) eachAttempt(ctx context.Context, crew *crew, after Place, decided time.Time, do func(context.Context, Item)) error {
	return k.each(ctx, crew, after, do, func(after Place) ([]Item, error) {
		return k.Views.DueAttempts(ctx, decided, after, pageSize)
	})
}

func (k *Keeper) recoverAttempt(ctx context.Context, i Item) {
	if err := k.Commands.RecoverAttempt(ctx, i.Account, domain.AttemptID(i.ID)); err != nil && ctx.Err() == nil {
		k.Logger.Warn().Err(err).Str("paymentAttempt", i.ID).Msg("decision not carried out; trying again")
	}
}

// now returns the time by the clock, without a monotonic reading: it is compared with the times of records.
func (k *Keeper) now() time.Time { return k.Now().Round(0) }

// loop calls look at once, then periodically until ctx ends, and soon after the loss of another node: lost is true until it succeeds. The crew
// of look does atOnce jobs concurrently; loop returns when they have ended.
func (k *Keeper) loop(ctx context.Context, atOnce int, every time.Duration, look func(crew *crew, lost bool) error) {
	crew := &crew{places: make(chan struct{}, atOnce)}
	defer crew.running.Wait()
	step := min(every, lookMost)
	tick := time.NewTicker(step)
	defer tick.Stop()
	var seen uint64
	if k.Lost != nil {
		seen = k.Lost()
	}
	for next := time.Now(); ctx.Err() == nil; {
		losses := seen
		if k.Lost != nil {
			losses = k.Lost()
		}
		if losses != seen || !time.Now().Before(next) {
			next = time.Now().Add(every - step/2) // a tick is never exact
			if err := look(crew, losses != seen); err == nil {
				seen = losses
			} else if ctx.Err() == nil {
				k.Logger.Warn().Err(err).Msg("search for pending work failed; trying again")
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// each passes every entry of a list after a place to the crew. It returns when the last job has begun.
func (k *Keeper) each(ctx context.Context, crew *crew, after Place, do func(context.Context, Item), list func(Place) ([]Item, error)) error {
	for {
		page, err := list(after)
		if err != nil {
			return err
		}
		for _, item := range page {
			if err := crew.do(ctx, func() { do(ctx, item) }); err != nil {
				return err
			}
		}
		if len(page) < pageSize {
			return nil
		}
		after = page[len(page)-1].Place
	}
}

// crew runs a limited number of jobs concurrently. Without a job it has no goroutine.
type crew struct {
	places  chan struct{}
	running sync.WaitGroup
}

// do starts a job as soon as there is room, unless ctx ends first.
func (c *crew) do(ctx context.Context, job func()) error {
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
