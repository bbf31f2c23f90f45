package commands

import (
	"context"
	"errors"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// Capture takes held money (D10). What the processor refuses is an answer, not an error.
func (s *Service) Capture(ctx context.Context, by Caller, in CaptureInput) (payment.State, error) {
	_, after, err := s.operate(ctx, by, operation{
		payment: in.Payment, kind: processor.Capture, key: in.IdempotencyKey,
		decide: func(state payment.State, r payment.Request) (payment.Event, error) {
			return payment.DecideCapture(state, payment.Capture{Request: r, Amount: in.Amount, Final: in.Final, Metadata: in.Metadata})
		},
	})
	return after, err
}

// Refund gives captured money back (D10).
func (s *Service) Refund(ctx context.Context, by Caller, in RefundInput) (payment.State, error) {
	_, after, err := s.operate(ctx, by, operation{
		payment: in.Payment, kind: processor.Refund, key: in.IdempotencyKey,
		decide: func(state payment.State, r payment.Request) (payment.Event, error) {
			return payment.DecideRefund(state, payment.Refund{
				Request: r, Amount: in.Amount, OrderID: in.OrderID, Reason: in.Reason,
				TransactionEventID: in.TransactionEventID, Metadata: in.Metadata,
			})
		},
	})
	return after, err
}

// Adjust gives the authorization a new total (D10).
func (s *Service) Adjust(ctx context.Context, by Caller, in AdjustInput) (payment.State, error) {
	_, after, err := s.operate(ctx, by, operation{
		payment: in.Payment, kind: processor.Adjust, key: in.IdempotencyKey,
		decide: func(state payment.State, r payment.Request) (payment.Event, error) {
			return payment.DecideAdjust(state, payment.Adjust{Request: r, Amount: in.Amount})
		},
	})
	return after, err
}

// Cancel releases what is held (§3.1, D7). A settled payment is refused after the processor was asked.
func (s *Service) Cancel(ctx context.Context, by Caller, in CancelInput) (payment.State, error) {
	before, after, err := s.operate(ctx, by, operation{
		payment: in.Payment, kind: processor.Void, key: in.IdempotencyKey,
		decide: func(state payment.State, r payment.Request) (payment.Event, error) {
			return payment.DecideCancel(state, payment.Cancel{Request: r, Reason: in.Reason})
		},
	})
	if err == nil && before.Status() == payment.StatusSettled && after.VoidRefused() {
		err = after.Settled()
	}
	return after, err
}

// Resume goes on with a payment after its customer's action, and waits for a payment that goes on by itself
// (§4 rule 1, D8): NoActionsToHandle when the payment timeout is over first. One that waited for another's
// completion, after which its action is still required, is decided again.
func (s *Service) Resume(ctx context.Context, by Caller, in ResumeInput) (payment.State, error) {
	deadline := s.Store.Now().Add(s.PaymentTimeout)
	for {
		_, after, err := s.operate(ctx, by, operation{
			payment: in.Payment, kind: processor.Complete, key: in.IdempotencyKey, deadline: deadline,
			decide: func(state payment.State, r payment.Request) (payment.Event, error) {
				return payment.DecideResume(state, payment.Resume{Request: r, Action: in.Action, Outcome: in.Outcome})
			},
		})
		waited := errors.Is(err, payment.ErrProcessing)
		if err != nil && !waited {
			return after, err
		}
		for after.Waiting() {
			if late := s.waitForRunning(ctx, after, deadline); late != nil {
				return after, stillProcessing(after)
			}
			if after, err = s.newest(ctx, by.Account, in.Payment); err != nil {
				return after, err
			}
		}
		if action := after.RequiredAction(); !waited || action == nil || action.Revision != in.Action {
			return after, nil
		}
	}
}

func stillProcessing(state payment.State) error {
	err := domain.Refuse(domain.KindConflict, domain.ReasonNoActionsToHandle,
		"The payment is still being processed and has no action to handle.")
	err.Recovery = "Read the payment by its id to see what becomes of it."
	err.Payment, err.Status = state.ID, string(state.Status())
	return err
}
