package payments

import (
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/due"
)

// Recover continues the unfinished work of a payment: operations without an outcome, and an action
// that its customer abandoned. It asks the processor once about each that the schedule does not
// hold, at most 20 s for each call; further look-ups are scheduled. The end of ctx does not stop a
// look-up that has begun.
func (s *Payments) Recover(ctx context.Context, account domain.AccountID, id domain.PaymentID) error {
	tip, err := s.loadUnfinished(ctx, account, id)
	if err != nil {
		if logFailed(err) {
			s.doubts.add(account, id)
		}
		return err
	}
	for _, op := range process.Open(tip.State) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !s.inFlight.scheduled.has(tip.State.OperationKey(op.Revision)) {
			s.ask(s.Life, tip, op.Revision, tries{asked: process.LookupsWithin(s.Store.Now().Sub(op.RequestedAt))})
		}
	}
	action := tip.State.RequiredAction()
	switch {
	case action == nil || s.inFlight.scheduled.has(tip.State.OperationKey(action.Revision)):
		return nil
	case s.isAbandoned(tip.State, false):
		err := s.failExpiredAction(ctx, tip, false)
		if err != nil {
			s.retry(s.expiryLookup(tip.State), logFailed(err))
		}
		return err
	default:
		s.scheduleExpiry(tip.State, action)
		return nil
	}
}

// isAbandoned reports whether the customer did not complete an action in time (D7). overdue means
// that the action has expired even if the clock was set back and shows an earlier time.
func (s *Payments) isAbandoned(p payment.State, overdue bool) bool {
	return overdue && p.RequiredAction() != nil || process.Abandoned(p, s.Store.Now())
}

// scheduleExpiry schedules the expiry of an action whose RequiredAt is in the future, because the
// clock was set back.
func (s *Payments) scheduleExpiry(p payment.State, action *payment.RequiredAction) {
	now := s.Store.Now()
	if !action.RequiredAt.After(now) {
		return // package pending finds its expiry
	}
	l := lookupOf(p, action.Revision)
	l.overdue, l.next = true, time.Now().Add(due.Left(now, action.RequiredAt, action.ExpiresAt))
	s.inFlight.scheduled.add(l)
}

// loadUnfinished loads a payment with unfinished work. If the local state shows none, it loads the
// Latest state.
func (s *Payments) loadUnfinished(ctx context.Context, account domain.AccountID, id domain.PaymentID) (eventstore.Tip[payment.State], error) {
	tip, err := s.Log.Payments.Load(ctx, account, id, eventstore.Applied)
	if err != nil || len(process.Open(tip.State)) > 0 || process.Abandoned(tip.State, s.Store.Now()) {
		return tip, err
	}
	return s.Log.Payments.Load(ctx, account, id, eventstore.Latest)
}

// failExpiredAction completes an expired action as failed (D7). It asks the processor first: the
// customer may have passed the check and closed the tab (D8). After completions that failed it only
// asks, until the action has rested (payment.DecideResume). overdue is as in isAbandoned.
func (s *Payments) failExpiredAction(ctx context.Context, tip eventstore.Tip[payment.State], overdue bool) error {
	by := commands.Caller{Account: tip.State.Account, Actor: "process:expiry", RequestID: tip.Recorded.CorrelationID}
	action := tip.State.RequiredAction()
	asked := ResumeInput{Payment: tip.State.ID, Action: action.Revision}
	_, done, err := s.lookUpAction(ctx, by, asked, due.Time{}, overdue) // no caller waits: one call, at most lookupTimeout
	switch {
	case domain.ReasonOf(err) == domain.ReasonNoActionsToHandle:
		s.inFlight.scheduled.add(s.expiryLookup(tip.State))
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
	s.noteDoubt(tip.State.Account, tip.State.ID, err)
	switch reason := domain.ReasonOf(err); {
	case errors.Is(err, payment.ErrRunning), reason == domain.ReasonNoActionsToHandle, reason == domain.ReasonInvalidPaymentStatus:
		return nil // the action was completed meanwhile
	case err != nil:
		return err
	}
	s.launchRequested(next, due.Time{})
	return nil
}

// lagOfViews is the longest expected time until package pending sees an event. Package pending
// finds actions that expire after that.
const lagOfViews = time.Minute

// scheduleExpiryAfterFailure schedules the expiry of an action whose completion has just failed.
// Package pending may have passed the action while it was being completed, and then comes back to
// it only after pending.Cycle.
func (s *Payments) scheduleExpiryAfterFailure(p payment.State) {
	action := p.RequiredAction()
	if action == nil || action.ExpiresAt.Sub(s.Store.Now()) > lagOfViews {
		return
	}
	s.inFlight.schedule(s.expiryLookup(p))
}

// expiryLookup returns the next look-up of an action that has expired, or will expire.
func (s *Payments) expiryLookup(p payment.State) *lookup {
	action, now := p.RequiredAction(), s.Store.Now()
	l := lookupOf(p, action.Revision)
	l.asked = process.LookupsWithin(now.Sub(action.ExpiresAt))
	l.next = time.Now().Add(max(0, action.ExpiresAt.Sub(now)) + l.wait(false))
	return l
}

// Waiting is an operation without an outcome that this process asks about (D8).
type Waiting struct {
	Processor  processor.Name
	Kind       processor.Kind
	State      payment.OperationState
	NextLookup time.Time // zero: a look-up is under way
}

// Waiting returns the operations in this process's memory. The views list all open operations.
func (s *Payments) Waiting() []Waiting {
	var list []Waiting
	for _, f := range s.inFlight.all() {
		state := f.newest()
		op, _ := state.Operation(f.revision)
		list = append(list, Waiting{Processor: op.Target.Processor, Kind: op.Kind, State: op.State, NextLookup: s.byClock(f.nextLookup())})
	}
	for _, l := range s.inFlight.scheduled.all() {
		if l.state.Open() {
			list = append(list, Waiting{Processor: l.processor, Kind: l.kind, State: l.state, NextLookup: s.byClock(l.next)})
		}
	}
	return list
}

// NextLookup returns the time of the next look-up of an operation; false if this process does not
// hold the operation.
func (s *Payments) NextLookup(key domain.OperationKey) (time.Time, bool) {
	s.inFlight.mu.Lock()
	defer s.inFlight.mu.Unlock()
	var next time.Time
	if f := s.inFlight.byKey[key]; f != nil {
		next = f.nextLookup()
	} else if l, known := s.inFlight.scheduled.find(key); known {
		next = l.next
	} else {
		return next, false
	}
	return s.Store.Now().Add(max(0, time.Until(next))), true
}

// byClock converts a time of the process's own clock to the store's clock. The zero time stays
// zero.
func (s *Payments) byClock(own time.Time) time.Time {
	if own.IsZero() {
		return own
	}
	return s.Store.Now().Add(time.Until(own))
}
