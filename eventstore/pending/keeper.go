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
	// operationsAtOnce is how many operations one processor is asked about at once. One that answers within 20 ms is
	// asked about 120,000 operations in a Round.
	operationsAtOnce = 8
	// actionsAtOnce is how many abandoned actions one processor is asked about at once.
	actionsAtOnce = 4
	// inboxesAtOnce is how many inboxes with notifications of one processor are looked at at once.
	inboxesAtOnce = 4
	// pageSize is how many entries of a list are in memory.
	pageSize = 256
	// lookMost is the longest time between two looks at what became due by itself.
	lookMost = time.Second
)

// Place is a place in a list: lists are ordered by At, then by ID.
type Place struct {
	At int64 // microseconds: of a turn, or since 1970
	ID string
}

// first is before everything.
var first = Place{At: math.MinInt64}

// Item is one entry of a list.
type Item struct {
	Place   // ID is the aggregate's
	Account domain.AccountID
}

// always is later than every time.
var always = time.UnixMicro(math.MaxInt64)

// Turns are the turns From to Through of the wheel, both included; of operations that were requested up to a time, or from
// Ahead on, unless that is zero: so far ahead of the clock that it must have been set back since.
type Turns struct {
	From, Through    int64
	Requested, Ahead time.Time
}

// Views are the lists of what waits, as far as this node's views show it. Each gives the entries behind a place, at
// most limit.
type Views interface {
	// OpenOperations lists the payments with an operation at a processor that has no outcome, by the turn of the first one.
	OpenOperations(ctx context.Context, name processor.Name, turns Turns, after Place, limit int) ([]Item, error)
	// ExpiredActions lists the payments at a processor whose action expired by now, by the time at which it did.
	ExpiredActions(ctx context.Context, name processor.Name, now time.Time, after Place, limit int) ([]Item, error)
	// WaitingInboxes lists the inboxes in which a processor's notification waits of which something can be done at now,
	// by the time of its coming. The account is empty.
	WaitingInboxes(ctx context.Context, name processor.Name, now time.Time, after Place, limit int) ([]Item, error)
	// DueAttempts lists the decided payment attempts of which something is left to do, by the time of the decision,
	// which is not later than decided.
	DueAttempts(ctx context.Context, decided time.Time, after Place, limit int) ([]Item, error)
}

// Commands do what is due. Each may be called by many goroutines, for the same thing any number of times.
type Commands interface {
	Recover(ctx context.Context, account domain.AccountID, id domain.PaymentID) error
	ApplyPendingNotifications(ctx context.Context, reference domain.PaymentID) error
	RecoverAttempt(ctx context.Context, account domain.AccountID, id domain.AttemptID) error
}

// Config is what a Keeper needs.
type Config struct {
	Views    Views
	Commands Commands
	Patience time.Duration // how old an operation is when this process asks about it although another one may
	Actions  time.Duration // how long customers have for an action; 0: no action expires so late that the clock was set back
	Every    time.Duration // time between two looks at inboxes and attempts
	Now      func() time.Time
	Logger   zerolog.Logger
}

// Keeper looks after what waits.
type Keeper struct{ Config }

// New makes a Keeper.
func New(c Config) *Keeper { return &Keeper{c} }

// Run looks after what waits until ctx ends.
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

// operations asks about the operations at one processor: about all of them at once, then about each in its turn.
func (k *Keeper) operations(ctx context.Context, name processor.Name) {
	crew := newCrew(operationsAtOnce)
	defer crew.wait()
	start := k.now()
	hand, begun := start.Add(-Round), false
	k.loop(ctx, min(k.Every, lookMost), func() error {
		to, requested := k.now().Add(-k.Patience), start
		switch {
		case !begun:
			to = start
		default:
			requested = to
		}
		if from := to.Add(-Round); hand.Before(from) || hand.Sub(to) > lookMost { // or the clock was set back
			hand = from
		}
		for _, turns := range turnsOf(hand, to) {
			turns.Requested, turns.Ahead = requested, k.now().Add(k.Patience)
			if err := k.each(ctx, crew, Place{At: turns.From}, k.recoverPayment, func(after Place) ([]Item, error) {
				return k.Views.OpenOperations(ctx, name, turns, after, pageSize)
			}); err != nil {
				return err
			}
		}
		if hand = to; !begun {
			begun, hand = true, start.Add(-k.Patience)
		}
		return nil
	})
}

