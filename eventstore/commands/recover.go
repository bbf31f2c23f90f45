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
)

// newest reads a payment at the log.
func (s *Service) newest(ctx context.Context, account domain.AccountID, id domain.PaymentID) (payment.State, error) {
	tip, err := eventstore.LoadTip(ctx, s.Store, eventstore.Payments, eventstore.Payments.Key(account, string(id)))
	return tip.State, err
}

// Recover takes up what a payment was left with: operations without an outcome, after a crash or because
// their process is gone, and an action that its customer abandoned. What is under way here is left alone.
func (s *Service) Recover(ctx context.Context, account domain.AccountID, id domain.PaymentID) error {
	tip, err := eventstore.LoadTipAtLeader(ctx, s.Store, eventstore.Payments, eventstore.Payments.Key(account, string(id)))
	if err != nil {
		return err
	}
	for _, op := range process.Open(tip.State) {
		s.launch(tip, op.Revision, askFirst)
	}
	if process.Abandoned(tip.State, s.Store.Now()) {
		return s.abandon(ctx, tip)
	}
	return nil
}

// abandon completes an action that was not taken in time as failed (D7), unless the processor, which is asked first, has
// heard of its customer: whose tab was closed may have passed the check (D8).
func (s *Service) abandon(ctx context.Context, tip eventstore.Tip[payment.State]) error {
	by := Caller{Account: tip.State.Account, Actor: "process:expiry", RequestID: tip.Recorded.CorrelationID}
	action := tip.State.RequiredAction()
	asked := ResumeInput{Payment: tip.State.ID, Action: action.Revision}
	_, done, err := s.askAboutAction(ctx, by, asked, s.Store.Now().Add(s.PaymentTimeout))
	switch {
	case domain.ReasonOf(err) == domain.ReasonNoActionsToHandle:
		return nil // the processor does not say now; it is asked again
	case err != nil || done:
		return err
	}
	meta, err := s.Store.NewMeta(by.Actor, by.RequestID)
	if err != nil {
		return err
	}
	next, err := eventstore.Resume(ctx, s.Store, eventstore.Payments, tip, meta, func(state payment.State) (payment.Event, error) {
		return payment.DecideResume(state, payment.Resume{
			Request: payment.Request{At: meta.At, EventID: meta.EventID}, Action: action.Revision,
			Outcome: processor.AuthenticationFailed, Expired: true,
		})
	})
	switch reason := domain.ReasonOf(err); {
	case errors.Is(err, payment.ErrRunning), reason == domain.ReasonNoActionsToHandle, reason == domain.ReasonInvalidPaymentStatus:
		return nil // it was taken meanwhile
	case err != nil:
		return err
	}
	s.launchRequested(next, time.Time{})
	return nil
}

// Waiting is an operation without an outcome that this process looks after (D8).
type Waiting struct {
	Key     domain.OperationKey
	Kind    processor.Kind
	State   payment.OperationState
	Since   time.Time
	AskNext time.Time // zero: it is being asked now
}

// Waiting lists the operations that this process is bringing to their outcome, the oldest first.
func (s *Service) Waiting() []Waiting {
	var list []Waiting
	for _, f := range s.flights.all() {
		state := f.newest()
		op, _ := state.Operation(f.revision)
		f.mu.Lock()
		next := f.next
		f.mu.Unlock()
		list = append(list, Waiting{Key: f.key, Kind: op.Kind, State: op.State, Since: op.RequestedAt, AskNext: next})
	}
	slices.SortFunc(list, func(a, b Waiting) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Key, b.Key)) })
	return list
}

// AskNext tells when the processor is asked next what became of an operation; false when it is not asked
// by this process.
func (s *Service) AskNext(key domain.OperationKey) (time.Time, bool) {
	f := s.flights.find(key)
	if f == nil {
		return time.Time{}, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next.IsZero() {
		return s.Store.Now(), true
	}
	return f.next, true
}
