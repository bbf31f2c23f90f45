package commands

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
	"payledger/eventstore/due"
)

// newest reads a payment at the log.
func (s *Service) newest(ctx context.Context, account domain.AccountID, id domain.PaymentID) (payment.State, error) {
	tip, err := s.log.Payments.Load(ctx, account, id, eventstore.AllowStale)
	return tip.State, err
}

// Recover takes up what a payment was left with: operations without an outcome, after a crash or because
// their process is gone, and an action that its customer abandoned. It asks the processor once about each, and waits for
// its answer 20 s at most; the questions go on from there. What this process asks about anyway is left alone. ctx does not
// end what has begun.
func (s *Service) Recover(ctx context.Context, account domain.AccountID, id domain.PaymentID) error {
	tip, err := s.leftover(ctx, account, id)
	if err != nil {
		return err
	}
	for _, op := range process.Open(tip.State) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !s.inFlight.agenda.has(tip.State.OperationKey(op.Revision)) {
			s.ask(s.ctx, tip, op.Revision, process.Lookups(s.Store.Now().Sub(op.RequestedAt)))
		}
	}
	action := tip.State.RequiredAction()
	switch {
	case action == nil || s.inFlight.agenda.has(tip.State.OperationKey(action.Revision)):
		return nil
	case s.abandonedBy(tip.State, false):
		return s.abandon(ctx, tip, false)
	default:
		s.expire(tip.State, action)
		return nil
	}
}

// abandonedBy reports whether the customer did not take an action in time (D7): by the clock, or, overdue, because the
// action's own time has gone by.
func (s *Service) abandonedBy(p payment.State, overdue bool) bool {
	return overdue && p.RequiredAction() != nil || process.Abandoned(p, s.Store.Now())
}

// expire puts the end of an action into the agenda that was required ahead of the clock, which was set back since. From
// now on it has its own time.
func (s *Service) expire(p payment.State, action *payment.RequiredAction) {
	now := s.Store.Now()
	if !action.RequiredAt.After(now) {
		return // package pending comes to it
	}
	e := questionAbout(p, action.Revision)
	e.overdue, e.next = true, time.Now().Add(due.Left(now, action.RequiredAt, action.ExpiresAt))
	s.inFlight.agenda.add(e)
}

// leftover reads a payment of which something is left to do: as this process knows it, and at the leader where that
// shows nothing to do.
func (s *Service) leftover(ctx context.Context, account domain.AccountID, id domain.PaymentID) (eventstore.Tip[payment.State], error) {
	tip, err := s.log.Payments.Load(ctx, account, id, eventstore.AllowStale)
	if err != nil || len(process.Open(tip.State)) > 0 || process.Abandoned(tip.State, s.Store.Now()) {
		return tip, err
	}
	return s.log.Payments.Load(ctx, account, id, eventstore.Latest)
}

// abandon completes an action that was not taken in time as failed (D7), unless the processor, which is asked first, has
// heard of its customer: whose tab was closed may have passed the check (D8). overdue says that the action's own time has
// gone by, whatever the clock shows.
func (s *Service) abandon(ctx context.Context, tip eventstore.Tip[payment.State], overdue bool) error {
	by := Caller{Account: tip.State.Account, Actor: "process:expiry", RequestID: tip.Recorded.CorrelationID}
	action := tip.State.RequiredAction()
	asked := ResumeInput{Payment: tip.State.ID, Action: action.Revision}
	_, done, err := s.lookUpAction(ctx, by, asked, s.fromNow(), overdue)
	switch {
	case domain.ReasonOf(err) == domain.ReasonNoActionsToHandle:
		s.inFlight.agenda.add(s.abandoned(tip.State))
		return nil // the processor does not say now; it is asked again
	case err != nil || done:
		return err
	}
	meta, err := s.Store.NewMeta(by.Actor, by.RequestID)
	if err != nil {
		return err
	}
	next, err := s.log.Payments.ExecuteFrom(ctx, tip, meta, func(state payment.State) (payment.Event, error) {
		return payment.DecideResume(state, payment.Resume{
			Request: payment.Request{At: meta.At, EventID: meta.EventID}, Action: action.Revision,
			Outcome: processor.AuthenticationFailed, Expired: true, Overdue: overdue,
		})
	})
	switch reason := domain.ReasonOf(err); {
	case errors.Is(err, payment.ErrRunning), reason == domain.ReasonNoActionsToHandle, reason == domain.ReasonInvalidPaymentStatus:
		return nil // it was taken meanwhile
	case err != nil:
		return err
	}
	s.launchRequested(next, due.Time{})
	return nil
}

// abandoned is the next question about an abandoned action.
func (s *Service) abandoned(p payment.State) *question {
	action, now := p.RequiredAction(), s.Store.Now()
	e := questionAbout(p, action.Revision)
	e.asked = process.Lookups(now.Sub(action.ExpiresAt)) + 1
	e.next = time.Now().Add(process.NextInterval(e.asked - 1))
	return e
}

// Waiting is an operation without an outcome that this process asks about, or is about to (D8).
type Waiting struct {
	Key     domain.OperationKey
	Kind    processor.Kind
	State   payment.OperationState
	Since   time.Time
	AskNext time.Time // zero: it is being asked now
}

// Waiting lists the operations that this process keeps in memory, the oldest first; package pending knows all of them.
func (s *Service) Waiting() []Waiting {
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

// AskNext tells when the processor is asked next what became of an operation; false when this process does not keep it
// in memory.
func (s *Service) AskNext(key domain.OperationKey) (time.Time, bool) {
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

// byClock returns what the clock will show at a time by the process's own clock. The zero time stays what it is.
func (s *Service) byClock(own time.Time) time.Time {
	if own.IsZero() {
		return own
	}
	return s.Store.Now().Add(time.Until(own))
}
