package payment

import (
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// ClaimKey asks for an idempotency key for an operation on a payment (D9); the id of its stream is what the
// key derives.
type ClaimKey struct {
	At        time.Time
	Account   domain.AccountID
	Payment   domain.PaymentID
	Operation processor.Kind
}

// DecideClaim takes the key. One that is there for the same payment is no refusal: a crash may have left
// it, and the payment knows whether the key was used. A key that made a payment, or belongs to another one,
// names the owner.
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

// Owner is the payment that an idempotency key belongs to, given the state at the id that the key derives;
// "" for a key that was never used.
func (s State) Owner() domain.PaymentID {
	if s.Claim != nil {
		return s.Claim.Payment
	}
	return s.ID
}

// GiveUp asks that the payment of an id that was derived, and is not there, be never made.
type GiveUp struct {
	At      time.Time
	Account domain.AccountID
	Instead domain.PaymentID // that is made in its place; "" for none
}

// DecideGiveUp takes the id's place, so that whoever is about to make the payment finds it taken. A payment that is
// there stays, and so does what was given up before.
func DecideGiveUp(s State, c GiveUp) (Event, error) {
	if s.Revision > 0 {
		return nil, nil
	}
	return KeyClaimed{At: c.At, Account: c.Account, Payment: c.Instead}, nil
}