// actions ends the abandoned actions at one processor. Those that had no end at the first question are asked about again
// by package commands, and from here once every Round. So are those that expire later than any action may: the clock was
// set back since they were required, and package commands gives them their own time.
func (k *Keeper) actions(ctx context.Context, name processor.Name) {
	crew := newCrew(actionsAtOnce)
	defer crew.wait()
	var again due.Time
	var seen Place
	var last time.Time
	k.loop(ctx, min(k.Every, lookMost), func() error {
		now := k.now()
		if again.Over(now) || now.Before(last) {
			if err := k.aheadActions(ctx, crew, name, now); err != nil {
				return err
			}
			seen, again = first, due.In(now, Round)
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

// aheadActions has package commands look at the actions that expire later than any that is required now.
func (k *Keeper) aheadActions(ctx context.Context, crew *crew, name processor.Name, now time.Time) error {
	if k.Actions == 0 {
		return nil
	}
	return k.each(ctx, crew, Place{At: now.Add(k.Actions).UnixMicro()}, k.recoverPayment, func(after Place) ([]Item, error) {
		return k.Views.ExpiredActions(ctx, name, always, after, pageSize)
	})
}

func (k *Keeper) recoverPayment(ctx context.Context, i Item) {
	if err := k.Commands.Recover(ctx, i.Account, domain.PaymentID(i.ID)); err != nil && ctx.Err() == nil {
		k.Logger.Debug().Err(err).Str("payment", i.ID).Msg("payment not recovered; trying again")
	}
}

// inboxes applies what a processor told and what could not be applied so far: after a crash, or of a payment that this
// node did not know (D14).
func (k *Keeper) inboxes(ctx context.Context, name processor.Name) {
	crew := newCrew(inboxesAtOnce)
	defer crew.wait()
	k.loop(ctx, k.Every, func() error {
		now := k.now()
		return k.each(ctx, crew, first, k.applyNotices, func(after Place) ([]Item, error) {
			return k.Views.WaitingInboxes(ctx, name, now, after, pageSize)
		})
	})
}

func (k *Keeper) applyNotices(ctx context.Context, i Item) {
	if err := k.Commands.ApplyPendingNotifications(ctx, domain.PaymentID(i.ID)); err != nil && ctx.Err() == nil {
		k.Logger.Debug().Err(err).Str("payment", i.ID).Msg("a notification goes on waiting")
	}
}

// attempts carries out decisions about payment attempts that a crash has left (§3.3). One that cannot be carried out
// now, say because no processor is enabled any more, is tried again later. A decision ahead of the clock was taken before
// the clock was set back: how long ago is not known, so it is carried out at once.
func (k *Keeper) attempts(ctx context.Context) {
	crew := newCrew(1)
	defer crew.wait()
	patience := time.Duration(0)
	k.loop(ctx, k.Every, func() error {
		now := k.now()
		decided := now.Add(-patience)
		patience = k.Patience
		if err := k.each(ctx, crew, Place{At: now.Add(patience).UnixMicro()}, k.recoverAttempt, func(after Place) ([]Item, error) {
			return k.Views.DueAttempts(ctx, always, after, pageSize)
		}); err != nil {
			return err
		}
		return k.each(ctx, crew, first, k.recoverAttempt, func(after Place) ([]Item, error) {
			return k.Views.DueAttempts(ctx, decided, after, pageSize)
		})
	})
}

func (k *Keeper) recoverAttempt(ctx context.Context, i Item) {
	if err := k.Commands.RecoverAttempt(ctx, i.Account, domain.AttemptID(i.ID)); err != nil && ctx.Err() == nil {
		k.Logger.Warn().Err(err).Str("paymentAttempt", i.ID).Msg("decision not carried out; trying again")
	}
}

// now is the clock. Its times are compared with those of records.
func (k *Keeper) now() time.Time { return k.Now().Round(0) }

// loop looks at once, and then again and again until ctx ends.
func (k *Keeper) loop(ctx context.Context, every time.Duration, look func() error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := look(); err != nil && ctx.Err() == nil {
			k.Logger.Warn().Err(err).Msg("pending work not looked through; trying again")
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// each has the crew do something with every entry of a list behind a place. It returns when the last one has begun.
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

// crew does jobs beside each other, so many at once. Without a job it has no goroutine.
type crew struct {
	places  chan struct{}
	running sync.WaitGroup
}

func newCrew(size int) *crew { return &crew{places: make(chan struct{}, size)} }

// do begins a job as soon as there is room for it, unless ctx ends first.
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

// wait returns when all jobs have ended.
func (c *crew) wait() { c.running.Wait() }
