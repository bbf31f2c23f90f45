package attempt

import (
	"time"

	"payledger/domain"
)

// Create asks for an attempt; its id is derived, so that a repeat meets the same attempt.
type Create struct{ Created }

// DecideCreate makes the attempt. One that is there is no refusal: a repeat found its own.
func DecideCreate(s State, c Create) (Event, error) {
	if s.Exists() {
		return nil, nil
	}
	return c.Created, nil
}

// Approve lets the payment be made.
type Approve struct {
	At      time.Time
	Payment domain.PaymentID
	Terms   uint64 // revision of the session that the merchant approves
}

// DecideApprove approves an attempt that is pending; an approval again changes nothing (D5).
func DecideApprove(s State, c Approve) (Event, error) {
	switch {
	case !s.Exists():
		return nil, Unknown()
	case s.Decision == Approved:
		return nil, nil
	case s.Status(c.At) != RequiresApproval:
		return nil, s.notPending(c.At, "approved")
	default:
		return WasApproved(c), nil
	}
}

// Abort ends the attempt without a payment.
type Abort struct {
	At     time.Time
	Reason string
}

// DecideAbort aborts an attempt that is pending or has expired; an abort again changes nothing (D5).
func DecideAbort(s State, c Abort) (Event, error) {
	switch {
	case !s.Exists():
		return nil, Unknown()
	case s.Decision == Aborted:
		return nil, nil
	case s.Decision == Approved:
		return nil, s.notPending(c.At, "aborted")
	default:
		return WasAborted(c), nil
	}
}

// DecideComplete records, once, that what was decided is done.
func DecideComplete(s State, at time.Time) (Event, error) {
	if !s.Due() {
		return nil, nil
	}
	return Completed{At: at}, nil
}

// Unknown refuses what is asked of an attempt that does not exist (D3).
func Unknown() *domain.Error {
	return domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "The payment attempt cannot be found.")
}

func (s State) notPending(now time.Time, what string) *domain.Error {
	return domain.Refuse(domain.KindConflict, domain.ReasonAttemptNotPending,
		"A payment attempt that is %s cannot be %s.", s.Status(now), what)
}
