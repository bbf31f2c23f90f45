package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/workflow"
	"payledger/eventstore"
)

// Outcome is what became of an operation that is made once.
type Outcome struct {
	Known     bool // false: the processor owes the outcome
	Succeeded bool
	Operation domain.OperationKey // "" when none was necessary
	Message   string              // of a failure, in words for the merchant
}

// Once makes the operation that an action of a workflow stands for, once for its key whoever asks and however often:
// who asks again is told what became of the first (D19). It waits for the outcome, at most until the payment timeout;
// one that is not known then is no failure: ask again. An error is a refusal of which nothing is recorded, or trouble.
func (s *Service) RunWorkflowOperation(ctx context.Context, by Caller, id domain.PaymentID, a workflow.Action, key string) (Outcome, error) {
	if found, made, err := s.outcomeOfKey(ctx, by, id, key); err != nil || made {
		return found, err
	}
	refusal := s.requestAction(ctx, by, id, a, key)
	found, made, err := s.outcomeOfKey(ctx, by, id, key)
	if err != nil || made {
		return found, err
	}
	return Outcome{}, cmp.Or(refusal, errNothingMade)
}

// errNothingMade cannot be: an operation that was taken stands in its payment.
var errNothingMade = errors.New("commands: an operation was taken and stands nowhere")

// requestAction asks for the operation. That the key was used is no failure here: a repeat came to that first.
func (s *Service) requestAction(ctx context.Context, by Caller, id domain.PaymentID, a workflow.Action, key string) (err error) {
	request := payment.Request{IdempotencyKey: key}
	switch a.Type {
	case workflow.Capture:
		_, err = s.Capture(ctx, by, id, payment.Capture{Request: request, Amount: a.Amount, Final: a.IsFinal()})
	case workflow.Cancel:
		_, err = s.Cancel(ctx, by, id, payment.Cancel{Request: request, Reason: a.Reason})
	case workflow.Refund:
		_, err = s.Refund(ctx, by, id, payment.Refund{Request: request, Amount: a.Amount, OrderID: a.OrderID, Reason: a.Reason})
	default:
		err = fmt.Errorf("commands: %q is no operation of a payment", a.Type)
	}
	return err
}

// outcomeOfKey finds the operation of a key on its payment, and what became of it. What has no answer at all is taken up
// here, as Recover does, unless that is under way already.
func (s *Service) outcomeOfKey(ctx context.Context, by Caller, id domain.PaymentID, key string) (Outcome, bool, error) {
	tip, err := s.log.Payments.Load(ctx, by.Account, id, eventstore.Latest)
	if err != nil || !tip.State.Used(domain.KeyHash(by.Account, key)) {
		return Outcome{}, false, err
	}
	revision, intent, err := s.requestedWith(ctx, tip, domain.KeyHash(by.Account, key))
	if err != nil {
		return Outcome{}, true, err
	}
	state := tip.State
	if intent {
		if revision = voidAfter(state, revision); revision == 0 { // undecided, or there was nothing to release
			decided := state.Status() != payment.StatusPending
			return Outcome{Known: decided, Succeeded: decided}, true, nil
		}
	}
	op, found := state.Operation(revision)
	if found && (op.State == payment.StateRequested || op.State == payment.StateUnknown) {
		f := s.launch(tip, revision, askFirst)
		state = s.await(ctx, f, s.fromNow())
		op, found = state.Operation(revision)
	}
	return outcomeOf(state, op), found, nil
}

// requestedWith finds the event that used a key; intent says that it is a cancellation that waits for the
// authorization.
func (s *Service) requestedWith(ctx context.Context, tip eventstore.Tip[payment.State], hash string) (revision uint64, intent bool, err error) {
	for r := tip.Recorded; ; {
		event, err := eventstore.Payments.Event(r)
		if err != nil {
			return 0, false, err
		}
		if payment.KeyHashOf(event) == hash {
			_, intent = event.(payment.CancellationIntended)
			return r.Revision, intent, nil
		}
		if r.PrevSeq == 0 {
			return 0, false, errNothingMade
		}
		if r, err = s.Store.Read(ctx, r.Shard, r.PrevSeq); err != nil {
			return 0, false, domain.Unavailable(err)
		}
	}
}

// voidAfter finds the void that an intended cancellation led to; 0 while there is none.
func voidAfter(s payment.State, revision uint64) uint64 {
	for _, op := range s.Whole().Operations {
		if op.Kind == processor.Void && op.Revision > revision {
			return op.Revision
		}
	}
	return 0
}

func outcomeOf(s payment.State, op payment.Operation) Outcome {
	o := Outcome{Known: !op.State.Open(), Succeeded: op.State == payment.StateSucceeded, Operation: s.OperationKey(op.Revision)}
	if o.Known && !o.Succeeded {
		o.Message = domain.FirstNonEmpty(op.Answer().Message, "The "+string(op.Kind)+" failed.")
	}
	return o
}
