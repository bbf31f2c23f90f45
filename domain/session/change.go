package session

import (
	"errors"
	"time"

	"payledger/domain"
)

// Usable returns an error for a session that does not exist, or whose client token has expired
// (D3).
func (s State) Usable(now time.Time) error {
	switch {
	case !s.Exists():
		return domain.Refuse(domain.KindInvalid, domain.ReasonSessionValidation, "The client token is not known.")
	case s.Expired(now):
		return domain.Refuse(domain.KindInvalid, domain.ReasonSessionValidation, "The client token has expired.")
	default:
		return nil
	}
}

// Change is the command to replace all fields.
type Change Changed

// DecideChange changes the session (D4).
func DecideChange(s State, c Change) (Event, error) {
	if err := s.Usable(c.At); err != nil {
		return nil, err
	}
	if c.Fields.ApprovalMode != s.ApprovalMode {
		err := domain.Refuse(domain.KindInvalid, domain.ReasonSessionValidation,
			"The approvalMode of a client session is set at its creation and cannot be changed.")
		err.Recovery = "Leave approvalMode out, or open another session with it: POST /client-session."
		return nil, err
	}
	if err := c.Fields.check(); err != nil {
		return nil, err
	}
	return Changed(c), nil
}

// StartAttempt is the command to make a payment attempt the current one.
type StartAttempt struct {
	At      time.Time
	Attempt domain.AttemptID
	Before  uint64 // number of attempts of the session at its creation
}

// DecideStartAttempt records the attempt; e is nil if it is the current one already. moved means
// that another attempt was started since, so that the caller must create this one again.
func DecideStartAttempt(s State, c StartAttempt) (e Event, moved bool, err error) {
	if err := s.Usable(c.At); err != nil {
		return nil, false, err
	}
	switch {
	case s.ApprovalMode != ApprovalManual:
		return nil, false, NeedsNoApproval()
	case s.Attempt == c.Attempt:
		return nil, false, nil
	case s.Attempts != c.Before:
		return nil, true, nil
	default:
		return AttemptStarted{At: c.At, Attempt: c.Attempt}, false, nil
	}
}

// StartPayment is the command to create a payment from the browser.
type StartPayment struct {
	At      time.Time
	Payment domain.PaymentID
	Before  domain.PaymentID // the previous one, which ended unpaid
	Changed bool             // the session has other fields than those that the payment was made from
}

// ErrChanged means that the session has other fields than those that the payment was made from: the
// caller must make it again.
var ErrChanged = errors.New("the client session was changed meanwhile")

// DecideStartPayment records the browser's payment; e is nil if it is recorded already. moved means
// that the session names another payment, which the caller must check first. The error is
// ErrChanged for a payment of older fields: its price may not be the session's (D12).
func DecideStartPayment(s State, c StartPayment) (e Event, moved bool, err error) {
	switch err := s.Usable(c.At); {
	case s.Exists() && c.Changed:
		return nil, false, ErrChanged
	case s.Exists() && s.Payment == c.Payment:
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case s.Payment != c.Before:
		return nil, true, nil
	default:
		return PaymentStarted{At: c.At, Payment: c.Payment}, false, nil
	}
}

// NeedsNoApproval returns the error for a payment attempt in a session without approval.
func NeedsNoApproval() *domain.Error {
	err := domain.Refuse(domain.KindInvalid, domain.ReasonSessionValidation,
		"The client session has approvalMode AUTO: its payments need no attempt.")
	err.Recovery = "Pay with the token, without an attempt: POST /checkout/payments."
	return err
}
