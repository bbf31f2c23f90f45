package payment

import (
	"fmt"

	"payledger/domain"
	"payledger/domain/processor"
)

// sum adds up the amounts of the operations of a kind in some state, without those that left.
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

// Captured is what was taken, confirmed by the processor (D6: amountCaptured).
func (s State) Captured() domain.Amount {
	return s.Totals.Captured + s.sum(processor.Capture, succeeded)
}

// Refunded is what went back, confirmed by the processor (D6: amountRefunded).
func (s State) Refunded() domain.Amount {
	return s.Totals.Refunded + s.sum(processor.Refund, succeeded)
}

// closed tells whether no capture can come any more: the last was final, or the rest was released.
func (s State) closed() bool {
	for _, op := range s.Operations {
		final := op.Kind == processor.Capture && op.Final
		if (final || op.Kind == processor.Void) && (op.State.Open() || op.State == StateSucceeded) {
			return true
		}
	}
	return s.Totals.Final || s.Totals.Released
}

// Finished is what can still be captured, were the payment's status to allow it.
func (s State) Capturable() domain.Amount {
	if s.closed() {
		return 0
	}
	return max(0, s.Amount-s.Captured()-s.sum(processor.Capture, open)) // less: one under way was overtaken
}

// Refundable is what can still be refunded: captured, and neither given back nor on its way (D10).
func (s State) Refundable() domain.Amount {
	return max(0, s.Captured()-s.Refunded()-s.sum(processor.Refund, open))
}

// refundableOf is what can still be refunded of one capture; never more than of the whole payment.
func (s State) refundableOf(capture Operation) domain.Amount {
	if capture.State != StateSucceeded {
		return 0
	}
	left := capture.Amount
	for op := range s.Each {
		if op.Kind == processor.Refund && op.Parent == capture.Revision && (op.State.Open() || op.State == StateSucceeded) {
			left -= op.Amount
		}
	}
	return max(0, min(left, s.Refundable()))
}

// counted tells whether the failure of an operation counts for the limit (D3).
func counted(op Operation) bool {
	switch op.Kind {
	case processor.Capture, processor.Void, processor.Refund, processor.Adjust:
		return true
	default:
		return false
	}
}

// Check states the invariants of a payment, once; tests call it after every step.
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
		if op.State.running() {
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
		return fmt.Errorf("payment %s: %d captured of %d", s.ID, taken, s.Amount)
	}
	if given := s.used(processor.Refund, 0); given > captured {
		return fmt.Errorf("payment %s: %d refunded of %d", s.ID, given, captured)
	}
	for _, op := range s.Operations {
		if op.Kind != processor.Capture || op.State != StateSucceeded {
			continue
		}
		if given := s.used(processor.Refund, op.Revision); given > op.Amount {
			return fmt.Errorf("payment %s: %d refunded of the capture of %d", s.ID, given, op.Amount)
		}
	}
	return nil
}

// used adds up the operations of a kind that have happened or are promised, of one parent if it is given. One that
// was overtaken is neither until it is answered.
func (s State) used(kind processor.Kind, parent uint64) (total domain.Amount) {
	for _, op := range s.Operations {
		counts := op.State == StateSucceeded || op.State.Open() && !s.overtaken(op)
		if op.Kind == kind && counts && (parent == 0 || op.Parent == parent) {
			total += op.Amount
		}
	}
	return total
}
