package commands

import (
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/domain/session"
)

// Caller is who asks: it becomes the events' account, actor and correlation id (I2).
type Caller struct {
	Account   domain.AccountID
	Actor     string // "api_key:<id>", "client_token:<session id>", "cli:init", "process:recovery"
	RequestID string // X-Request-Id: the events' correlation id; the command id is made from it
}

// SessionInput is a merchant's request for a client session, validated (D4).
type SessionInput struct {
	session.Fields                  // Personal is made here, from Customer
	Customer       *domain.Customer // nil when none was sent
}

// SessionChange gives a session as it shall be, from what it is.
type SessionChange func(SessionInput) (SessionInput, error)

// TokenizeInput is a card entered in the checkout of a session, validated (D12).
type TokenizeInput struct {
	Session domain.SessionID
	Card    processor.Card
	Vault   bool // at once, for the session's customer (D5: paymentFlow VAULT)
}

// PaymentInput is a merchant's request for a payment, validated (D5). What it leaves out comes from the
// session that made the token.
type PaymentInput struct {
	Token          domain.Token
	Session        domain.SessionID // of the checkout whose customer pays in the browser (D12); "" for a merchant's request
	OrderID        string
	CustomerID     string
	Currency       domain.Currency
	Amount         *domain.Amount
	Order          *domain.Order
	Customer       *domain.Customer
	Metadata       domain.Metadata
	Method         session.Method
	IdempotencyKey string        // "" when no header was sent
	Shown          *domain.Price // in a checkout, what the customer saw; nil: not told
}

// APIKeyInput asks for a further API key (D20).
type APIKeyInput struct {
	Name      string
	Scopes    []string
	ExpiresAt *time.Time
}

// ResumeInput hands back what the customer's check ended with (§4 rule 1, D8). Action is the revision of
// the required action that the resume token was made for, 0 when the token could not be read.
type ResumeInput struct {
	Payment        domain.PaymentID
	Action         uint64
	Outcome        processor.Outcome // "": nobody but the processor knows it; it is asked (D12)
	IdempotencyKey string
}
