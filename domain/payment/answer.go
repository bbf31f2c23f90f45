package payment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// ErrAlreadyAnswered means that the operation already has an answer. The caller continues from the
// current state.
var ErrAlreadyAnswered = errors.New("operation already answered")

// ErrImpossible wraps processor.ErrUnknown: the operation cannot have the answer's state, which
// counts as no answer (D8).
var ErrImpossible = fmt.Errorf("%w", processor.ErrUnknown)

// ErrOtherTransaction wraps processor.ErrUnknown: the answer names another transaction than the
// operation has. It is no answer to the operation, which stays as it is (D8).
var ErrOtherTransaction = fmt.Errorf("%w: its transaction is another one than was recorded", processor.ErrUnknown)

// ErrNoSuchOperation means that the event at that revision did not request an operation.
var ErrNoSuchOperation = errors.New("no such operation")

// RecordAnswer is the command to record the processor's answer to the request at revision Request.
type RecordAnswer struct {
	At              time.Time
	EventID         string // UUID of the new event and of its transaction event (D6)
	Request         uint64
	Answer          processor.Answer
	ActionExpiresAt time.Time // for an answer that requires an action (D7: --action-timeout)
	KeyHash         string    // of the resume that looked the answer up (D9); "" for none
}

// DecideAnswer records the answer if it is new, even if the status would allow no new operation
// (D7).
func DecideAnswer(s State, c RecordAnswer) (Event, error) {
	if c.KeyHash != "" && s.Used(c.KeyHash) {
		return nil, s.KeyUsed()
	}
	op, err := s.answerableOperation(c.Request)
	if err != nil && !s.IsLateSuccess(c.Request, c.Answer) {
		return nil, err
	}
	if op.State == StateVoided && c.Answer.State != processor.Succeeded {
		return nil, ErrAlreadyAnswered // a voided authorization holds nothing
	}
	pends, acts := c.Answer.State == processor.Pending, c.Answer.State == processor.ActionRequired
	if (pends || acts) && op.State == StateAction || pends && op.State == StatePending {
		return nil, ErrAlreadyAnswered // already waiting
	}
	if s.otherTransaction(op, c.Answer) {
		return nil, ErrOtherTransaction
	}
	if op.Kind == processor.Authorize && c.Answer.Code == processor.CodeVoided && s.open(processor.Void) {
		return nil, ErrRunning // the void's own answer decides
	}
	var e Event
	switch op.Kind {
	case processor.Authorize:
		e = s.authorizationAnswer(op, c)
	case processor.Complete:
		e = s.completionAnswer(op, c)
	case processor.Capture:
		e = c.oneOf(Captured{c.fact()}, CapturePending{c.fact()}, CaptureFailed{c.failed()})
	case processor.Void:
		e = c.oneOf(Voided{c.fact()}, VoidPending{c.fact()}, s.voidFailure(op, c))
	case processor.Refund:
		e = c.oneOf(Refunded{c.fact()}, RefundPending{c.fact()}, RefundFailed{c.failed()})
	case processor.Adjust:
		e = c.oneOf(Adjusted{c.fact()}, AdjustmentPending{c.fact()}, AdjustmentFailed{c.failed()})
	}
	if e == nil { // an unknown state: it counts as no answer (D8)
		return nil, fmt.Errorf("%s answered in state %q: %w", op.Kind, c.Answer.State, ErrImpossible)
	}
	return e, nil
}

// otherTransaction reports whether an answer with which money moves, or may move, names another
// transaction than the operation has: a completion has that of its authorization. A capture and a
// refund each have one of their own, which no operation found in the processor's records has.
// Voids and adjustments are not compared: their transactions are not acted upon.
func (s State) otherTransaction(op Operation, a processor.Answer) bool {
	moves := a.State == processor.Succeeded || a.State == processor.Pending || a.State == processor.ActionRequired
	if a.ProcessorTransactionID == "" || !moves {
		return false
	}
	switch op.Kind {
	case processor.Complete:
		op, _ = s.Operation(op.Parent)
	case processor.Capture, processor.Refund:
		if s.foundTransaction(a.ProcessorTransactionID) {
			return true
		}
	case processor.Authorize:
	default:
		return false
	}
	return op.TransactionID != "" && op.TransactionID != a.ProcessorTransactionID
}

