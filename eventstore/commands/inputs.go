package commands

import (
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/domain/session"
)

// Caller is the origin of a command: its events' account, actor and correlation id (I2).
type Caller struct {
	Account   domain.AccountID
	Actor     string // "api_key:<id>", "client_token:<session id>", "cli:init", "process:recovery"
	RequestID string // X-Request-Id: the events' correlation id
}

// SessionInput is a validated request for a client session (D4).
type SessionInput struct {
	session.Fields                  // Personal is set from Customer
	Customer       *domain.Customer // nil: none was sent
}

// SessionChange returns a session's new fields, given its current ones.
type SessionChange func(SessionInput) (SessionInput, error)

// TokenizeInput is a validated card that was entered in the checkout of a session (D12).
type TokenizeInput struct {
	Session domain.SessionID
	Card    processor.Card
	Vault   bool // vault it for the session's customer (D5.5: paymentFlow VAULT)
}

// PaymentInput is a validated request for a payment (D5.1). The session that created the token supplies the missing
// fields.
type PaymentInput struct {
	Token          domain.Token
	Session        domain.SessionID // of the checkout in the browser (D12); "" for a merchant's request
	OrderID        string
	CustomerID     string
	Currency       domain.Currency
	Amount         *domain.Amount
	Order          *domain.Order
	Customer       *domain.Customer
	Metadata       domain.Metadata
	Method         session.Method
	IdempotencyKey string        // "": none was sent
	Shown          *domain.Price // the price that the customer saw in a checkout; nil: unknown
}

// APIKeyInput describes a new API key (D20).
type APIKeyInput struct {
	Name      string
	Scopes    []string
	ExpiresAt *time.Time
}

// ResumeInput is the result of the customer's action (§4 rule 1, D8). Action is the revision of the action that the
// resume token names; 0 if the token is unreadable.
type ResumeInput struct {
	Payment        domain.PaymentID
	Action         uint64
	Outcome        processor.Outcome // "": only the processor knows it (D12)
	IdempotencyKey string
}
