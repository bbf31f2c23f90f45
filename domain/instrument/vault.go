package instrument

import (
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Vault is the command to store the token for a customer (D5), with Personal under the customer's
// key. A merchant's has no Payment.
type Vault Vaulted

// DecideVault vaults the token. The event is nil if the token is the customer's already.
func DecideVault(s State, c Vault) (Event, error) {
	if s.Vaulted() && s.Good() && s.CustomerID == c.CustomerID {
		return nil, nil
	}
	if err := s.mayVault(c.At, c.CustomerID, c.Payment); err != nil {
		return nil, err
	}
	return Vaulted(c), nil
}

// mayVault returns an error if the token cannot be vaulted for the customer. A payment may vault
// the token that it used.
func (s State) mayVault(at time.Time, customer string, payment domain.PaymentID) error {
	switch {
	case !s.Exists(), !s.Good():
		return badToken("is unknown")
	case s.Vaulted(), payment == "" && s.CustomerID != "" && s.CustomerID != customer:
		return domain.InvalidAt("PaymentInstrumentVault", "$.customerId", "must be the customer to whom the token belongs")
	case s.UsedBy != payment:
		return badToken("was already used for a payment; create a new one")
	case payment == "" && !at.Before(s.ExpiresAt):
		return badToken("is expired; create a new one")
	default:
		return nil
	}
}

// Verify is the command to verify the card before it is vaulted.
type Verify struct {
	At         time.Time
	CustomerID string
	Target     Verification // without Revision
	Instead    uint64       // revision of an earlier request that failed at its processor
}

// DecideVerify requests the verification. The event is nil if one is open.
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

// FailVerification is the command to record that the processor did not verify the card.
type FailVerification VerificationFailed

// DecideFailVerification ends the open verification and the token, whose CVV was used; the event is
// nil for another request.
func DecideFailVerification(s State, c FailVerification) (Event, error) {
	if s.Verification == nil || s.Verification.Revision != c.Request {
		return nil, nil
	}
	return VerificationFailed(c), nil
}

// NotVerified returns the error for a card that was not verified (D3).
func NotVerified() *domain.Error {
	return domain.Refuse(domain.KindConflict, domain.ReasonFailedVerification, "The processor did not verify the payment method.")
}

// DecideDelete deletes a vaulted token; a repeat changes nothing (D5).
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

// Invalidate is the command to end a token whose payment attempt was aborted (§3.3).
type Invalidate struct {
	At      time.Time
	Session domain.SessionID // of the attempt
	Attempt domain.AttemptID
}

// DecideInvalidate ends a token of the attempt's session, unless it was used: then another attempt
// used it.
func DecideInvalidate(s State, c Invalidate) (Event, error) {
	if !s.Exists() || s.Session != c.Session || s.InvalidAt != nil || s.UsedBy != "" {
		return nil, nil
	}
	return Invalidated{At: c.At, Attempt: c.Attempt}, nil
}

// DecideLose ends a vaulted token whose card was lost before it was stored.
func DecideLose(s State, at time.Time) (Event, error) {
	if !s.Vaulted() || !s.Good() {
		return nil, nil
	}
	return Invalidated{At: at}, nil
}

// Good reports whether the token is neither deleted nor invalid.
func (s State) Good() bool { return s.DeletedAt == nil && s.InvalidAt == nil }

// Fresh reports whether the card is stored with its CVV, which ends with its first use or
// verification.
func (s State) Fresh() bool { return s.UsedBy == "" && !s.Verified && s.Good() }

func badToken(what string) *domain.Error {
	return domain.Refuse(domain.KindInvalid, domain.ReasonInstrumentToken, "The payment method token %s.", what)
}

// The vault.
type (
	// Vaulted says that the token is stored for a customer and may pay again.
	Vaulted struct {
		At         time.Time        `json:"at"`                     // when it was decided, UTC
		CustomerID string           `json:"customerId"`             // the merchant's id of the customer
		Personal   *domain.Sealed   `json:"personal,omitempty"`     // the cardholder's name, encrypted under the customer's key
		Payment    domain.PaymentID `json:"paymentId,omitempty"`    // the payment whose success vaulted it
		Verified   uint64           `json:"verification,omitempty"` // revision of the successful request
	}
	// VerificationRequested requests the verification of the card from a processor, under the
	// operation key "<reference>.<revision>"; the reference derives from the token.
	VerificationRequested struct {
		At         time.Time       `json:"at"`                  // when it was decided, UTC
		Processor  processor.Name  `json:"processor"`           // the processor that verifies the card
		MerchantID string          `json:"processorMerchantId"` // the merchant's id at the processor
		Currency   domain.Currency `json:"currencyCode"`        // currency of the verification of amount 0, ISO 4217
	}
	// VerificationFailed says that the processor did not verify the card; the token has ended.
	VerificationFailed struct {
		At      time.Time `json:"at"`                // when it was decided, UTC
		Request uint64    `json:"request"`           // revision of the event that requested the verification
		Code    string    `json:"code,omitempty"`    // raw result code of issuer or processor
		Message string    `json:"message,omitempty"` // the processor's own wording
	}
	// MadeDefault says that the token is the customer's default.
	MadeDefault struct {
		At time.Time `json:"at"` // when it was decided, UTC
	}
	// Deleted says that the vaulted token was deleted.
	Deleted struct {
		At time.Time `json:"at"` // when it was decided, UTC
	}
	// Invalidated says that the token ended with its payment attempt or, if vaulted, with its card.
	Invalidated struct {
		At      time.Time        `json:"at"`                 // when it was decided, UTC
		Attempt domain.AttemptID `json:"attemptId,omitzero"` // the ended attempt; absent: the token ended with its card
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
