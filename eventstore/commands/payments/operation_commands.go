package payments

import (
	"cmp"
	"context"
	"errors"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/due"
)

// Capture takes authorized money (D10). A refusal by the processor is an outcome of the payment,
// not an error.
func (s *Payments) Capture(ctx context.Context, by commands.Caller, id domain.PaymentID, c payment.Capture) (payment.State, error) {
	_, after, err := s.runOperation(ctx, by, operationOf(id, processor.Capture, &c, &c.Request, payment.DecideCapture))
	return after, err
}

// Refund returns captured money to the customer (D10). If the payment ended unpaid, the processor's
// books are read before the refusal: a capture that is missing in the log is recorded and can be
// refunded (D7).
func (s *Payments) Refund(ctx context.Context, by commands.Caller, id domain.PaymentID, c payment.Refund) (payment.State, error) {
	refund := operationOf(id, processor.Refund, &c, &c.Request, payment.DecideRefund)
	refund.decide = s.unlessDisputed(ctx, by, id, &c, refund.decide)
	_, after, err := s.runOperation(ctx, by, refund)
	if domain.ReasonOf(err) == domain.ReasonInvalidPaymentStatus && s.capturedUnknown(ctx, by.Account, id) {
		if err = s.CheckActor(ctx, by); err != nil { // the processor may have taken long
			return after, err
		}
		_, after, err = s.runOperation(ctx, by, refund)
	}
	return after, err
}

// unlessDisputed wraps the decision about a refund that its caller, or the account, refuses beside
// a dispute (D22.2). The disputes are read for every decision, also after a wait for another
// operation, so a dispute that was recorded meanwhile counts. A refund that is refused for another
// reason reads no disputes.
func (s *Payments) unlessDisputed(ctx context.Context, by commands.Caller, id domain.PaymentID, c *payment.Refund, decide func(payment.State, payment.Request) (payment.Event, error)) func(payment.State, payment.Request) (payment.Event, error) {
	return func(state payment.State, r payment.Request) (payment.Event, error) {
		c.Disputed = nil
		event, err := decide(state, r)
		if err != nil {
			return nil, err
		}
		merchant, err := s.Merchant(by)
		if err != nil || !c.RefuseDisputed && !merchant.Settings.RefuseRefundOfDisputed {
			return event, err
		}
		disputes, err := s.DisputesBesideRefund(ctx, by.Account, id)
		if err != nil {
			return nil, err
		}
		c.Disputed = process.Forbids(disputes)
		return decide(state, r)
	}
}

// Adjust gives the authorization a new total (D10).
func (s *Payments) Adjust(ctx context.Context, by commands.Caller, id domain.PaymentID, c payment.Adjust) (payment.State, error) {
	_, after, err := s.runOperation(ctx, by, operationOf(id, processor.Adjust, &c, &c.Request, payment.DecideAdjust))
	return after, err
}

// Cancel releases the authorized money (§3.1, D7). It returns an error if the processor refused to
// void a SETTLED payment.
func (s *Payments) Cancel(ctx context.Context, by commands.Caller, id domain.PaymentID, c payment.Cancel) (payment.State, error) {
	before, after, err := s.runOperation(ctx, by, operationOf(id, processor.Void, &c, &c.Request, payment.DecideCancel))
	if err == nil && before.Status() == payment.StatusSettled && after.VoidRefused() {
		err = after.CannotCancel()
	}
	return after, err
}

// operationOf returns the operation of a command. request is the part of the command that is set
// for each decision.
func operationOf[C any](id domain.PaymentID, kind processor.Kind, command *C, request *payment.Request, decide func(payment.State, C) (payment.Event, error)) operation {
	return operation{payment: id, kind: kind, key: request.IdempotencyKey, decide: func(state payment.State, r payment.Request) (payment.Event, error) {
		*request = r
		return decide(state, *command)
	}}
}

// ResumeInput is the result of the customer's action (§4 rule 1, D8). Action is its revision; 0 if
// the resume token is unreadable.
type ResumeInput struct {
	Payment        domain.PaymentID
	Action         uint64
	Outcome        processor.Outcome // "": only the processor knows it (D12)
	IdempotencyKey string
}

