package payments

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
	"payledger/eventstore/commands"
	"payledger/eventstore/due"
)

// Outcome is the result of an operation that runs at most once for its key.
type Outcome struct {
	Known     bool // false: there is no final answer yet
	Succeeded bool
	Operation domain.OperationKey // "" if none was necessary
	Message   string              // of a failure, for the merchant
}

// RunWorkflowOperation runs the operation of a workflow's action once for its key; a repeat returns
// the first outcome (D19). It waits at most until the payment timeout; an outcome that is unknown
// then is no failure, and the caller repeats the call. An error is a refusal that was not recorded,
// or a fault.
func (s *Payments) RunWorkflowOperation(ctx context.Context, by commands.Caller, id domain.PaymentID, a workflow.Action, key string) (Outcome, error) {
	deadline := s.fromNow()
	if found, made, err := s.outcomeOfKey(ctx, by, id, key, deadline); err != nil || made {
		return found, err
	}
	refusal := s.requestAction(ctx, by, id, a, key)
	found, made, err := s.outcomeOfKey(ctx, by, id, key, deadline)
	if err != nil || made {
		return found, err
	}
	return Outcome{}, cmp.Or(refusal, errNothingMade)
}

// errNothingMade cannot happen: an accepted operation is recorded on its payment.
var errNothingMade = errors.New("payments: an accepted operation was not recorded")

// requestAction requests the operation. A used key is no error here: a repeat requested it first.
func (s *Payments) requestAction(ctx context.Context, by commands.Caller, id domain.PaymentID, a workflow.Action, key string) (err error) {
	request := payment.Request{IdempotencyKey: key}
	switch a.Type {
	case workflow.Capture:
		_, err = s.Capture(ctx, by, id, payment.Capture{Request: request, Amount: a.Amount, Final: a.IsFinal()})
	case workflow.Cancel:
		_, err = s.Cancel(ctx, by, id, payment.Cancel{Request: request, Reason: a.Reason})
	case workflow.Refund:
		_, err = s.Refund(ctx, by, id, payment.Refund{Request: request, Amount: a.Amount, OrderID: a.OrderID, Reason: a.Reason})
	default:
		err = fmt.Errorf("payments: %q is no operation of a payment", a.Type)
	}
	return err
}

// outcomeOfKey finds the operation of a key and its outcome. Until the deadline it looks up an
// operation without an answer, or joins it in flight, and waits.
func (s *Payments) outcomeOfKey(ctx context.Context, by commands.Caller, id domain.PaymentID, key string, deadline due.Time) (Outcome, bool, error) {
	for {
		tip, err := s.Log.Payments.Load(ctx, by.Account, id, eventstore.Latest)
		if err != nil || !tip.State.Used(domain.KeyHash(by.Account, key)) {
			return Outcome{}, false, err
		}
		request, err := s.requestedWith(ctx, tip, domain.KeyHash(by.Account, key))
		if err != nil {
			return Outcome{}, true, err
		}
		state, revision := tip.State, request.operation(tip.State)
		if revision == 0 {
			return withoutVoid(state.Status()), true, nil
		}
		op, found := state.Operation(revision)
		unanswered := op.State == payment.StateRequested || op.State == payment.StateUnknown
		if unanswered && !deadline.Over(s.Store.Now()) {
			state = s.await(ctx, s.launch(tip, revision, lookUpFirst), deadline)
			op, found = state.Operation(revision)
		}
		again := unanswered && op.Kind == processor.Void && op.State == payment.StateFailed
		if !again { // else another void may have been requested
			return outcomeOf(state, op), found, nil
		}
	}
}

// keyedRequest is the event that used a key.
type keyedRequest struct {
	revision uint64
	intent   bool            // a cancellation before the authorization's outcome
	again    map[uint64]bool // later voids that failed and stay intended, by revision
}

// operation returns the revision of the operation that decides the request. A void that failed and
// stays intended does not: the void that is requested after it does, unless the first one succeeded
// late. 0: there is none yet, or the authorization ended without one.
func (k keyedRequest) operation(s payment.State) uint64 {
	revision := k.revision
	if k.intent {
		revision = voidAfter(s, revision)
	}
	for k.again[revision] {
		if op, _ := s.Operation(revision); op.State == payment.StateSucceeded {
			break
		}
		revision = voidAfter(s, revision)
	}
	return revision
}

// requestedWith finds the event that used a key.
func (s *Payments) requestedWith(ctx context.Context, tip eventstore.Tip[payment.State], hash string) (keyedRequest, error) {
	again := map[uint64]bool{}
	for r := tip.Recorded; ; {
		event, err := eventstore.Payments.Event(r)
		if err != nil {
			return keyedRequest{}, err
		}
		if payment.KeyHashOf(event) == hash {
			_, intent := event.(payment.CancellationIntended)
			return keyedRequest{r.Revision, intent, again}, nil
		}
		if failed, is := event.(payment.VoidFailed); is && failed.Intended {
			again[failed.Request] = true
		}
		if r.PrevSeq == 0 {
			return keyedRequest{}, errNothingMade
		}
		if r, err = s.Store.Read(ctx, r.Shard, r.PrevSeq); err != nil {
			return keyedRequest{}, domain.Unavailable(err)
		}
	}
}

// voidAfter returns the revision of the first void after a revision; 0: none.
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
		o.Message = cmp.Or(op.Answer().Message, "The "+string(op.Kind)+" failed.")
	}
	return o
}

// withoutVoid returns the outcome of an intended cancellation for which no void decides. It is
// undecided while the payment waits for its processor, and failed if the payment was captured
// meanwhile, or is still authorized.
func withoutVoid(s payment.Status) Outcome {
	switch {
	case s == payment.StatusPending:
		return Outcome{}
	case s.EndedUnpaid():
		return Outcome{Known: true, Succeeded: true} // there was nothing to release
	}
	return Outcome{Known: true, Message: "The payment was not cancelled: it is " + string(s) + "."}
}
