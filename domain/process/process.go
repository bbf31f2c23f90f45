package process

import (
	"time"

	"payledger/domain/dispute"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// Forbids returns the disputes as the refund that they forbid names them (D22.2).
func Forbids(disputes []dispute.State) []payment.Disputed {
	all := make([]payment.Disputed, len(disputes))
	for i, d := range disputes {
		all[i] = payment.Disputed{ID: d.ID, Text: d.String()}
	}
	return all
}

// Open lists the operations without an outcome. Each is looked up by its key until the outcome is
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

// Requested returns the operation that the newest event requested, if it has no answer yet. The
// caller sends it now.
func Requested(s payment.State) (payment.Operation, bool) {
	op, found := s.Operation(s.Revision)
	return op, found && op.State == payment.StateRequested
}

// Abandoned reports whether the payment's required action has expired; it then counts as failed
// (D7).
func Abandoned(s payment.State, now time.Time) bool {
	action := s.RequiredAction()
	return action != nil && !now.Before(action.ExpiresAt)
}

// Operation returns the request to the processor. The sender adds the card of an authorization.
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

// SuspectsOutOfBand reports whether an out-of-band operation may stand behind an answer. The
// processor's records are then read before the answer is recorded (§6.3, D7). An out-of-band
// operation may have caused a refusal. A success that releases the rest of the authorization tells
// no amount: a part of the rest may have been captured out of band.
func SuspectsOutOfBand(s payment.State, revision uint64, a processor.Answer) bool {
	op, _ := s.Operation(revision)
	switch a.State {
	case processor.Failed, processor.Declined:
		return op.Kind.Modifies() && op.State.Open()
	case processor.Succeeded:
		return s.ReleasesRest(op) && s.Awaits(revision, a)
	default:
		return false
	}
}

// The interval between two look-ups of an outcome doubles from FirstInterval to LastInterval and
// stays there (D8).
const (
	FirstInterval = 100 * time.Millisecond
	LastInterval  = 5 * time.Minute
)

// NextInterval returns the wait after a number of look-ups without an outcome.
func NextInterval(lookups int) time.Duration {
	if lookups >= 20 {
		return LastInterval
	}
	return min(FirstInterval<<lookups, LastInterval)
}

// LookupsWithin returns the number of look-ups at increasing intervals within the age of an
// operation without an outcome.
func LookupsWithin(age time.Duration) (n int) {
	for NextInterval(n) < LastInterval && age >= NextInterval(n) {
		age -= NextInterval(n)
		n++
	}
	return n
}

// MayResend reports whether the caller sends an operation again under its key if the processor has
// not received it (D8). After the payment timeout no client waits for the operation: the caller
// fences its key and records a failure. It does the same if the request is that far in the future:
// the clock was set back, and the age of the request is unknown. An operation that an answer
// requested was promised, and is sent at any age: nobody else would request it again (D5.8, D7). So
// is a void that delays an automatic capture: with a fence, a cancel that the processor never saw
// would end as a capture.
func MayResend(s payment.State, op payment.Operation, now time.Time, paymentTimeout time.Duration) bool {
	return s.FollowsAnswer(op) || s.DelaysCapture(op) || now.Sub(op.RequestedAt).Abs() < paymentTimeout
}
