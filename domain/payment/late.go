package payment

import (
	"fmt"

	"payledger/domain/processor"
)

// Late tells whether an answer is a fact that comes after its operation was given up (D7): the processor did not have
// it in time and was to refuse it from then on, or could not complete an action that is still required, and has done
// it all the same. It holds unless something has taken the operation's place.
func (s State) Late(revision uint64, a processor.Answer) bool {
	op, _ := s.Operation(revision)
	if a.State != processor.Succeeded || op.State != StateFailed {
		return false
	}
	fenced := op.Answer().Code == processor.CodeFenced
	switch op.Kind {
	case processor.Authorize:
		return fenced && op.Revision == s.held().Revision
	case processor.Complete:
		return op.Parent == s.held().Revision && s.held().State == StateAction && !s.open(processor.Complete)
	case processor.Adjust:
		return fenced && !s.adjustedAfter(op.Revision)
	default:
		return fenced
	}
}

// adjustedAfter tells whether a later adjustment has set the total, or may.
func (s State) adjustedAfter(revision uint64) bool {
	for op := range s.Each {
		if op.Kind == processor.Adjust && op.Revision > revision && (op.State.Open() || op.State == StateSucceeded) {
			return true
		}
	}
	return false
}

// cameLate tells whether the operation was given up and has happened.
func (op Operation) cameLate() bool {
	n := len(op.Answers)
	return n > 1 && op.State == StateSucceeded && op.Answers[n-2].Code == processor.CodeFenced
}

// Contradiction tells why an answer cannot be true beside what is recorded of its operation, in a sentence. "": it is
// the same, older news, or still to be recorded.
func (s State) Contradiction(revision uint64, a processor.Answer) string {
	op, _ := s.Operation(revision)
	done, voided := a.State == processor.Succeeded, op.State == StateVoided
	awaited := op.State.Open() || op.State == StateAction || s.Late(revision, a) || voided && done && op.Kind == processor.Authorize
	switch {
	case !awaited && !done && (voided || !refusedByProcessor(a)):
		return "" // known, or older
	case !awaited && op.State != op.after(a):
		return fmt.Sprintf("The %s is %s already, and cannot be %s.", op.Kind, op.State, a.State)
	case done && op.TransactionID != "" && a.ProcessorTransactionID != "" && op.TransactionID != a.ProcessorTransactionID:
		return fmt.Sprintf("The %s is another transaction at the processor.", op.Kind)
	default:
		return ""
	}
}

// after is the state that a final answer brings the operation into. Only an authorization can be declined.
func (op Operation) after(a processor.Answer) OperationState {
	switch {
	case a.State == processor.Succeeded:
		return StateSucceeded
	case a.State == processor.Declined && (op.Kind == processor.Authorize || op.Kind == processor.Complete):
		return StateDeclined
	default:
		return StateFailed
	}
}
