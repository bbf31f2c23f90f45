package payments

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/due"
)

// Recover continues the unfinished work of a payment: operations without an outcome, after a crash or on another
// process, and an action that its customer abandoned. It asks the processor once about each, for at most 20 s; further
// questions follow from the agenda. It skips operations that the agenda already holds. The end of ctx does not stop a
// question that has begun.
func (s *Payments) Recover(ctx context.Context, account domain.AccountID, id domain.PaymentID) error {
	tip, err := s.leftover(ctx, account, id)
	if err != nil {
		return err
	}
	for _, op := range process.Open(tip.State) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !s.inFlight.agenda.has(tip.State.OperationKey(op.Revision)) {
			s.ask(s.Life, tip, op.Revision, tries{asked: process.Lookups(s.Store.Now().Sub(op.RequestedAt))})
		}
	}
	action := tip.State.RequiredAction()
	switch {
	case action == nil || s.inFlight.agenda.has(tip.State.OperationKey(action.Revision)):
		return nil
	case s.abandonedBy(tip.State, false):
		err := s.abandon(ctx, tip, false)
		if err != nil {
			s.retry(s.abandoned(tip.State), logFailed(err))
		}
		return err
	default:
		s.expire(tip.State, action)
		return nil
	}
}

// abandonedBy reports whether the customer did not complete an action in time (D7). overdue means that the action has
// expired even if the clock, set back, shows an earlier time.
func (s *Payments) abandonedBy(p payment.State, overdue bool) bool {
	return overdue && p.RequiredAction() != nil || process.Abandoned(p, s.Store.Now())
}

// expire schedules the expiry of an action that was required at a time ahead of the clock, because the clock was set
// back.
func (s *Payments) expire(p payment.State, action *payment.RequiredAction) {
	now := s.Store.Now()
	if !action.RequiredAt.After(now) {
		return // package pending finds its expiry
	}
	e := questionAbout(p, action.Revision)
	e.overdue, e.next = true, time.Now().Add(due.Left(now, action.RequiredAt, action.ExpiresAt))
	s.inFlight.agenda.add(e)
}

// leftover loads a payment with unfinished work. If the local state shows none, it loads the Latest state.
func (s *Payments) leftover(ctx context.Context, account domain.AccountID, id domain.PaymentID) (eventstore.Tip[payment.State], error) {
	tip, err := s.Log.Payments.Load(ctx, account, id, eventstore.AllowStale)
	if err != nil || len(process.Open(tip.State)) > 0 || process.Abandoned(tip.State, s.Store.Now()) {
		return tip, err
	}
	return s.Log.Payments.Load(ctx, account, id, eventstore.Latest)
}

// abandon completes an expired action as failed (D7). It asks the processor first: the customer may have passed the
// check and closed the tab (D8). overdue is as in abandonedBy.
func (s *Payments) abandon(ctx context.Context, tip eventstore.Tip[payment.State], overdue bool) error {
	by := commands.Caller{Account: tip.State.Account, Actor: "process:expiry", RequestID: tip.Recorded.CorrelationID}
	action := tip.State.RequiredAction()
	asked := ResumeInput{Payment: tip.State.ID, Action: action.Revision}
	_, done, err := s.lookUpAction(ctx, by, asked, s.fromNow(), overdue)
	switch {
	case domain.ReasonOf(err) == domain.ReasonNoActionsToHandle:
		s.inFlight.agenda.add(s.abandoned(tip.State))
		return nil // no answer now; ask again
	case err != nil || done:
		return err
	}
	meta, err := s.Store.NewMeta(by.Actor, by.RequestID)
	if err != nil {
		return err
	}
	next, err := s.Log.Payments.ExecuteFrom(ctx, tip, meta, func(state payment.State) (payment.Event, error) {
		return payment.DecideResume(state, payment.Resume{
			Request: payment.Request{At: meta.At, EventID: meta.EventID}, Action: action.Revision,
			Outcome: processor.AuthenticationFailed, Expired: true, Overdue: overdue,
		})
	})
	switch reason := domain.ReasonOf(err); {
	case errors.Is(err, payment.ErrRunning), reason == domain.ReasonNoActionsToHandle, reason == domain.ReasonInvalidPaymentStatus:
		return nil // the action was completed meanwhile
	case err != nil:
		return err
	}
	s.launchRequested(next, due.Time{})
	return nil
}

// lagOfViews is the longest time that package pending is expected to take to see an event. It finds an action that expires later.
const lagOfViews = time.Minute

// expireLater schedules the expiry of an action whose completion has just failed. Package pending may have passed the action
// while it was being completed, and then comes back to it only after a Round.
func (s *Payments) expireLater(p payment.State) {
	action := p.RequiredAction()
	if action == nil || action.ExpiresAt.Sub(s.Store.Now()) > lagOfViews {
		return
	}
	s.inFlight.agenda.replace(s.abandoned(p))
}

// abandoned returns the next question about an abandoned action, or about one that is still to expire.
func (s *Payments) abandoned(p payment.State) *question {
	action, now := p.RequiredAction(), s.Store.Now()
	e := questionAbout(p, action.Revision)
	e.asked = process.Lookups(now.Sub(action.ExpiresAt))
	e.next = time.Now().Add(max(0, action.ExpiresAt.Sub(now)) + e.wait(false))
	return e
}

// Waiting is an operation without an outcome that this process asks about (D8).
type Waiting struct {
	Key     domain.OperationKey
	Kind    processor.Kind
	State   payment.OperationState
	Since   time.Time
	AskNext time.Time // zero: a question is under way
}

// Waiting returns the operations in this process's memory, oldest first. Package pending knows all of them.
func (s *Payments) Waiting() []Waiting {
	var list []Waiting
	for _, f := range s.inFlight.all() {
		state := f.newest()
		op, _ := state.Operation(f.revision)
		list = append(list, Waiting{Key: f.key, Kind: op.Kind, State: op.State, Since: op.RequestedAt, AskNext: s.byClock(f.asksNext())})
	}
	for _, e := range s.inFlight.agenda.all() {
		if e.state.Open() {
			list = append(list, Waiting{Key: e.key, Kind: e.kind, State: e.state, Since: e.since, AskNext: s.byClock(e.next)})
		}
	}
	slices.SortFunc(list, func(a, b Waiting) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Key, b.Key)) })
	return list
}

// AskNext returns the time of the next question about an operation. It returns false if this process does not hold the
// operation in memory.
func (s *Payments) AskNext(key domain.OperationKey) (time.Time, bool) {
	s.inFlight.mu.Lock()
	defer s.inFlight.mu.Unlock()
	var next time.Time
	if f := s.inFlight.by[key]; f != nil {
		next = f.asksNext()
	} else if e, known := s.inFlight.agenda.find(key); known {
		next = e.next
	} else {
		return next, false
	}
	if left := time.Until(next); !next.IsZero() && left > 0 {
		return s.Store.Now().Add(left), true
	}
	return s.Store.Now(), true
}

// byClock converts a time of the process's own clock to the store's clock. The zero time stays zero.
func (s *Payments) byClock(own time.Time) time.Time {
	if own.IsZero() {
		return own
	}
	return s.Store.Now().Add(time.Until(own))
}
