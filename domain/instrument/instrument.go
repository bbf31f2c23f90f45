package instrument

import (
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Token types (enums: tokenType).
const (
	SingleUse = "SINGLE_USE"
	MultiUse  = "MULTI_USE"
)

// MethodCard is the payment method type of cards (§2.2).
const MethodCard = "PAYMENT_CARD"

// State is the state of an instrument after its events.
type State struct {
	Token       domain.Token     `json:"token"`
	Account     domain.AccountID `json:"accountId"`
	Revision    uint64           `json:"revision"`
	CreatedAt   time.Time        `json:"createdAt"`
	UpdatedAt   time.Time        `json:"updatedAt"`
	ExpiresAt   time.Time        `json:"expiresAt"` // single-use tokens: the session's
	Session     domain.SessionID `json:"sessionId,omitempty"`
	CustomerID  string           `json:"customerId,omitempty"`
	Type        string           `json:"tokenType"`
	AnalyticsID string           `json:"analyticsId"`
	Card        domain.Card      `json:"card"`
	Personal    *domain.Sealed   `json:"personal,omitempty"`
	Processor   processor.Name   `json:"processor,omitempty"` // set: the card is a token of this processor, and pays there only
	UsedBy      domain.PaymentID `json:"usedBy,omitempty"`    // vaulted tokens: the first payment

	VaultedAt    *time.Time    `json:"vaultedAt,omitempty"` // nil: never, or at tokenization
	Verified     bool          `json:"isVerified,omitempty"`
	Verification *Verification `json:"verification,omitempty"` // without an outcome yet
	DefaultAt    *time.Time    `json:"defaultAt,omitempty"`    // when it became the customer's default
	DeletedAt    *time.Time    `json:"deletedAt,omitempty"`
	InvalidAt    *time.Time    `json:"invalidAt,omitempty"` // its verification or attempt ended it, or its card was lost
}

// Verification is a request to a processor to verify the card by an authorization of amount 0.
type Verification struct {
	Revision   uint64          `json:"revision"` // of the event that requested it
	Processor  processor.Name  `json:"processor"`
	MerchantID string          `json:"processorMerchantId"`
	Currency   domain.Currency `json:"currencyCode"`
}

// Exists reports whether the instrument was tokenized.
func (s State) Exists() bool { return s.Revision > 0 }

// PaysAt reports whether the card can pay at a processor: the token of a processor pays there only.
func (s State) PaysAt(name processor.Name) bool { return s.Processor == "" || s.Processor == name }

// Vaulted reports whether the token may pay again (D5).
func (s State) Vaulted() bool { return s.Type == MultiUse }

// VaultedBy reports whether the token was vaulted at a time.
func (s State) VaultedBy(at time.Time) bool {
	return s.Vaulted() && (s.VaultedAt == nil || !at.Before(*s.VaultedAt))
}

// Event is a fact about an instrument.
type Event interface {
	domain.Event
	instrumentEvent()
}

// Events lists every event type.
func Events() []Event {
	return []Event{
		Tokenized{}, Used{}, Vaulted{}, VerificationRequested{}, VerificationFailed{}, MadeDefault{}, Deleted{}, Invalidated{},
	}
}

// Tokenized says that a card is stored under a token.
type Tokenized struct {
	At          time.Time        `json:"at"`                   // when it was decided, UTC
	Token       domain.Token     `json:"token"`                // the new token
	Account     domain.AccountID `json:"accountId"`            // the merchant account
	ExpiresAt   time.Time        `json:"expiresAt"`            // a single-use token pays until then, UTC; a vaulted one has no end
	Session     domain.SessionID `json:"sessionId,omitempty"`  // the session in which the card was entered
	CustomerID  string           `json:"customerId,omitempty"` // the merchant's id of the customer
	TokenType   string           `json:"tokenType"`            // SINGLE_USE or MULTI_USE
	AnalyticsID string           `json:"analyticsId"`          // uuid; names the instrument for analytics, and cannot pay (§2.2)
	Card        domain.Card      `json:"card"`                 // the part of the card that may be shown
	Personal    *domain.Sealed   `json:"personal,omitempty"`   // the cardholder's name, encrypted
	Processor   processor.Name   `json:"processor,omitempty"`  // the stored card is a token of this processor; absent: its number
}

// Used says that a payment claimed the token; a vaulted token records only its first payment.
type Used struct {
	At      time.Time        `json:"at"`        // when it was decided, UTC
	Payment domain.PaymentID `json:"paymentId"` // the payment that claimed the token
}

func (Tokenized) Type() string     { return "instrument.tokenized" }
func (Used) Type() string          { return "instrument.used" }
func (Tokenized) instrumentEvent() {}
func (Used) instrumentEvent()      {}

// Tokenize is the command to create a token. The card itself is stored elsewhere before.
type Tokenize struct{ Tokenized }

// DecideTokenize creates the instrument.
func DecideTokenize(s State, c Tokenize) (Event, error) {
	if s.Exists() {
		return nil, domain.Refuse(domain.KindConflict, domain.ReasonPayment, "The payment method token exists already.")
	}
	return c.Tokenized, nil
}

// Use is the command to claim the token for a payment.
type Use struct {
	At      time.Time
	Payment domain.PaymentID
	// Instead is a payment whose claim no longer counts: two requests with one idempotency key
	// raced, and the payment was created with another token (D9).
	Instead domain.PaymentID
}

// DecideUse claims a single-use token, or a vaulted one for its first payment. The event is nil if
// a vaulted token was used before, or if the claim is this payment's already. Later changes than
// c.At do not count.
func DecideUse(s State, c Use) (Event, error) {
	switch {
	case !s.Exists():
		return nil, refuse("is unknown")
	case s.InvalidAt != nil && !c.At.Before(*s.InvalidAt):
		return nil, refuse("is invalid")
	case s.DeletedAt != nil && !c.At.Before(*s.DeletedAt):
		return nil, refuse("is deleted")
	case s.UsedBy == c.Payment, s.Vaulted() && s.UsedBy != "":
		return nil, nil
	case s.UsedBy != "" && s.UsedBy != c.Instead:
		return nil, refuse("was already used for a payment")
	case !s.Vaulted() && !c.At.Before(s.ExpiresAt):
		return nil, refuse("is expired; create a new one")
	default:
		return Used{At: c.At, Payment: c.Payment}, nil
	}
}

func refuse(what string) error {
	return domain.Refuse(domain.KindConflict, domain.ReasonPayment,
		"The payment cannot be created: the payment method token %s.", what)
}

// Evolve folds one event into the state.
func Evolve(s State, e Event) State {
	s.Revision++
	switch e := e.(type) {
	case Tokenized:
		s.Token, s.Account, s.CreatedAt, s.UpdatedAt = e.Token, e.Account, e.At, e.At
		s.ExpiresAt, s.Session, s.CustomerID = e.ExpiresAt, e.Session, e.CustomerID
		s.Type, s.AnalyticsID, s.Card, s.Personal, s.Processor = e.TokenType, e.AnalyticsID, e.Card, e.Personal, e.Processor
	case Used:
		s.UsedBy, s.UpdatedAt = e.Payment, e.At
		s.Card.CVVAvailable = s.Card.CVVAvailable && !s.Vaulted()
	default:
		return s.evolveVault(e)
	}
	return s
}
