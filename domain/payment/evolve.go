package payment

import (
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Evolve returns the state after the event. It cannot fail: an event is a fact. An unknown event changes only the
// revision; the codec rejects such events before. At the end, finished operations and the details move to Past. Except
// for Past, the result is the same with and without the Past of s.
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

// evolveAnswer adds processors' answers and timeouts.
func (s State) evolveAnswer(e Event) State {
	switch e := e.(type) {
	case Authorized:
		return s.answered(e.Answer, StateSucceeded, "").follow(e.At).at(e.At)
	case Declined:
		return s.answered(e.Answer, StateDeclined, "").at(e.At)
	case AuthorizationPending:
		return s.answered(e.Answer, StatePending, "").follow(e.At).at(e.At)
	case AuthorizationRerouted:
		return s.rerouted(e).at(e.At)
	case ActionRequired:
		s.Action = &Action{Name: e.Name, ExpiresAt: e.ExpiresAt}
		return s.answered(e.Answer, StateAction, "").follow(e.At).at(e.At)
	case CompletionFailed:
		return s.completionFailed(e).follow(e.At).at(e.At)
	case Voided:
		return s.answered(e.Answer, StateSucceeded, "").released().at(e.At)
	case Adjusted:
		return s.answered(e.Answer, StateSucceeded, "").adjusted(e.Request).at(e.At)
	case Captured:
		return s.answered(e.Answer, StateSucceeded, "").at(e.At)
	case Refunded:
		return s.answered(e.Answer, StateSucceeded, "").at(e.At)
	case CapturePending, VoidPending, RefundPending, AdjustmentPending:
		pending := e.(interface{ answer() Answer }).answer()
		return s.answered(pending, StatePending, "").at(pending.At)
	case AuthorizationFailed, CaptureFailed, VoidFailed, RefundFailed, AdjustmentFailed:
		failed := e.(interface{ failed() FailedAnswer }).failed()
		return s.answered(failed.Answer, StateFailed, failed.Failure).at(failed.At)
	case interface{ silence() NoAnswer }: // a timeout
		silence := e.silence()
		return s.withOperation(silence.Request, func(op *Operation) { op.State = StateUnknown }).at(silence.At)
	}
	return s.evolveOutOfBand(e)
}

// follow requests the next operation after an answer with which money is or may be held: the void of an intended
// cancellation (D7), else the capture of captureMode AUTOMATIC (D5.8).
func (s State) follow(at time.Time) State {
	held := s.held()
	switch {
	case s.under(processor.Void) || s.under(processor.Capture):
		return s
	case s.Intent != nil && (held.State == StateSucceeded || held.State == StatePending || held.State == StateAction):
		return s.request(Operation{
			Kind: processor.Void, Amount: s.Capturable(), Parent: held.Revision, RequestedAt: at, Reason: s.Intent.Reason,
		})
	case s.AutoCapture && held.State == StateSucceeded && s.Amount > 0:
		return s.request(Operation{
			Kind: processor.Capture, Amount: s.Amount, Final: true, Parent: held.Revision, RequestedAt: at,
		})
	}
	return s
}

// under reports whether an operation of kind, a capture or a void, is open or has succeeded.
func (s State) under(kind processor.Kind) bool {
	for _, op := range s.Operations {
		if op.Kind == kind && (op.State.Open() || op.State == StateSucceeded) {
			return true
		}
	}
	return kind == processor.Capture && s.Totals.Taken || kind == processor.Void && s.Totals.Released
}

// at sets UpdatedAt to t; if the previous time is t or later, to 1 µs after the previous time. Receivers compare
// dateUpdated to find the newest state (§6.1), and the clocks of two nodes differ.
func (s State) at(t time.Time) State {
	if !t.After(s.UpdatedAt) {
		t = s.UpdatedAt.Add(time.Microsecond)
	}
	s.UpdatedAt = t
	return s
}
