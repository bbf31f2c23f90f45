package payment

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// ErrAlreadyAnswered means that the operation has its outcome: somebody else recorded it first. Whoever
// gets it reads the state and goes on from there.
var ErrAlreadyAnswered = errors.New("operation already answered")

// ErrNoSuchOperation means that no event at that revision requested an operation.
var ErrNoSuchOperation = errors.New("no such operation")

// RecordAnswer brings the processor's answer to the request at revision Request.
type RecordAnswer struct {
	At              time.Time
	EventID         string // UUID of the event to be, and of the transaction event it is (D6)
	Request         uint64
	Answer          processor.Answer
	ActionExpiresAt time.Time // of an action that the answer requires (D7: --action-timeout)
}

// DecideAnswer records an answer as the fact it is (D7).
func DecideAnswer(s State, c RecordAnswer) (Event, error) {
	op, err := s.openOperation(c.Request)
	if err != nil && !s.Late(c.Request, c.Answer) {
		return nil, err
	}
	if op.State == StateVoided && c.Answer.State != processor.Succeeded {
		return nil, ErrAlreadyAnswered // that nothing was held is known
	}
	pends, acts := c.Answer.State == processor.Pending, c.Answer.State == processor.ActionRequired
	if (pends || acts) && op.State == StateAction || pends && op.State == StatePending {
		return nil, ErrAlreadyAnswered // known already that it waits
	}
	if op.Kind == processor.Authorize && c.Answer.Code == processor.CodeVoided && s.open(processor.Void) {
		return nil, ErrRunning // the void's own answer tells how the payment ends
	}
	var e Event
	switch op.Kind {
	case processor.Authorize:
		e = s.authorizationAnswer(op, c)
	case processor.Complete:
		e = completionAnswer(c)
	case processor.Capture:
		e = captureAnswer(c)
	case processor.Void:
		e = voidAnswer(c)
	case processor.Refund:
		e = refundAnswer(c)
	case processor.Adjust:
		e = adjustmentAnswer(c)
	}
	if e == nil { // not understood, so no fact (D8)
		return nil, fmt.Errorf("%s answered in state %q: %w", op.Kind, c.Answer.State, processor.ErrUnknown)
	}
	return e, nil
}

// fact is what the events of all answers tell.
func (c RecordAnswer) fact() Answer {
	a := c.Answer
	return Answer{
		At: c.At, Request: c.Request, EventID: c.EventID, TransactionID: a.ProcessorTransactionID,
		ProcessorEventID: a.ProcessorEventID, Code: a.Code, Message: a.Message,
		AuthorizationCode: a.AuthorizationCode, Bin: a.Bin, Risk: a.Risk, ThreeDS: a.ThreeDS,
	}
}

// failed is fact with the reason.
func (c RecordAnswer) failed() FailedAnswer { return FailedAnswer{c.fact(), failureOf(c.Answer)} }

// failureOf tells an issuer that declined and a processor that would not (GATEWAY_REJECTED) from one that
// could not.
func failureOf(a processor.Answer) domain.Failure {
	switch {
	case a.State == processor.Declined:
		return domain.IssuerDeclined
	case a.Code == processor.CodeRejected:
		return domain.GatewayRejected
	case a.Code == processor.CodeFenced:
		return domain.GatewayTimeout
	default:
		return domain.ApplicationError
	}
}

// refusedByProcessor tells an answer that says that nothing was done.
func refusedByProcessor(a processor.Answer) bool {
	return a.State == processor.Failed || a.State == processor.Declined
}

// TimeOut says that the payment timeout passed without an answer (D8).
type TimeOut struct {
	At      time.Time
	Request uint64
}

// DecideTimeOut records that the outcome is unknown, once.
func DecideTimeOut(s State, c TimeOut) (Event, error) {
	op, err := s.openOperation(c.Request)
	if err != nil {
		return nil, err
	}
	if op.State != StateRequested {
		return nil, ErrAlreadyAnswered
	}
	fact := NoAnswer(c)
	switch op.Kind {
	case processor.Authorize:
		return AuthorizationTimedOut{fact}, nil
	case processor.Complete:
		return CompletionTimedOut{fact}, nil
	case processor.Capture:
		return CaptureTimedOut{fact}, nil
	case processor.Void:
		return VoidTimedOut{fact}, nil
	case processor.Refund:
		return RefundTimedOut{fact}, nil
	default:
		return AdjustmentTimedOut{fact}, nil
	}
}

// Unanswered shows an operation that still has no answer as the payment timeout does (D8: status reason
// GATEWAY_TIMEOUT), for a caller who is let go before. It is a view; nothing was recorded.
func (s State) Unanswered() State {
	if op, found := s.running(); found && op.State == StateRequested {
		return s.withOperation(op.Revision, func(op *Operation) { op.State = StateUnknown })
	}
	return s
}

// openOperation finds an operation that may be answered. An authorization that waits for its customer may
// be answered by the processor itself, and one that was voided may turn out to have been approved before:
// these are facts like any other (D7).
func (s State) openOperation(revision uint64) (Operation, error) {
	op, found := s.Operation(revision)
	switch {
	case !found:
		return op, ErrNoSuchOperation
	case !op.State.Open() && op.State != StateAction && (op.State != StateVoided || op.Kind != processor.Authorize):
		return op, ErrAlreadyAnswered
	default:
		return op, nil
	}
}

// answered folds an answer into the operation it belongs to. That of a completion is the authorization's,
// and the result of an authorization ends a completion that is under way.
func (s State) answered(a Answer, to OperationState, failure domain.Failure) State {
	op, _ := s.Operation(a.Request)
	if op.Kind == processor.Authorize && !to.Open() && to != StateAction {
		s = s.endCompletions(to)
	}
	if op.Kind != processor.Complete {
		return s.concluded(op.Revision, a, to, to, failure)
	}
	s = s.withOperation(op.Revision, func(op *Operation) { op.State = to })
	held, _ := s.Operation(op.Parent)
	if to == StatePending {
		return s.concluded(held.Revision, a, StateAction, to, "") // the completion is asked about, not it
	}
	return s.concluded(held.Revision, a, to, to, failure)
}

// concluded brings an operation into a state; shown is what its timeline tells of the answer.
func (s State) concluded(revision uint64, a Answer, to, shown OperationState, failure domain.Failure) State {
	s = s.withOperation(revision, func(op *Operation) {
		op.State = to
		op.TransactionID = domain.FirstNonEmpty(a.TransactionID, op.TransactionID)
		op.AuthorizationCode = domain.FirstNonEmpty(a.AuthorizationCode, op.AuthorizationCode)
		op.Answers = append(slices.Clone(op.Answers), OperationAnswer{
			EventID: a.EventID, At: a.At, State: shown, ProcessorEventID: a.ProcessorEventID,
			Code: a.Code, Message: a.Message, Failure: failure,
		})
	})
	if a.Bin != nil {
		s.Bin = a.Bin
	}
	if a.Risk != nil {
		s.Risk = a.Risk
	}
	s.ThreeDS = domain.FirstNonEmpty(a.ThreeDS, s.ThreeDS)
	return s
}
