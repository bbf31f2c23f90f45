package attempt

import (
	"time"

	"payledger/domain"
)

// Create is the command to create an attempt. Its id is derived, so that a repeat gets the same
// attempt.
type Create struct{ Created }

// DecideCreate creates the attempt; the event is nil if it exists.
func DecideCreate(s State, c Create) (Event, error) {
	if s.Exists() {
		return nil, nil
	}
	return c.Created, nil
}

// Approve is the command to approve the payment.
type Approve WasApproved

// DecideApprove approves a pending attempt; a repeat changes nothing (D5).
func DecideApprove(s State, c Approve) (Event, error) {
	switch {
	case !s.Exists():
		return nil, NotFound()
	case s.Decision == Approved:
		return nil, nil
	case s.Status(c.At) != RequiresApproval:
		return nil, s.notPending(c.At, "approved")
	default:
		return WasApproved(c), nil
	}
}

// Abort is the command to end the attempt without a payment.
type Abort WasAborted

// DecideAbort aborts a pending or expired attempt; a repeat changes nothing (D5).
func DecideAbort(s State, c Abort) (Event, error) {
	switch {
	case !s.Exists():
		return nil, NotFound()
	case s.Decision == Aborted:
		return nil, nil
	case s.Decision == Approved:
		return nil, s.notPending(c.At, "aborted")
	default:
		return WasAborted(c), nil
	}
}

// DecideComplete records once that the decision's consequence is done.
func DecideComplete(s State, at time.Time) (Event, error) {
	if !s.Due() {
		return nil, nil
	}
	return Completed{At: at}, nil
}

// Refuse is the command to end an approval whose payment can never be created.
type Refuse Refused

// DecideRefuse ends the approval; the event is nil if the approval is completed.
func DecideRefuse(s State, c Refuse) (Event, error) {
	if s.Decision != Approved || s.Done {
		return nil, nil
	}
	return Refused(c), nil
}

// NotCurrent returns the error for the approval of an attempt that is not its session's current one
// (§2.5).
func NotCurrent(current domain.AttemptID) *domain.Error {
	err := domain.Refuse(domain.KindConflict, domain.ReasonAttemptNotPending,
		"A payment attempt that is not the current one of its client session cannot be approved.")
	if current != "" {
		err.Recovery = "Decide the session's current attempt: POST /payment-attempts/" + string(current) + "/approve or POST /payment-attempts/" + string(current) + "/abort."
	}
	return err
}

// NotFound returns the error for an attempt that does not exist (D3).
func NotFound() *domain.Error {
	return domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "The payment attempt cannot be found.")
}

func (s State) notPending(now time.Time, what string) *domain.Error {
	err := domain.Refuse(domain.KindConflict, domain.ReasonAttemptNotPending,
		"A payment attempt that is %s cannot be %s.", s.Status(now), what)
	switch s.Status(now) {
	case Approved:
		err.Recovery = "GET /payments/" + string(s.Payment) + " shows the attempt's payment. POST /payments/" + string(s.Payment) + "/cancel cancels it."
	case Expired:
		err.Recovery = "Open another session: POST /client-session. The client token of this one has expired, and the attempt made no payment."
	}
	return err
}
