package payments

import (
	"cmp"
	"context"
	"errors"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/due"
)

// Capture takes authorized money (D10). A refusal by the processor is an outcome of the payment, not an error.
func (s *Payments) Capture(ctx context.Context, by commands.Caller, id domain.PaymentID, c payment.Capture) (payment.State, error) {
	_, after, err := s.runOperation(ctx, by, operation{
		payment: id, kind: processor.Capture, key: c.IdempotencyKey,
		decide: func(state payment.State, r payment.Request) (payment.Event, error) {
			c.Request = r
			return payment.DecideCapture(state, c)
		},
	})
	return after, err
}

// Refund gives captured money back (D10).
func (s *Payments) Refund(ctx context.Context, by commands.Caller, id domain.PaymentID, c payment.Refund) (payment.State, error) {
	_, after, err := s.runOperation(ctx, by, operation{
		payment: id, kind: processor.Refund, key: c.IdempotencyKey,
		decide: func(state payment.State, r payment.Request) (payment.Event, error) {
			c.Request = r
			return payment.DecideRefund(state, c)
		},
	})
	return after, err
}

// Adjust gives the authorization a new total (D10).
func (s *Payments) Adjust(ctx context.Context, by commands.Caller, id domain.PaymentID, c payment.Adjust) (payment.State, error) {
	_, after, err := s.runOperation(ctx, by, operation{
		payment: id, kind: processor.Adjust, key: c.IdempotencyKey,
		decide: func(state payment.State, r payment.Request) (payment.Event, error) {
			c.Request = r
			return payment.DecideAdjust(state, c)
		},
	})
	return after, err
}

// Cancel releases the authorized money (§3.1, D7). For a SETTLED payment it returns an error after the processor
// refused the void.
func (s *Payments) Cancel(ctx context.Context, by commands.Caller, id domain.PaymentID, c payment.Cancel) (payment.State, error) {
	before, after, err := s.runOperation(ctx, by, operation{
		payment: id, kind: processor.Void, key: c.IdempotencyKey,
		decide: func(state payment.State, r payment.Request) (payment.Event, error) {
			c.Request = r
			return payment.DecideCancel(state, c)
		},
	})
	if err == nil && before.Status() == payment.StatusSettled && after.VoidRefused() {
		err = after.CannotCancel()
	}
	return after, err
}

// ResumeInput is the result of the customer's action (§4 rule 1, D8). Action is the revision of the action that the
// resume token names; 0 if the token is unreadable.
type ResumeInput struct {
	Payment        domain.PaymentID
	Action         uint64
	Outcome        processor.Outcome // "": only the processor knows it (D12)
	IdempotencyKey string
}

// Resume continues a payment after its customer's action, and waits for a payment that continues by itself (§4 rule 1,
// D8). It returns NoActionsToHandle at the payment timeout. If the call waited for another completion and the action is
// still required, it decides again.
func (s *Payments) Resume(ctx context.Context, by commands.Caller, in ResumeInput) (payment.State, error) {
	deadline := s.fromNow()
	unknown := in.Outcome == "" && in.Action != 0
	if unknown {
		if after, done, err := s.lookUpAction(ctx, by, in, deadline, false); err != nil || done {
			return after, err
		}
		in.Outcome = processor.AuthenticationFailed // counts only if the action has expired
	}
	for {
		_, after, err := s.runOperation(ctx, by, operation{
			payment: in.Payment, kind: processor.Complete, key: in.IdempotencyKey, deadline: deadline,
			decide: func(state payment.State, r payment.Request) (payment.Event, error) {
				return payment.DecideResume(state, payment.Resume{Request: r, Action: in.Action, Outcome: in.Outcome, Expired: unknown})
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
			tip, err := s.Log.Payments.Load(ctx, by.Account, in.Payment, eventstore.AllowStale)
			if after = tip.State; err != nil {
				return after, err
			}
		}
		if action := after.RequiredAction(); !waited || action == nil || action.Revision != in.Action {
			return after, nil
		}
	}
}

// lookUpAction asks the processor for the result of the customer's action and records it. In production only the
// processor knows the result (D12). done reports that the returned payment is the answer: its action has just ended, or
// is still required. overdue means that the action has expired even if the clock, set back, shows an earlier time.
func (s *Payments) lookUpAction(ctx context.Context, by commands.Caller, in ResumeInput, deadline due.Time, overdue bool) (after payment.State, done bool, err error) {
	tip, err := s.Log.Payments.Load(ctx, by.Account, in.Payment, eventstore.Latest)
	action := tip.State.RequiredAction()
	if err != nil || action == nil || action.Revision != in.Action {
		return tip.State, false, err
	}
	ctx = context.WithoutCancel(ctx)
	ask, cancel := context.WithTimeout(ctx, cmp.Or(max(0, deadline.Left(s.Store.Now())), askTimeout))
	defer cancel()
	defer context.AfterFunc(s.Life, cancel)() // Close
	defer commands.AsideLater(ctx)()
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
		return tip.State, false, nil // the open void decides
	case err != nil:
		return tip.State, false, err
	}
	if f := s.launchRequested(tip, deadline); f != nil {
		return s.await(ctx, f, deadline), true, nil
	}
	return tip.State, true, nil
}

func stillProcessing(state payment.State) error {
	return notNow(state, domain.ReasonNoActionsToHandle, "The payment is still being processed and has no action to handle.",
		"Read the payment by its id to see what becomes of it.")
}