func (c RecordAnswer) fact() Answer {
	a := c.Answer
	return Answer{
		At: c.At, Request: c.Request, EventID: c.EventID, TransactionID: a.ProcessorTransactionID,
		ProcessorEventID: a.ProcessorEventID, Code: a.Code, Message: a.Message,
		AuthorizationCode: a.AuthorizationCode, Bin: a.Bin, Risk: a.Risk, ThreeDS: a.ThreeDS, CardTokenType: a.CardTokenType,
		RawAnswer: a.RawAnswer, KeyHash: c.KeyHash,
	}
}

func (c RecordAnswer) failed() FailedAnswer { return FailedAnswer{c.fact(), failureOf(c.Answer)} }

// oneOf returns the event for the answer's state; nil for an unknown state.
func (c RecordAnswer) oneOf(succeeded, pending, failed Event) Event {
	switch {
	case c.Answer.State == processor.Succeeded:
		return succeeded
	case c.Answer.State == processor.Pending:
		return pending
	case refusedByProcessor(c.Answer):
		return failed
	default:
		return nil
	}
}

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

// refusedByProcessor reports whether the processor states that it did nothing.
func refusedByProcessor(a processor.Answer) bool {
	return a.State == processor.Failed || a.State == processor.Declined
}

// TimeOut is the command to record that the payment timeout passed without an answer (D8).
type TimeOut NoAnswer

// DecideTimeOut records once that the outcome is unknown.
func DecideTimeOut(s State, c TimeOut) (Event, error) {
	op, err := s.answerableOperation(c.Request)
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

// Unanswered returns the state as if the operation without an answer had timed out (D8: status
// reason GATEWAY_TIMEOUT), to answer a caller before the payment timeout. Nothing is recorded.
func (s State) Unanswered() State {
	if op, found := s.blockingOperation(); found && op.State == StateRequested {
		return s.withOperation(op.Revision, func(op *Operation) { op.State = StateUnknown })
	}
	return s
}

// answerableOperation returns the operation if it may still get an answer. An authorization may
// also get one while it waits for the customer, and after its void: the processor may have approved
// it before (D7).
func (s State) answerableOperation(revision uint64) (Operation, error) {
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

// withAnswer adds an answer to its operation. An answer to a completion goes to the authorization.
// A result of the authorization ends an open completion.
func (s State) withAnswer(a Answer, to OperationState, failure domain.Failure) State {
	s = s.withKey(a.KeyHash)
	op, _ := s.Operation(a.Request)
	if op.Kind == processor.Authorize && !to.Open() && to != StateAction {
		s = s.endCompletions(to)
	}
	if op.Kind != processor.Complete {
		return s.withAnswerOn(op.Revision, a, to, to, failure)
	}
	s = s.withOperation(op.Revision, func(op *Operation) { op.State = to })
	held, _ := s.Operation(op.Parent)
	if to == StatePending {
		return s.withAnswerOn(held.Revision, a, StateAction, to, "") // look-ups use the key of the completion
	}
	return s.withAnswerOn(held.Revision, a, to, to, failure)
}

// withAnswerOn adds an answer to an operation: shown is stored in the answer; to becomes the
// operation's state.
func (s State) withAnswerOn(revision uint64, a Answer, to, shown OperationState, failure domain.Failure) State {
	s = s.withOperation(revision, func(op *Operation) {
		op.State = to
		op.TransactionID = cmp.Or(a.TransactionID, op.TransactionID)
		op.AuthorizationCode = cmp.Or(a.AuthorizationCode, op.AuthorizationCode)
		op.CardTokenType = cmp.Or(a.CardTokenType, op.CardTokenType)
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
	s.ThreeDS = cmp.Or(a.ThreeDS, s.ThreeDS)
	return s
}
