package payment

import (
	"fmt"
	"strconv"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// State is what a payment's events add up to; it travels with the newest of them (I2).
type State struct {
	ID         domain.PaymentID `json:"id"`
	Account    domain.AccountID `json:"accountId"`
	Revision   uint64           `json:"revision"` // number of events folded
	CreatedAt  time.Time        `json:"createdAt"`
	UpdatedAt  time.Time        `json:"updatedAt"`
	OrderID    string           `json:"orderId"`
	CustomerID string           `json:"customerId,omitempty"`
	Currency   domain.Currency  `json:"currencyCode"`
	Amount     domain.Amount    `json:"amount"`
	Order      *domain.Order    `json:"order,omitempty"`
	Metadata   domain.Metadata  `json:"metadata,omitempty"`
	Method     Method           `json:"paymentMethod"`
	Personal   *domain.Sealed   `json:"personal,omitempty"`
	Session    domain.SessionID `json:"sessionId,omitempty"`
	KeyHashes  []string         `json:"keyHashes,omitempty"` // idempotency keys used on it (D9)
	Route      []Target         `json:"route"`               // processors to try, in order (D15)
	Operations []Operation      `json:"operations"`

	Bin     *processor.BinData `json:"binData,omitempty"`
	Risk    *processor.Risk    `json:"riskData,omitempty"`
	ThreeDS string             `json:"threeDSecureResponseCode,omitempty"`
}

// Method is the instrument that pays, as far as it may be shown (§2.2).
type Method struct {
	Token              domain.Token `json:"paymentMethodToken"`
	Type               string       `json:"paymentMethodType"` // PAYMENT_CARD
	TokenizedAt        time.Time    `json:"tokenizedAt"`       // names the card with the token
	Vaulted            bool         `json:"isVaulted,omitempty"`
	PaymentType        string       `json:"paymentType,omitempty"` // absent when not sent (§9, 2.4)
	AuthorizationType  string       `json:"authorizationType"`     // FINAL or ESTIMATED (D5)
	FirstPaymentReason string       `json:"firstPaymentReason,omitempty"`
	Descriptor         string       `json:"descriptor,omitempty"`
	AnalyticsID        string       `json:"analyticsId,omitempty"`
	VaultOnSuccess     bool         `json:"vaultOnSuccess,omitempty"`
	VaultOn3DS         bool         `json:"vaultOn3DS,omitempty"`
	VaultOnAgreement   bool         `json:"vaultOnAgreement,omitempty"`
	Card               domain.Card  `json:"card"`
}

// Target is a merchant account at a processor.
type Target struct {
	Processor  processor.Name `json:"processor"`
	MerchantID string         `json:"processorMerchantId"`
}

// OperationState is where an operation stands as far as the ledger knows.
type OperationState string

const (
	StateRequested OperationState = "REQUESTED" // recorded; the processor may or may not have seen it
	StateUnknown   OperationState = "UNKNOWN"   // no answer within the payment timeout; being asked for (D8)
	StatePending   OperationState = "PENDING"   // the processor answers later
	StateSucceeded OperationState = "SUCCEEDED"
	StateDeclined  OperationState = "DECLINED"
	StateFailed    OperationState = "FAILED"
)

// Open tells whether the result is still to come.
func (s OperationState) Open() bool {
	return s == StateRequested || s == StateUnknown || s == StatePending
}

// Operation is one request to a processor with its answers.
type Operation struct {
	Revision          uint64            `json:"revision"` // of the event that requested it
	Kind              processor.Kind    `json:"kind"`
	Target            Target            `json:"target"`
	Amount            domain.Amount     `json:"amount"`
	RequestedAt       time.Time         `json:"requestedAt"`
	State             OperationState    `json:"state"`
	TransactionID     string            `json:"processorTransactionId,omitempty"`
	AuthorizationCode string            `json:"authorizationCode,omitempty"`
	Answers           []OperationAnswer `json:"answers,omitempty"` // oldest first: pending, then the result
}

// OperationAnswer is one answer of the processor: a transaction event of D6.
type OperationAnswer struct {
	EventID          string         `json:"transactionEventId"` // §6.3
	At               time.Time      `json:"at"`
	State            OperationState `json:"state"` // that it brought the operation into
	ProcessorEventID string         `json:"processorEventId,omitempty"`
	Code             string         `json:"code,omitempty"` // raw, of issuer or processor
	Message          string         `json:"message,omitempty"`
	Failure          domain.Failure `json:"failure,omitempty"` // why, when FAILED
}

// Answer is the newest answer; the zero value before there is one.
func (op Operation) Answer() OperationAnswer {
	if len(op.Answers) == 0 {
		return OperationAnswer{}
	}
	return op.Answers[len(op.Answers)-1]
}

// OperationKey is the processor's idempotency key of the operation that the event at revision requested
// (D14).
func (s State) OperationKey(revision uint64) domain.OperationKey {
	return domain.OperationKey(string(s.ID) + "." + strconv.FormatUint(revision, 10))
}

// Exists tells whether the payment has been created.
func (s State) Exists() bool { return s.Revision > 0 }

// Authorization is the newest authorize operation; nil before creation.
func (s State) Authorization() *Operation {
	for i := len(s.Operations) - 1; i >= 0; i-- {
		if s.Operations[i].Kind == processor.Authorize {
			return &s.Operations[i]
		}
	}
	return nil
}

// Operation finds the operation that the event at revision requested.
func (s State) Operation(revision uint64) (Operation, bool) {
	for _, op := range s.Operations {
		if op.Revision == revision {
			return op, true
		}
	}
	return Operation{}, false
}

// Check states the invariants of a payment, once; tests call it after every step.
func (s State) Check() error {
	switch {
	case !s.Exists():
		return nil
	case s.Amount < 0 || s.Amount > domain.MaxAmount:
		return fmt.Errorf("payment %s: amount %d out of range", s.ID, s.Amount)
	case !s.Currency.Known():
		return fmt.Errorf("payment %s: unknown currency %q", s.ID, s.Currency)
	case len(s.Operations) == 0:
		return fmt.Errorf("payment %s: created without a request for authorization", s.ID)
	}
	open, approved := 0, 0
	for _, op := range s.Operations {
		if op.Amount < 0 || op.Revision == 0 || op.Revision > s.Revision {
			return fmt.Errorf("payment %s: operation %d is malformed", s.ID, op.Revision)
		}
		if op.State.Open() {
			open++
		}
		if op.Kind == processor.Authorize && op.State == StateSucceeded {
			approved++
		}
	}
	if open > 1 {
		return fmt.Errorf("payment %s: %d operations run at once", s.ID, open)
	}
	if approved > 1 {
		return fmt.Errorf("payment %s: authorized %d times", s.ID, approved)
	}
	return nil
}
