package payment

import (
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Evolve returns the state after the event. It cannot fail: an event is a fact; the codec rejects
// unknown ones before. At the end, finished operations and the details move to Past. Except for
// Past, the result is the same with and without the Past of s.
func Evolve(s State, e Event) State {
	s.Revision++
	return s.evolve(e).moveFinished(e)
}

func (s State) evolve(e Event) State {
	switch e := e.(type) {
	case Created:
		return s.created(e).at(e.At)
	case KeyClaimed:
		s.ID, s.Account, s.CreatedAt, s.Claim = domain.PaymentID(""), e.Account, e.At, &e
		return s.at(e.At)
	case Resumed:
		return s.resumed(e).at(e.At)
	case CaptureRequested:
		return s.captureRequested(e).at(e.At)
	case CaptureRefused:
		return s.captureRefused(e).at(e.At)
	case CancellationIntended:
		return s.cancellationIntended(e).at(e.At)
	case VoidRequested:
		return s.voidRequested(e).at(e.At)
	case RefundRequested:
		return s.refundRequested(e).at(e.At)
	case RefundRefused:
		return s.refundRefused(e).at(e.At)
	case AdjustmentRequested:
		return s.adjustmentRequested(e).at(e.At)
	case AdjustmentUnneeded:
		return s.withKey(e.KeyHash)
	}
	return s.evolveAnswer(e)
}

func (s State) evolveAnswer(e Event) State {
	switch e := e.(type) {
	case Authorized:
		return s.withAnswer(e.Answer, StateSucceeded, "").approvedBeside(e).requestFollowUp(e.At).at(e.At)
	case Declined:
		return s.withAnswer(e.Answer, StateDeclined, "").at(e.At)
	case AuthorizationPending:
		return s.withAnswer(e.Answer, StatePending, "").requestFollowUp(e.At).at(e.At)
	case AuthorizationRerouted:
		return s.rerouted(e).at(e.At)
	case ActionRequired:
		s.Action = &Action{Name: e.Name, ExpiresAt: e.ExpiresAt}
		return s.withAnswer(e.Answer, StateAction, "").requestFollowUp(e.At).at(e.At)
	case CompletionFailed:
		return s.completionFailed(e).requestFollowUp(e.At).at(e.At)
	case Voided:
		return s.withAnswer(e.Answer, StateSucceeded, "").released().at(e.At)
	case Adjusted:
		return s.withAnswer(e.Answer, StateSucceeded, "").adjusted(e.Request).at(e.At)
	case Captured:
		return s.withAnswer(e.Answer, StateSucceeded, "").at(e.At)
	case Refunded:
		return s.withAnswer(e.Answer, StateSucceeded, "").at(e.At)
	case CapturePending, VoidPending, RefundPending, AdjustmentPending:
		pending := e.(interface{ answer() Answer }).answer()
		return s.withAnswer(pending, StatePending, "").at(pending.At)
	case VoidFailed:
		return s.voidFailed(e).at(e.At)
	case AuthorizationFailed, CaptureFailed, RefundFailed, AdjustmentFailed:
		failed := e.(interface{ failed() FailedAnswer }).failed()
		return s.withAnswer(failed.Answer, StateFailed, failed.Failure).at(failed.At)
	case interface{ noAnswer() NoAnswer }:
		timeout := e.noAnswer()
		return s.withOperation(timeout.Request, func(op *Operation) { op.State = StateUnknown }).at(timeout.At)
	}
	return s.evolveOutOfBand(e)
}

// requestFollowUp requests the next operation after an answer with which money is or may be held:
// the void of an intended cancellation (D7), else the capture of captureMode AUTOMATIC (D5.8).
func (s State) requestFollowUp(at time.Time) State {
	held := s.newestAuthorization()
	switch {
	case s.startedOrDone(processor.Void) || s.startedOrDone(processor.Capture):
		return s
	case s.Intent != nil && (held.State == StateSucceeded || held.State == StatePending || held.State == StateAction):
		return s.request(Operation{
			Kind: processor.Void, Amount: s.Capturable(), Parent: held.Revision, RequestedAt: at, Reason: s.Intent.Reason,
		})
	}
	return s.requestAutoCapture(at)
}

// requestAutoCapture requests the capture of captureMode AUTOMATIC if the authorization is approved
// (D5.8).
func (s State) requestAutoCapture(at time.Time) State {
	held := s.newestAuthorization()
	if !s.AutoCapture || held.State != StateSucceeded || s.Amount == 0 {
		return s
	}
	return s.request(Operation{
		Kind: processor.Capture, Amount: s.Amount, Final: true, Parent: held.Revision, RequestedAt: at,
	})
}

// DelaysCapture reports whether the capture of captureMode AUTOMATIC waits for a void, or will wait
// for it once the authorization is approved (D5.8).
func (s State) DelaysCapture(void Operation) bool {
	return s.AutoCapture && s.Amount > 0 && s.decidesCancel(void)
}

// FollowsAnswer reports whether a void or a capture was requested by an answer to its
// authorization, or by the failure of a void (requestFollowUp), and by no caller: it was requested
// at the time of the answer.
func (s State) FollowsAnswer(op Operation) bool {
	if op.Kind != processor.Void && op.Kind != processor.Capture || op.OutOfBandID != "" {
		return false
	}
	return s.some(func(of *Operation) bool {
		may := of.Revision == op.Parent || of.Kind == processor.Void && of.Revision != op.Revision && (op.Kind == processor.Capture || of.BeforeApproval)
		return may && slices.ContainsFunc(of.Answers, func(a OperationAnswer) bool { return a.At.Equal(op.RequestedAt) })
	})
}

// startedOrDone reports whether an operation of kind, a capture or a void, is open or has
// succeeded.
func (s State) startedOrDone(kind processor.Kind) bool {
	return kind == processor.Capture && s.Totals.Taken || kind == processor.Void && s.Totals.Released ||
		slices.ContainsFunc(s.Operations, func(op Operation) bool { return op.Kind == kind && op.State.counts() })
}

// at sets UpdatedAt to t; if the previous time is t or later, to 1 µs after the previous time.
// Receivers compare dateUpdated to find the newest state (§6.1), and the clocks of two nodes
// differ.
func (s State) at(t time.Time) State {
	if !t.After(s.UpdatedAt) {
		t = s.UpdatedAt.Add(time.Microsecond)
	}
	s.UpdatedAt = t
	return s
}
