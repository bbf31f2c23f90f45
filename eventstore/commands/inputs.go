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

// TokenizeInput is a card entered in the checkout of a session, validated (D12).
type TokenizeInput struct {
	Session domain.SessionID
	Card    processor.Card
}

// PaymentInput is a merchant's request for a payment, validated (D5). What it leaves out comes from the
// session that made the token.
type PaymentInput struct {
	Token          domain.Token
	OrderID        string
	CustomerID     string
	Currency       domain.Currency
	Amount         *domain.Amount
	Order          *domain.Order
	Customer       *domain.Customer
	Metadata       domain.Metadata
	Method         session.Method
	IdempotencyKey string // "" when no header was sent
}

// APIKeyInput asks for a further API key (D20).
type APIKeyInput struct {
	Name      string
	Scopes    []string
	ExpiresAt *time.Time
}

// EndpointInput asks for a further webhook endpoint (D20).
type EndpointInput struct {
	URL         string
	Description string
	EventTypes  []string // empty: all
}
