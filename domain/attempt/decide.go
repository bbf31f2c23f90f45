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
	At        time.Time
	Reason    string
	TokenKept bool // another attempt of the session is made with the token
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

// Refuse says why the approved payment can never be made.
type Refuse struct {
	At     time.Time
	Reason string
}

// DecideRefuse ends an approval that cannot be carried out; one that was is left as it is.
func DecideRefuse(s State, c Refuse) (Event, error) {
	if s.Decision != Approved || s.Done {
		return nil, nil
	}
	return Refused(c), nil
}

// NotCurrent refuses the approval of an attempt that its client session does not name: another has taken its place, or a
// crash kept it from ever being asked for (§2.5).
func NotCurrent() *domain.Error {
	return domain.Refuse(domain.KindConflict, domain.ReasonAttemptNotPending,
		"A payment attempt that is not the current one of its client session cannot be approved.")
}

// Unknown refuses what is asked of an attempt that does not exist (D3).
func Unknown() *domain.Error {
	return domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "The payment attempt cannot be found.")
}

func (s State) notPending(now time.Time, what string) *domain.Error {
	return domain.Refuse(domain.KindConflict, domain.ReasonAttemptNotPending,
		"A payment attempt that is %s cannot be %s.", s.Status(now), what)
}