// Resume continues a payment after its customer's action (§4 rule 1, D8). If the payment continues
// by itself, Resume waits, and returns NoActionsToHandle at the payment timeout. If the call waited
// for another completion and the action is still required, it decides again.
func (s *Payments) Resume(ctx context.Context, by commands.Caller, in ResumeInput) (payment.State, error) {
	deadline := s.fromNow()
	unknown := in.Outcome == "" && in.Action != 0
	if unknown {
		in.Outcome = processor.AuthenticationFailed // counts only if the action has expired
		if after, done, err := s.lookUpAction(ctx, by, in, deadline, false); err != nil || done {
			return after, err
		}
	}
	for {
		_, after, err := s.runOperation(ctx, by, operation{
			payment: in.Payment, kind: processor.Complete, key: in.IdempotencyKey, deadline: deadline,
			decide: func(state payment.State, r payment.Request) (payment.Event, error) {
				return payment.DecideResume(state, payment.Resume{Request: r, Action: in.Action, Outcome: in.Outcome, Expired: unknown})
			},
		})
		waited := errors.Is(err, payment.ErrProcessing)
		if unknown && domain.ReasonOf(err) == domain.ReasonInvalidPaymentStatus {
			err = s.usedByResume(ctx, by, in, after, err)
		}
		if err != nil && !waited {
			return after, err
		}
		for after.Waiting() {
			if late := s.waitForRunning(ctx, after, deadline); late != nil {
				return after, stillProcessing(after)
			}
			tip, err := s.Log.Payments.Load(ctx, by.Account, in.Payment, eventstore.Applied)
			if after = tip.State; err != nil {
				return after, err
			}
		}
		if action := after.RequiredAction(); !waited || action == nil || action.Revision != in.Action {
			return after, nil
		}
		if err := s.CheckActor(ctx, by); err != nil {
			return after, err
		}
	}
}

// lookUpAction asks the processor for the result of the customer's action, which in production
// nobody else knows (D12), and records it under the idempotency key (D9). done reports that the
// returned payment is the answer. overdue is as in isAbandoned.
func (s *Payments) lookUpAction(ctx context.Context, by commands.Caller, in ResumeInput, deadline due.Time, overdue bool) (after payment.State, done bool, err error) {
	tip, err := s.Log.Payments.Load(ctx, by.Account, in.Payment, eventstore.Latest)
	action := tip.State.RequiredAction()
	if err != nil || action == nil || action.Revision != in.Action {
		return tip.State, false, err
	}
	o := operation{payment: in.Payment, kind: processor.Complete, key: in.IdempotencyKey, deadline: deadline}
	if err := s.refuseUsedKey(ctx, by, tip.State, o); err != nil {
		return tip.State, false, err
	}
	ctx = context.WithoutCancel(ctx)
	ask, cancel := context.WithTimeout(ctx, cmp.Or(max(0, deadline.Left(s.Store.Now())), lookupTimeout))
	defer cancel()
	defer context.AfterFunc(s.Life, cancel)() // Close
	defer commands.AsideLater(ctx)()
	op, _ := tip.State.Operation(action.Revision)
	found, err := s.Processors.Lookup(ask, op.Target.Processor, tip.State.OperationKey(op.Revision))
	if err != nil || found.Answer == nil {
		return tip.State, true, stillProcessing(tip.State)
	}
	if found.Answer.State == processor.ActionRequired {
		return tip.State, !s.isAbandoned(tip.State, overdue), nil
	}
	if found.Answer.Code == processor.CodeVoided {
		now, err := s.Log.Payments.Load(ctx, by.Account, in.Payment, eventstore.Latest)
		if err != nil || now.State.Voiding() { // a cancel decides that came meanwhile: the key stays unused
			return now.State, false, err
		}
	}
	return s.recordActionResult(ctx, by, tip, o, *found.Answer)
}

// recordActionResult is the end of lookUpAction. An answer that decides nothing uses no key.
func (s *Payments) recordActionResult(ctx context.Context, by commands.Caller, tip eventstore.Tip[payment.State], o operation, answer processor.Answer) (after payment.State, done bool, err error) {
	hash := ""
	if o.key != "" && answer.State != processor.Pending {
		if err := s.claimKey(ctx, by, o); err != nil {
			return tip.State, false, err
		}
		hash = domain.KeyHash(by.Account, o.key)
	}
	tip, err = s.recordAnswerTo(ctx, tip, tip.State.RequiredAction().Revision, answer, hash)
	switch {
	case errors.Is(err, payment.ErrRunning):
		return tip.State, false, nil // the open void decides
	case errors.Is(err, processor.ErrUnknown):
		return tip.State, true, stillProcessing(tip.State)
	case err != nil:
		return tip.State, false, err
	}
	if f := s.launchRequested(tip, o.deadline); f != nil {
		return s.await(ctx, f, o.deadline), true, nil
	}
	return tip.State, true, nil
}

func stillProcessing(state payment.State) error {
	return conflictOn(state, domain.ReasonNoActionsToHandle, "The payment is still being processed and has no action to handle.",
		"Read the payment by its id to see what becomes of it.")
}
