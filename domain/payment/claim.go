package payment

import (
	"time"

	"payledger/domain"
)

// ClaimKey is the command to claim an idempotency key for a payment (D9). Its event is the first at
// the id derived from the key.
type ClaimKey KeyClaimed

// DecideClaim claims the key. A claim for the same payment, which a crash may have left, changes
// nothing. For a key that created a payment or belongs to another payment, the error names the
// owner.
func DecideClaim(s State, c ClaimKey) (Event, error) {
	switch {
	case s.Revision == 0:
		return KeyClaimed(c), nil
	case s.Owner() == c.Payment && s.Claim != nil:
		return nil, nil
	default:
		err := s.KeyUsed()
		err.Payment = s.Owner()
		return nil, err
	}
}

// Owner returns the payment that owns an idempotency key, from the state at the id that derives
// from the key; "": never claimed.
func (s State) Owner() domain.PaymentID {
	if s.Claim != nil {
		return s.Claim.Payment
	}
	return s.ID
}

// GiveUp is the command to prevent the creation of the payment with a derived id.
type GiveUp struct {
	At      time.Time
	Account domain.AccountID
	Instead domain.PaymentID // the payment created in its place; "" for none
}

// DecideGiveUp occupies the id, so that a later creation of the payment fails. An id that is in use
// stays as it is.
func DecideGiveUp(s State, c GiveUp) (Event, error) {
	if s.Revision > 0 {
		return nil, nil
	}
	return KeyClaimed{At: c.At, Account: c.Account, Payment: c.Instead}, nil
}

// KeyHashOf returns the hash of the idempotency key of a capture, cancellation or refund request
// (D9); "" for other events.
func KeyHashOf(e Event) string {
	switch e := e.(type) {
	case CaptureRequested:
		return e.KeyHash
	case CaptureRefused:
		return e.KeyHash
	case CancellationIntended:
		return e.KeyHash
	case VoidRequested:
		return e.KeyHash
	case RefundRequested:
		return e.KeyHash
	case RefundRefused:
		return e.KeyHash
	default:
		return ""
	}
}
