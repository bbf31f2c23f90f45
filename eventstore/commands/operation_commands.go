package commands

import (
	"cmp"
	"context"
	"errors"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/due"
)

// Capture takes held money (D10). What the processor refuses is an answer, not an error.
func (s *Service) Capture(ctx context.Context, by Caller, in CaptureInput) (payment.State, error) {
	_, after, err := s.runOperation(ctx, by, operation{
		payment: in.Payment, kind: processor.Capture, key: in.IdempotencyKey,
		decide: func(state payment.State, r payment.Request) (payment.Event, error) {
			return payment.DecideCapture(state, payment.Capture{Request: r, Amount: in.Amount, Final: in.Final, Metadata: in.Metadata, Order: in.Order})
		},
	})
	return after, err
}

// Refund gives captured money back (D10).
func (s *Service) Refund(ctx context.Context, by Caller, in RefundInput) (payment.State, error) {
	_, after, err := s.runOperation(ctx, by, operation{
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
	_, after, err := s.runOperation(ctx, by, operation{
		payment: in.Payment, kind: processor.Adjust, key: in.IdempotencyKey,
		decide: func(state payment.State, r payment.Request) (payment.Event, error) {
			return payment.DecideAdjust(state, payment.Adjust{Request: r, Amount: in.Amount})
		},
	})
	return after, err
}

// Cancel releases what is held (§3.1, D7). A settled payment is refused after the processor was asked.
func (s *Service) Cancel(ctx context.Context, by Caller, in CancelInput) (payment.State, error) {
	before, after, err := s.runOperation(ctx, by, operation{
		payment: in.Payment, kind: processor.Void, key: in.IdempotencyKey,
		decide: func(state payment.State, r payment.Request) (payment.Event, error) {
			return payment.DecideCancel(state, payment.Cancel{Request: r, Reason: in.Reason})
		},
	})
	if err == nil && before.Status() == payment.StatusSettled && after.VoidRefused() {
		err = after.CannotCancel()
	}
	return after, err
}

// Resume goes on with a payment after its customer's action, and waits for a payment that goes on by itself
// (§4 rule 1, D8): NoActionsToHandle when the payment timeout is over first. One that waited for another's
// completion, after which its action is still required, is decided again.
func (s *Service) Resume(ctx context.Context, by Caller, in ResumeInput) (payment.State, error) {
	deadline := s.fromNow()
	untold := in.Outcome == "" && in.Action != 0
	if untold {
		if after, done, err := s.lookUpAction(ctx, by, in, deadline, false); err != nil || done {
			return after, err
		}
		in.Outcome = processor.AuthenticationFailed // if it has expired
	}
	for {
		_, after, err := s.runOperation(ctx, by, operation{
			payment: in.Payment, kind: processor.Complete, key: in.IdempotencyKey, deadline: deadline,
			decide: func(state payment.State, r payment.Request) (payment.Event, error) {
				return payment.DecideResume(state, payment.Resume{Request: r, Action: in.Action, Outcome: in.Outcome, Expired: untold})
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

// lookUpAction asks the processor how the customer's check ended, and records what it says: the one way to know it
// outside the sandbox (D12). done: the payment stands as given, its action ended just now or to be taken still. overdue
// says that the action's own time has gone by, whatever the clock shows.
func (s *Service) lookUpAction(ctx context.Context, by Caller, in ResumeInput, deadline due.Time, overdue bool) (after payment.State, done bool, err error) {
	tip, err := eventstore.Load(ctx, s.Store, eventstore.Payments, eventstore.Payments.Key(by.Account, string(in.Payment)), eventstore.Latest)
	action := tip.State.RequiredAction()
	if err != nil || action == nil || action.Revision != in.Action {
		return tip.State, false, err
	}
	ctx = context.WithoutCancel(ctx)
	ask, cancel := context.WithTimeout(ctx, cmp.Or(max(0, deadline.Left(s.Store.Now())), askTimeout))
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)() // the process ends
	defer asideLater(ctx)()
	op, _ := tip.State.Operation(action.Revision)
	found, err := s.Processors.Lookup(ask, op.Target.Processor, tip.State.OperationKey(op.Revision))
	if err != nil || found.Answer == nil {
		return tip.State, true, stillProcessing(tip.State)
	}
	if found.Answer.State == processor.ActionRequired {
		return tip.State, !s.abandonedBy(tip.State, overdue), nil
	}
	tip, err = s.recordAnswer(ctx, tip, op.Revision, *found.Answer)
	switch {
	case errors.Is(err, payment.ErrRunning):
		return tip.State, false, nil // a void decides
	case err != nil:
		return tip.State, false, err
	}
	if f := s.launchRequested(tip, deadline); f != nil {
		return s.await(ctx, f, deadline), true, nil
	}
	return tip.State, true, nil
}

func stillProcessing(state payment.State) error {
	err := domain.Refuse(domain.KindConflict, domain.ReasonNoActionsToHandle,
		"The payment is still being processed and has no action to handle.")
	err.Recovery = "Read the payment by its id to see what becomes of it."
	err.Payment, err.Status = state.ID, string(state.Status())
	return err
}
