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

// RecordAuthorization brings the processor's answer to the request at revision Request.
type RecordAuthorization struct {
	At      time.Time
	EventID string // UUID of the event to be, and of the transaction event it is (D6)
	Request uint64
	Answer  processor.Answer
}

// DecideAuthorization records an answer as the fact it is (D7).
func DecideAuthorization(s State, c RecordAuthorization) (Event, error) {
	op, err := s.openOperation(c.Request)
	if err != nil {
		return nil, err
	}
	a := c.Answer
	answer := Answer{
		At: c.At, Request: c.Request, EventID: c.EventID, TransactionID: a.ProcessorTransactionID,
		ProcessorEventID: a.ProcessorEventID, Code: a.Code, Message: a.Message,
		AuthorizationCode: a.AuthorizationCode, Bin: a.Bin, Risk: a.Risk, ThreeDS: a.ThreeDS,
	}
	switch a.State {
	case processor.Succeeded:
		return Authorized{answer}, nil
	case processor.Declined:
		return Declined{answer}, nil
	case processor.Pending, processor.ActionRequired:
		if op.State == StatePending {
			return nil, ErrAlreadyAnswered
		}
		return AuthorizationPending{answer}, nil
	case processor.Failed:
		return AuthorizationFailed{answer, failureOf(a)}, nil
	default: // not understood, so no fact (D8)
		return nil, fmt.Errorf("answer in state %q: %w", a.State, processor.ErrUnknown)
	}
}

// failureOf tells a processor that would not (GATEWAY_REJECTED) from one that could not.
func failureOf(a processor.Answer) domain.Failure {
	switch a.Code {
	case processor.CodeRejected:
		return domain.GatewayRejected
	case processor.CodeFenced:
		return domain.GatewayTimeout
	default:
		return domain.ApplicationError
	}
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
	return AuthorizationTimedOut{At: c.At, Request: c.Request}, nil
}

// Unanswered shows an operation that still has no answer as the payment timeout does (D8: status reason
// GATEWAY_TIMEOUT), for a caller who is let go before. It is a view; nothing was recorded.
func (s State) Unanswered(revision uint64) State {
	return s.withOperation(revision, func(op *Operation) {
		if op.State == StateRequested {
			op.State = StateUnknown
		}
	})
}

func (s State) openOperation(revision uint64) (Operation, error) {
	op, found := s.Operation(revision)
	switch {
	case !found:
		return op, ErrNoSuchOperation
	case !op.State.Open():
		return op, ErrAlreadyAnswered
	default:
		return op, nil
	}
}

// answered folds an answer into the operation it belongs to.
func (s State) answered(a Answer, to OperationState, failure domain.Failure) State {
	s = s.withOperation(a.Request, func(op *Operation) {
		op.State = to
		op.TransactionID = domain.FirstNonEmpty(a.TransactionID, op.TransactionID)
		op.AuthorizationCode = a.AuthorizationCode
		op.Answers = append(slices.Clone(op.Answers), OperationAnswer{
			EventID: a.EventID, At: a.At, State: to, ProcessorEventID: a.ProcessorEventID,
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

// withOperation changes one operation in a copy: a State that was handed out stays as it was.
func (s State) withOperation(revision uint64, change func(*Operation)) State {
	s.Operations = slices.Clone(s.Operations)
	for i := range s.Operations {
		if s.Operations[i].Revision == revision {
			change(&s.Operations[i])
		}
	}
	return s
}
