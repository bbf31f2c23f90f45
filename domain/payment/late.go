package payment

import (
	"fmt"

	"payledger/domain/processor"
)

// IsLateSuccess reports whether an answer is a success after the operation was recorded as failed
// (D7): its key was fenced, or its completion failed and the action is still required. It is not
// late if another operation has replaced the operation.
func (s State) IsLateSuccess(revision uint64, a processor.Answer) bool {
	op, _ := s.Operation(revision)
	if a.State != processor.Succeeded || op.State != StateFailed {
		return false
	}
	fenced := op.Answer().Code == processor.CodeFenced
	switch op.Kind {
	case processor.Authorize:
		return fenced && op.Revision == s.newestAuthorization().Revision
	case processor.Complete:
		return op.Parent == s.newestAuthorization().Revision && s.newestAuthorization().State == StateAction && !s.open(processor.Complete)
	case processor.Adjust:
		return fenced && !s.adjustedAfter(op.Revision)
	default:
		return fenced
	}
}

// adjustedAfter reports whether a later adjustment has replaced the adjustment at a revision. One
// without an outcome has not: if it fails, the earlier one gives the total. Nor has an overtaken
// one: the processor made it earlier.
func (s State) adjustedAfter(revision uint64) bool {
	return s.some(func(op *Operation) bool {
		return op.Kind == processor.Adjust && op.Revision > revision && op.State == StateSucceeded && !op.Overtaken
	})
}

// succeededAfterFence reports whether the operation succeeded after its key was fenced.
func (op Operation) succeededAfterFence() bool {
	n := len(op.Answers)
	return n > 1 && op.State == StateSucceeded && op.Answers[n-2].Code == processor.CodeFenced
}

// Awaits reports whether the operation at a revision has no outcome yet, or has an outcome that the
// answer, a late success, replaces (D7).
func (s State) Awaits(revision uint64, a processor.Answer) bool {
	op, _ := s.Operation(revision)
	approved := a.State == processor.Succeeded && op.Kind == processor.Authorize
	return op.State.Open() || op.State == StateAction || op.State == StateVoided && approved || s.IsLateSuccess(revision, a)
}

// Contradiction returns a sentence that says why the answer contradicts the recorded operation; ""
// if it does not.
func (s State) Contradiction(revision uint64, a processor.Answer) string {
	op, _ := s.Operation(revision)
	done, awaited := a.State == processor.Succeeded, s.Awaits(revision, a)
	switch {
	case !awaited && !done && (op.State == StateVoided || !refusedByProcessor(a)):
		return "" // the same, or older
	case !awaited && op.Kind == processor.Complete && decidesNothing(a):
		return "" // the authorization had its result before, from elsewhere
	case !awaited && op.State != op.after(a):
		return fmt.Sprintf("The %s is already %s and cannot be %s.", op.Kind, op.State, a.State)
	case s.otherTransaction(op, a):
		return fmt.Sprintf("The processor's transaction id of the %s differs from the recorded one.", op.Kind)
	case done && op.TransactionID != "" && a.ProcessorTransactionID != "" && op.TransactionID != a.ProcessorTransactionID:
		return fmt.Sprintf("The processor's transaction id of the %s differs from the recorded one.", op.Kind)
	default:
		return ""
	}
}

// after returns the operation's state after a final answer. Only an authorization or its completion
// can be declined.
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
