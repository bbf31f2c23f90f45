package payment

import (
	"fmt"
	"slices"

	"payledger/domain"
	"payledger/domain/processor"
)

// sum returns the sum of the operations of a kind in some state, without those that moved to Past.
func (s State) sum(kind processor.Kind, in func(OperationState) bool) (total domain.Amount) {
	for _, op := range s.Operations {
		if op.Kind == kind && in(op.State) {
			total += op.Amount
		}
	}
	return total
}

func succeeded(s OperationState) bool { return s == StateSucceeded }
func open(s OperationState) bool      { return s.Open() }
func pending(s OperationState) bool   { return s == StatePending }

// Captured returns the amount that processors confirmed as captured (D6: amountCaptured).
func (s State) Captured() domain.Amount {
	return s.Totals.Captured + s.sum(processor.Capture, succeeded)
}

// Refunded returns the amount that processors confirmed as refunded (D6: amountRefunded).
func (s State) Refunded() domain.Amount {
	return s.Totals.Refunded + s.sum(processor.Refund, succeeded)
}

// closed reports whether a final capture or a void is open or has succeeded, so that no further
// capture is possible.
func (s State) closed() bool {
	return s.Totals.Final || s.Totals.Released || slices.ContainsFunc(s.Operations, func(op Operation) bool {
		return (op.Kind == processor.Void || op.Kind == processor.Capture && op.Final) && op.State.counts()
	})
}

// Capturable returns the amount that can still be captured if the status allows a capture.
func (s State) Capturable() domain.Amount {
	if s.closed() {
		return 0
	}
	return max(0, s.Amount-s.Captured()-s.sum(processor.Capture, open)) // negative after an out-of-band capture
}

// ReleasesRest reports whether the success of the operation releases an amount that is held: a
// void, or a final capture of less than all.
func (s State) ReleasesRest(op Operation) bool {
	rest := s.Amount - s.Captured() - s.sum(processor.Capture, open)
	if op.Kind == processor.Capture && !op.State.Open() {
		rest -= op.Amount
	}
	return op.Kind == processor.Void || op.Kind == processor.Capture && op.Final && rest > 0
}

// Refundable returns the captured amount that no refund has returned or is returning (D10).
func (s State) Refundable() domain.Amount {
	return max(0, s.Captured()-s.Refunded()-s.sum(processor.Refund, open))
}

// Held returns the amount that is authorized and neither captured nor released. A void and a final
// capture release everything but the captures that the processor has accepted and not confirmed:
// their money is held until it is captured, or released when they fail.
func (s State) Held() domain.Amount {
	if s.newestAuthorization().State != StateSucceeded {
		return 0
	}
	left := max(0, s.Amount-s.Captured()) // negative after an out-of-band capture
	released := s.Totals.Final || s.Totals.Released || slices.ContainsFunc(s.Operations, func(op Operation) bool {
		return op.State == StateSucceeded && (op.Kind == processor.Void || op.Kind == processor.Capture && op.Final)
	})
	if released {
		return min(left, s.sum(processor.Capture, pending))
	}
	return left
}

// refundableOf returns the amount of one capture that can still be refunded, at most Refundable.
func (s State) refundableOf(capture Operation) domain.Amount {
	if capture.State != StateSucceeded {
		return 0
	}
	left := capture.Amount
	for op := range s.Each {
		if op.Kind == processor.Refund && op.Parent == capture.Revision && op.State.counts() {
			left -= op.Amount
		}
	}
	return max(0, min(left, s.Refundable()))
}

// Check returns an error if the state violates an invariant. Tests call it after every event.
func (s State) Check() error {
	switch {
	case !s.Exists():
		return nil
	case s.Amount < 0 || s.Amount > domain.MaxAmount:
		return fmt.Errorf("payment %s: amount %d out of range", s.ID, s.Amount)
	case !s.Currency.Known():
		return fmt.Errorf("payment %s: unknown currency %q", s.ID, s.Currency)
	case len(s.Operations) == 0:
		return fmt.Errorf("payment %s: created without a request for authorization", s.ID)
	}
	if err := s.checkFinished(); err != nil {
		return err
	}
	s = s.Whole()
	if err := s.checkOperations(); err != nil {
		return err
	}
	return s.checkAmounts()
}

func (s State) checkOperations() error {
	running, approved := 0, 0
	for _, op := range s.Operations {
		if op.Amount < 0 || op.Revision == 0 || op.Revision > s.Revision {
			return fmt.Errorf("payment %s: operation %d is malformed", s.ID, op.Revision)
		}
		if op.State.unconfirmed() {
			running++
		}
		if op.Kind == processor.Authorize && op.State == StateSucceeded {
			approved++
		}
	}
	if running > 1 {
		return fmt.Errorf("payment %s: %d operations run at once", s.ID, running)
	}
	if approved > 1 {
		return fmt.Errorf("payment %s: authorized %d times", s.ID, approved)
	}
	return nil
}

func (s State) checkAmounts() error {
	captured := s.Captured()
	if taken := s.used(processor.Capture, 0); taken > s.Amount {
		return fmt.Errorf("payment %s: captured %d of %d authorized minor units", s.ID, taken, s.Amount)
	}
	if given := s.used(processor.Refund, 0); given > captured {
		return fmt.Errorf("payment %s: refunded %d of %d captured minor units", s.ID, given, captured)
	}
	for _, op := range s.Operations {
		if op.Kind != processor.Capture || op.State != StateSucceeded {
			continue
		}
		if given := s.used(processor.Refund, op.Revision); given > op.Amount {
			return fmt.Errorf("payment %s: refunded %d of a capture of %d minor units", s.ID, given, op.Amount)
		}
	}
	return nil
}

// used returns the sum of the operations of a kind, or of a parent's, that succeeded or are open
// and not overtaken.
func (s State) used(kind processor.Kind, parent uint64) (total domain.Amount) {
	for _, op := range s.Operations {
		counts := op.State == StateSucceeded || op.State.Open() && !s.overtaken(op)
		if op.Kind == kind && counts && (parent == 0 || op.Parent == parent) {
			total += op.Amount
		}
	}
	return total
}
