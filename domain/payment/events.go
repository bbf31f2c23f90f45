package payment

import (
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Event is a fact about a payment. The interface is sealed: a test proves that each one is known to
// Evolve, to the codec and to the notifier.
type Event interface {
	domain.Event
	paymentEvent()
}

// Events lists every event type, for whoever must know them all.
func Events() []Event {
	return []Event{
		Created{}, Authorized{}, Declined{}, AuthorizationFailed{}, AuthorizationPending{}, AuthorizationTimedOut{},
	}
}

// Created says that the payment exists and that its authorization was requested from the first target
// of its route, under the operation key "<paymentId>.1".
type Created struct {
	At         time.Time        `json:"at"`
	ID         domain.PaymentID `json:"id"`
	Account    domain.AccountID `json:"accountId"`
	OrderID    string           `json:"orderId"`
	CustomerID string           `json:"customerId,omitempty"`
	Currency   domain.Currency  `json:"currencyCode"`
	Amount     domain.Amount    `json:"amount"`
	Order      *domain.Order    `json:"order,omitempty"`
	Metadata   domain.Metadata  `json:"metadata,omitempty"`
	Method     Method           `json:"paymentMethod"`
	Personal   *domain.Sealed   `json:"personal,omitempty"`
	Session    domain.SessionID `json:"sessionId,omitempty"`
	KeyHash    string           `json:"keyHash,omitempty"`
	Route      []Target         `json:"route"`
}

// Answer is what every answer to a request for authorization tells.
type Answer struct {
	At                time.Time          `json:"at"`
	Request           uint64             `json:"request"` // revision of the event that requested it
	EventID           string             `json:"transactionEventId"`
	TransactionID     string             `json:"processorTransactionId,omitempty"`
	ProcessorEventID  string             `json:"processorEventId,omitempty"`
	Code              string             `json:"code,omitempty"`
	Message           string             `json:"message,omitempty"`
	AuthorizationCode string             `json:"authorizationCode,omitempty"`
	Bin               *processor.BinData `json:"binData,omitempty"`
	Risk              *processor.Risk    `json:"riskData,omitempty"`
	ThreeDS           string             `json:"threeDSecureResponseCode,omitempty"`
}

// Authorized says that the processor holds the amount.
type Authorized struct{ Answer }

// Declined says that the issuer refuses.
type Declined struct{ Answer }

// AuthorizationPending says that the processor accepted the request and answers later.
type AuthorizationPending struct{ Answer }

// AuthorizationFailed says that nothing was authorized, and why.
type AuthorizationFailed struct {
	Answer
	Failure domain.Failure `json:"failure"`
}

// AuthorizationTimedOut says that the payment timeout passed without an answer (D8): the outcome is
// unknown and the processor is being asked.
type AuthorizationTimedOut struct {
	At      time.Time `json:"at"`
	Request uint64    `json:"request"`
}

func (Created) Type() string               { return "payment.created" }
func (Authorized) Type() string            { return "payment.authorized" }
func (Declined) Type() string              { return "payment.declined" }
func (AuthorizationPending) Type() string  { return "payment.authorization_pending" }
func (AuthorizationFailed) Type() string   { return "payment.authorization_failed" }
func (AuthorizationTimedOut) Type() string { return "payment.authorization_timed_out" }

func (Created) paymentEvent()               {}
func (Authorized) paymentEvent()            {}
func (Declined) paymentEvent()              {}
func (AuthorizationPending) paymentEvent()  {}
func (AuthorizationFailed) paymentEvent()   {}
func (AuthorizationTimedOut) paymentEvent() {}
