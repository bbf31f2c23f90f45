package instrument

import (
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Vault asks for the token to be kept for a customer (D5). Personal is sealed under the customer's key.
type Vault struct {
	At         time.Time
	CustomerID string
	Personal   *domain.Sealed
	Payment    domain.PaymentID // whose success vaults it; "" when a merchant asks
	Verified   uint64           // revision of the verification's request that the processor approved; 0 for none
}

// DecideVault vaults the token. One that is the customer's already is no refusal: nothing need be recorded.
func DecideVault(s State, c Vault) (Event, error) {
	if s.Vaulted() && s.Good() && s.CustomerID == c.CustomerID {
		return nil, nil
	}
	if err := s.mayVault(c.At, c.CustomerID, c.Payment); err != nil {
		return nil, err
	}
	return Vaulted{At: c.At, CustomerID: c.CustomerID, Personal: c.Personal, Payment: c.Payment, Verified: c.Verified}, nil
}

// mayVault refuses what cannot be vaulted for a customer; a payment may vault the token that it used.
func (s State) mayVault(at time.Time, customer string, payment domain.PaymentID) error {
	switch {
	case !s.Exists(), !s.Good():
		return badToken("is unknown")
	case s.Vaulted(), payment == "" && s.CustomerID != "" && s.CustomerID != customer:
		return domain.Invalid("PaymentInstrumentVault", domain.Violation{
			Path: "$.customerId", Description: "is not the customer that the token belongs to",
		})
	case s.UsedBy != payment:
		return badToken("was already used for a payment; create a new one")
	case payment == "" && !at.Before(s.ExpiresAt):
		return badToken("is expired; create a new one")
	default:
		return nil
	}
}

// Verify asks for the card to be verified before it is vaulted.
type Verify struct {
	At         time.Time
	CustomerID string
	Target     Verification // where; its Revision is the event's
	Instead    uint64       // revision of a request that its processor could not carry out
}

// DecideVerify requests the verification. One that is under way is gone on with: nothing need be recorded.
func DecideVerify(s State, c Verify) (Event, error) {
	if s.Vaulted() && s.Good() && s.CustomerID == c.CustomerID {
		return nil, nil
	}
	if err := s.mayVault(c.At, c.CustomerID, ""); err != nil {
		return nil, err
	}
	if s.Verification != nil && s.Verification.Revision != c.Instead {
		return nil, nil
	}
	return VerificationRequested{At: c.At, Processor: c.Target.Processor, MerchantID: c.Target.MerchantID, Currency: c.Target.Currency}, nil
}

// FailVerification says what the processor has against the card.
type FailVerification struct {
	At            time.Time
	Request       uint64
	Code, Message string
}

// DecideFailVerification records that the verification failed: the token is good for nothing any more, for its CVV has been
// used and must not be kept. Nothing is recorded for one that is not under way.
func DecideFailVerification(s State, c FailVerification) (Event, error) {
	if s.Verification == nil || s.Verification.Revision != c.Request {
		return nil, nil
	}
	return VerificationFailed(c), nil
}

// NotVerified is what the caller is told whose card was not verified (D3).
func NotVerified() *domain.Error {
	return domain.Refuse(domain.KindConflict, domain.ReasonFailedVerification, "The processor did not verify the payment method.")
}

// DecideDelete takes the token out of the vault; once more changes nothing (D5).
func DecideDelete(s State, at time.Time) (Event, error) {
	switch {
	case !s.Vaulted() || s.InvalidAt != nil:
		return nil, badToken("is unknown")
	case s.DeletedAt != nil:
		return nil, nil
	default:
		return Deleted{At: at}, nil
	}
}

// DecideMakeDefault makes the token its customer's default.
func DecideMakeDefault(s State, at time.Time) (Event, error) {
	if !s.Vaulted() || !s.Good() {
		return nil, badToken("is unknown")
	}
	return MadeDefault{At: at}, nil
}

// Invalidate ends a token whose payment attempt was aborted (§3.3).
type Invalidate struct {
	At      time.Time
	Session domain.SessionID // of the attempt
	Attempt domain.AttemptID
}

// DecideInvalidate ends a token that was made in the attempt's session. A token that was vaulted elsewhere stays, and so
// does one that a payment uses: it is another attempt's, for this one has none.
func DecideInvalidate(s State, c Invalidate) (Event, error) {
	if !s.Exists() || s.Session != c.Session || s.InvalidAt != nil || s.UsedBy != "" {
		return nil, nil
	}
	return Invalidated{At: c.At, Attempt: c.Attempt}, nil
}

// DecideLose ends a vaulted token whose card is gone before it could be kept: nobody can pay with it.
func DecideLose(s State, at time.Time) (Event, error) {
	if !s.Vaulted() || !s.Good() {
		return nil, nil
	}
	return Invalidated{At: at}, nil
}

// Good reports whether the token was neither deleted nor made invalid.
func (s State) Good() bool { return s.DeletedAt == nil && s.InvalidAt == nil }

// Fresh reports whether the card is still kept as it was entered, with its CVV: until it was used or verified.
func (s State) Fresh() bool { return s.UsedBy == "" && !s.Verified && s.Good() }

func badToken(what string) *domain.Error {
	return domain.Refuse(domain.KindInvalid, domain.ReasonInstrumentToken, "The payment method token %s.", what)
}

// The vault.
type (
	// Vaulted says that the token is kept for a customer and may pay again.
	Vaulted struct {
		At         time.Time        `json:"at"`
		CustomerID string           `json:"customerId"`
		Personal   *domain.Sealed   `json:"personal,omitempty"`
		Payment    domain.PaymentID `json:"paymentId,omitempty"`    // whose success vaulted it
		Verified   uint64           `json:"verification,omitempty"` // revision of the request that the processor approved
	}
	// VerificationRequested asks a processor whether the card is good, under the operation key "<reference>.<revision>";
	// the reference is derived from the token.
	VerificationRequested struct {
		At         time.Time       `json:"at"`
		Processor  processor.Name  `json:"processor"`
		MerchantID string          `json:"processorMerchantId"`
		Currency   domain.Currency `json:"currencyCode"`
	}
	// VerificationFailed says that the processor does not vouch for the card; the token has ended.
	VerificationFailed struct {
		At      time.Time `json:"at"`
		Request uint64    `json:"request"`
		Code    string    `json:"code,omitempty"`
		Message string    `json:"message,omitempty"`
	}
	// MadeDefault says that the token is its customer's default, until another becomes it.
	MadeDefault struct {
		At time.Time `json:"at"`
	}
	// Deleted says that the token was taken out of the vault.
	Deleted struct {
		At time.Time `json:"at"`
	}
	// Invalidated says that the token ended with the payment attempt that it was made for, or, vaulted, with its card.
	Invalidated struct {
		At      time.Time        `json:"at"`
		Attempt domain.AttemptID `json:"attemptId"` // "" for the card
	}
)

func (Vaulted) Type() string               { return "instrument.vaulted" }
func (VerificationRequested) Type() string { return "instrument.verification_requested" }
func (VerificationFailed) Type() string    { return "instrument.verification_failed" }
func (MadeDefault) Type() string           { return "instrument.made_default" }
func (Deleted) Type() string               { return "instrument.deleted" }
func (Invalidated) Type() string           { return "instrument.invalidated" }

func (Vaulted) instrumentEvent()               {}
func (VerificationRequested) instrumentEvent() {}
func (VerificationFailed) instrumentEvent()    {}
func (MadeDefault) instrumentEvent()           {}
func (Deleted) instrumentEvent()               {}
func (Invalidated) instrumentEvent()           {}

// evolveVault folds what happens in the vault.
func (s State) evolveVault(e Event) State {
	switch e := e.(type) {
	case Vaulted:
		s.Type, s.CustomerID, s.UpdatedAt = MultiUse, e.CustomerID, e.At
		if e.Personal != nil {
			s.Personal = e.Personal
		}
		s.VaultedAt, s.Verified, s.Verification = &e.At, e.Verified != 0, nil
	case VerificationRequested:
		s.UpdatedAt = e.At
		s.Verification = &Verification{Revision: s.Revision, Processor: e.Processor, MerchantID: e.MerchantID, Currency: e.Currency}
	case VerificationFailed:
		s.UpdatedAt, s.Verification, s.InvalidAt = e.At, nil, &e.At
	case MadeDefault:
		s.UpdatedAt, s.DefaultAt = e.At, &e.At
	case Deleted:
		s.UpdatedAt, s.DeletedAt = e.At, &e.At
	case Invalidated:
		s.UpdatedAt, s.InvalidAt = e.At, &e.At
	}
	s.Card.CVVAvailable = s.Card.CVVAvailable && s.Fresh()
	return s
}
