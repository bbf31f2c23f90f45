// Package session is the client session aggregate: what a merchant has prepared for one checkout
// (§2.5, D4).
//
// Rules: any amount needs a currency; approvalMode is fixed at creation; the amount of a session that
// names none is the sum of its order. A MANUAL session names its newest payment attempt, one that pays from the browser
// its newest payment: by that name at most one of them lives. Personal data stays sealed.
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

// Fields is what a merchant may say about a session.
type Fields struct {
	OrderID      string          `json:"orderId,omitempty"`
	CustomerID   string          `json:"customerId,omitempty"`
	Currency     domain.Currency `json:"currencyCode,omitempty"`
	Amount       *domain.Amount  `json:"amount,omitempty"` // as sent; Total gives the one that counts
	Order        *domain.Order   `json:"order,omitempty"`
	Metadata     domain.Metadata `json:"metadata,omitempty"`
	Method       Method          `json:"paymentMethod"`
	ApprovalMode string          `json:"approvalMode"`
	ReturnURL    string          `json:"returnUrl,omitempty"`
	Personal     *domain.Sealed  `json:"personal,omitempty"`
}

// Method is what the session prescribes for the payment method (D4).
type Method struct {
	VaultOnSuccess     bool   `json:"vaultOnSuccess,omitempty"`
	VaultOn3DS         bool   `json:"vaultOn3DS,omitempty"`
	VaultOnAgreement   bool   `json:"vaultOnAgreement,omitempty"`
	Descriptor         string `json:"descriptor,omitempty"`
	PaymentType        string `json:"paymentType,omitempty"`
	AuthorizationType  string `json:"authorizationType,omitempty"`
	FirstPaymentReason string `json:"firstPaymentReason,omitempty"`
	PaymentMethodType  string `json:"paymentMethodType,omitempty"`
	domain.Preferences
}

// State is the session as its events made it.
type State struct {
	ID        domain.SessionID `json:"id"`
	Account   domain.AccountID `json:"accountId"`
	Revision  uint64           `json:"revision"`
	CreatedAt time.Time        `json:"createdAt"`
	UpdatedAt time.Time        `json:"updatedAt"`
	ExpiresAt time.Time        `json:"expiresAt"` // of the client token
	Fields
	Attempt  domain.AttemptID `json:"currentAttemptId,omitempty"` // the newest of a MANUAL session
	Attempts uint64           `json:"attempts,omitempty"`         // how many there were
	Payment  domain.PaymentID `json:"paymentId,omitempty"`        // the newest that its browser asked for; it need not exist yet
}

// Exists reports whether the session was created.
func (s State) Exists() bool { return s.Revision > 0 }

// Expired reports whether its client token is no longer good.
func (s State) Expired(now time.Time) bool { return !now.Before(s.ExpiresAt) }

// Total is the session's amount: the one sent, else the sum of its order (D4); nil when there is neither.
func (f Fields) Total() *domain.Amount {
	if f.Amount != nil {
		return f.Amount
	}
	if total, ok := f.Order.Total(); ok {
		return &total
	}
	return nil
}

// Create asks for a new session.
type Create struct {
	At        time.Time
	ID        domain.SessionID
	Account   domain.AccountID
	ExpiresAt time.Time
	Fields    Fields
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
	At        time.Time        `json:"at"`
	ID        domain.SessionID `json:"id"`
	Account   domain.AccountID `json:"accountId"`
	ExpiresAt time.Time        `json:"expiresAt"`
	Fields
}

// Changed says that the session has these fields from now on.
type Changed struct {
	At time.Time `json:"at"`
	Fields
}

// AttemptStarted says that a payment attempt is the current one from now on.
type AttemptStarted struct {
	At      time.Time        `json:"at"`
	Attempt domain.AttemptID `json:"attemptId"`
}

// PaymentStarted says that the browser may make the payment of this id, and none that was named before.
type PaymentStarted struct {
	At      time.Time        `json:"at"`
	Payment domain.PaymentID `json:"paymentId"`
}

func (Created) Type() string         { return "session.created" }
func (Changed) Type() string         { return "session.changed" }
func (AttemptStarted) Type() string  { return "session.attempt_started" }
func (PaymentStarted) Type() string  { return "session.payment_started" }
func (Created) sessionEvent()        {}
func (Changed) sessionEvent()        {}
func (AttemptStarted) sessionEvent() {}
func (PaymentStarted) sessionEvent() {}

// DecideCreate makes the session, or names what is wrong with it.
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
	return Created{At: c.At, ID: c.ID, Account: c.Account, ExpiresAt: c.ExpiresAt, Fields: c.Fields}, nil
}

// check refuses amounts that say nothing (§7, D4).
func (f Fields) check() error {
	if f.Currency == "" && f.carriesAmount() {
		return domain.Refuse(domain.KindInvalid, domain.ReasonSessionValidation, "A currencyCode must accompany any amount.")
	}
	if f.Amount != nil || f.Order == nil || len(f.Order.LineItems) == 0 {
		return nil
	}
	if _, ok := f.Order.Total(); !ok {
		return domain.Refuse(domain.KindInvalid, domain.ReasonSessionValidation,
			"The sum of the order is not an amount between 0 and %d.", domain.MaxAmount)
	}
	return nil
}

// carriesAmount reports whether any amount was sent, at the top or in the order (§7: each needs a currency).
func (f Fields) carriesAmount() bool {
	if f.Amount != nil {
		return true
	}
	o := f.Order
	return o != nil && (len(o.LineItems) > 0 || len(o.Fees) > 0 || o.Shipping != nil && o.Shipping.Amount != 0)
}

// Evolve folds one event into the state.
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
