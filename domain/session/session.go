package session

import (
	"time"

	"payledger/domain"
)

// Approval modes (§2.5).
const (
	ApprovalAuto   = "AUTO"
	ApprovalManual = "MANUAL"
)

// Fields are the fields of a session that a merchant sets.
type Fields struct {
	OrderID      string          `json:"orderId,omitempty"`      // the merchant's order
	CustomerID   string          `json:"customerId,omitempty"`   // the merchant's id of the customer
	Currency     domain.Currency `json:"currencyCode,omitempty"` // ISO 4217
	Amount       *domain.Amount  `json:"amount,omitempty"`       // as sent; see Total
	Order        *domain.Order   `json:"order,omitempty"`        // the articles to buy
	Metadata     domain.Metadata `json:"metadata,omitempty"`     // the merchant's own fields
	Method       Method          `json:"paymentMethod"`          // settings for the payment method
	ApprovalMode string          `json:"approvalMode"`           // AUTO or MANUAL (D12)
	ReturnURL    string          `json:"returnUrl,omitempty"`    // the checkout sends the customer there at the end
	Personal     *domain.Sealed  `json:"personal,omitempty"`     // the customer, encrypted
}

// Method are the session's settings for the payment method (D4).
type Method struct {
	VaultOnSuccess     *bool  `json:"vaultOnSuccess,omitempty"`     // vault the card once the payment is authorized
	VaultOn3DS         *bool  `json:"vaultOn3DS,omitempty"`         // vault the card after a successful 3-D Secure check
	VaultOnAgreement   *bool  `json:"vaultOnAgreement,omitempty"`   // vault the card once authorized with firstPaymentReason Recurring or Unscheduled
	Descriptor         string `json:"descriptor,omitempty"`         // text for the customer's card statement
	PaymentType        string `json:"paymentType,omitempty"`        // FIRST_PAYMENT, ECOMMERCE, SUBSCRIPTION or UNSCHEDULED
	AuthorizationType  string `json:"authorizationType,omitempty"`  // FINAL or ESTIMATED (D5.7)
	FirstPaymentReason string `json:"firstPaymentReason,omitempty"` // why the card is stored: CardOnFile, Recurring or Unscheduled (§2.2)
	PaymentMethodType  string `json:"paymentMethodType,omitempty"`  // PAYMENT_CARD
	domain.Preferences
}

// Vaults reports whether the session wishes that a card is vaulted once its payment is authorized.
func (m Method) Vaults() bool { return m.VaultOnSuccess != nil && *m.VaultOnSuccess }

// State is the state of a session after its events.
type State struct {
	ID        domain.SessionID `json:"id"`
	Account   domain.AccountID `json:"accountId"`
	Revision  uint64           `json:"revision"`
	CreatedAt time.Time        `json:"createdAt"`
	UpdatedAt time.Time        `json:"updatedAt"`
	ExpiresAt time.Time        `json:"expiresAt"` // of the client token
	Fields
	Attempt  domain.AttemptID `json:"currentAttemptId,omitempty"` // the newest of a MANUAL session
	Attempts uint64           `json:"attempts,omitempty"`         // number of attempts
	Payment  domain.PaymentID `json:"paymentId,omitempty"`        // the newest that its browser requested; it may not exist yet
}

// Exists reports whether the session was created.
func (s State) Exists() bool { return s.Revision > 0 }

// Expired reports whether its client token has expired.
func (s State) Expired(now time.Time) bool { return !now.Before(s.ExpiresAt) }

// Total returns the session's amount: the one sent, else the sum of the order (D4); nil if there is
// neither.
func (f Fields) Total() *domain.Amount {
	if f.Amount != nil {
		return f.Amount
	}
	if total, ok := f.Order.Total(); ok {
		return &total
	}
	return nil
}

// Event is a fact about a session.
type Event interface {
	domain.Event
	sessionEvent()
}

// Events lists every event type.
func Events() []Event { return []Event{Created{}, Changed{}, AttemptStarted{}, PaymentStarted{}} }

// Created says that the session exists.
type Created struct {
	At        time.Time        `json:"at"`        // when it was decided, UTC
	ID        domain.SessionID `json:"id"`        // the new session
	Account   domain.AccountID `json:"accountId"` // the merchant account
	ExpiresAt time.Time        `json:"expiresAt"` // the session's client tokens and single-use tokens end then, UTC (D4)
	Fields
}

// Changed says that the session has new fields.
type Changed struct {
	At time.Time `json:"at"` // when it was decided, UTC
	Fields
}

// AttemptStarted says that the session has a new current payment attempt.
type AttemptStarted struct {
	At      time.Time        `json:"at"`        // when it was decided, UTC
	Attempt domain.AttemptID `json:"attemptId"` // the new attempt
}

// PaymentStarted says that the browser may create the payment of this id, and no earlier one.
type PaymentStarted struct {
	At      time.Time        `json:"at"`        // when it was decided, UTC
	Payment domain.PaymentID `json:"paymentId"` // the payment that the browser may create
}

func (Created) Type() string         { return "session.created" }
func (Changed) Type() string         { return "session.changed" }
func (AttemptStarted) Type() string  { return "session.attempt_started" }
func (PaymentStarted) Type() string  { return "session.payment_started" }
func (Created) sessionEvent()        {}
func (Changed) sessionEvent()        {}
func (AttemptStarted) sessionEvent() {}
func (PaymentStarted) sessionEvent() {}

// Create is the command to create a session.
type Create Created

// DecideCreate creates the session.
func DecideCreate(s State, c Create) (Event, error) {
	if s.Exists() {
		return nil, domain.Refuse(domain.KindConflict, domain.ReasonSessionValidation, "The client session exists already.")
	}
	if err := c.Fields.check(); err != nil {
		return nil, err
	}
	if c.Fields.ApprovalMode == "" {
		c.Fields.ApprovalMode = ApprovalAuto
	}
	return Created(c), nil
}

// check returns an error for an amount without a currency, or a sum out of range (§7, D4).
func (f Fields) check() error {
	if f.Currency == "" && (f.Amount != nil || f.Order.HasAmounts()) {
		return domain.Refuse(domain.KindInvalid, domain.ReasonSessionValidation, "A currencyCode must accompany any amount.")
	}
	if f.Amount != nil || !f.Order.HasAmounts() {
		return nil
	}
	if _, ok := f.Order.Total(); !ok {
		return domain.Refuse(domain.KindInvalid, domain.ReasonSessionValidation,
			"The sum of the order must be from 0 to %d minor units.", domain.MaxAmount)
	}
	return nil
}

// Evolve returns the state after the event.
func Evolve(s State, e Event) State {
	s.Revision++
	switch e := e.(type) {
	case Created:
		s.ID, s.Account, s.ExpiresAt, s.Fields = e.ID, e.Account, e.ExpiresAt, e.Fields
		s.CreatedAt, s.UpdatedAt = e.At, e.At
	case Changed:
		s.Fields, s.UpdatedAt = e.Fields, e.At
	case AttemptStarted:
		s.Attempt, s.UpdatedAt = e.Attempt, e.At
		s.Attempts++
	case PaymentStarted:
		s.Payment, s.UpdatedAt = e.Payment, e.At
	}
	return s
}
