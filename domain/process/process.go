// Package process holds the process managers: given a state, what must be done next with the outside
// world. They are pure; whoever runs them (after a request, after a crash, after a time-out: the same
// code path) performs the step and records its outcome (request first, outcome later; D8).
package process

import (
	"time"

	"payledger/domain/payment"
	"payledger/domain/processor"
)

// Open lists the operations whose outcome the processor owes: each is asked about by its key until it is
// known (D8).
func Open(s payment.State) []payment.Operation {
	var open []payment.Operation
	for _, op := range s.Operations {
		if op.State.Open() {
			open = append(open, op)
		}
	}
	return open
}

// Requested finds the operation that the newest event requested, or that follows from it: what has to be
// sent now. False when the newest event requested none.
func Requested(s payment.State) (payment.Operation, bool) {
	op, found := s.Operation(s.Revision)
	return op, found && op.State == payment.StateRequested
}

// Abandoned reports whether the payment waits for an action that its customer did not take in time: it
// counts as failed (D7).
func Abandoned(s payment.State, now time.Time) bool {
	action := s.RequiredAction()
	return action != nil && !now.Before(action.ExpiresAt)
}

// Operation makes the request to the processor from the recorded facts. The card of an authorization is
// added by whoever sends it.
func Operation(s payment.State, op payment.Operation) processor.Operation {
	out := processor.Operation{
		Kind: op.Kind, Key: s.OperationKey(op.Revision), Processor: op.Target.Processor,
		MerchantID: op.Target.MerchantID, Reference: s.ID, Amount: op.Amount, Currency: s.Currency,
		Final: op.Final, Outcome: op.Outcome,
	}
	if parent, found := s.Operation(op.Parent); found {
		out.ParentID = parent.TransactionID
	}
	if op.Kind == processor.Authorize {
		out.AuthorizationType, out.PaymentType = s.Method.AuthorizationType, s.Method.PaymentType
		out.FirstPaymentReason, out.Descriptor = s.Method.FirstPaymentReason, s.Method.Descriptor
	}
	return out
}

// SuspectsOutOfBand reports whether the answer ends an operation that did not happen, for which something may be the reason
// that was done at the processor behind our back: then its books are looked at before the failure is recorded (§6.3,
// D7).
func SuspectsOutOfBand(op payment.Operation, a processor.Answer) bool {
	switch op.Kind {
	case processor.Capture, processor.Void, processor.Refund, processor.Adjust:
		return op.State.Open() && (a.State == processor.Failed || a.State == processor.Declined)
	default:
		return false
	}
}

// Intervals between two questions about one unknown outcome: they double from First up to Last and stay
// there, for as long as it takes (D8).
const (
	FirstInterval = 100 * time.Millisecond
	LastInterval  = 5 * time.Minute
)

// NextInterval returns the wait after `asked` questions without an answer.
func NextInterval(asked int) time.Duration {
	if asked >= 20 {
		return LastInterval
	}
	return min(FirstInterval<<asked, LastInterval)
}

// Lookups is how many questions the intervals give an outcome that is unknown for so long.
func Lookups(age time.Duration) (asked int) {
	for NextInterval(asked) < LastInterval && age >= NextInterval(asked) {
		age -= NextInterval(asked)
		asked++
	}
	return asked
}

// MayResend reports whether an operation that the processor has never seen is sent again under its key, or
// fenced and recorded as failed (D8). It is sent again while the payment timeout of its request runs:
// later, nobody waits for it any more. One that was requested further ahead of the clock than that is fenced: the clock
// was set back since, and how long ago it was requested is not known.
func MayResend(requestedAt, now time.Time, paymentTimeout time.Duration) bool {
	return now.Sub(requestedAt).Abs() < paymentTimeout
}
