package payment

import (
	"slices"
	"strconv"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// State is what a payment's events add up to; it travels with the newest of them (I2).
type State struct {
	ID          domain.PaymentID `json:"id"`
	Account     domain.AccountID `json:"accountId"`
	Revision    uint64           `json:"revision"` // number of events folded
	CreatedAt   time.Time        `json:"createdAt"`
	UpdatedAt   time.Time        `json:"updatedAt"`
	OrderID     string           `json:"orderId"`
	CustomerID  string           `json:"customerId,omitempty"`
	Currency    domain.Currency  `json:"currencyCode"`
	Amount      domain.Amount    `json:"amount"` // that may be captured in all: the authorization's total
	Metadata    domain.Metadata  `json:"metadata,omitempty"`
	Method      Method           `json:"paymentMethod"`
	EmailHash   string           `json:"emailHash,omitempty"` // see domain.Sealed
	Session     domain.SessionID `json:"sessionId,omitempty"`
	KeyHashes   []string         `json:"keyHashes,omitempty"` // the newest idempotency keys used on it (D9)
	Route       []Target         `json:"route"`               // processors to try, in order (D15)
	AutoCapture bool             `json:"autoCapture,omitempty"`
	Intent      *Intent          `json:"cancellationIntent,omitempty"`
	Action      *Action          `json:"action,omitempty"` // the newest that was required
	Operations  []Operation      `json:"operations"`       // that an event may change, and the newest that are over
	Totals      Totals           `json:"totals,omitempty"` // the sum of those that left
	Past        *Past            `json:"-"`                // those that left; see HasPast
	Claim       *KeyClaimed      `json:"claim,omitempty"`  // set: this is no payment but the claim of a key

	Bin     *processor.BinData `json:"binData,omitempty"`
	Risk    *processor.Risk    `json:"riskData,omitempty"`
	ThreeDS string             `json:"threeDSecureResponseCode,omitempty"`
}

// Method is the instrument that pays, as far as it may be shown (§2.2).
type Method struct {
	Token              domain.Token `json:"paymentMethodToken"`
	Type               string       `json:"paymentMethodType"` // PAYMENT_CARD
	TokenizedAt        time.Time    `json:"tokenizedAt"`       // names the card with the token; zero: the vaulted one, which has no CVV
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

// Intent is a cancellation that waits for the authorization's answer (D7).
type Intent struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// Action is what the customer must do (D6: requiredAction).
type Action struct {
	Name      string    `json:"name"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// OperationState is where an operation stands as far as the ledger knows.
type OperationState string

const (
	StateRequested OperationState = "REQUESTED" // recorded; the processor may or may not have seen it
	StateUnknown   OperationState = "UNKNOWN"   // no answer within the payment timeout; being asked for (D8)
	StatePending   OperationState = "PENDING"   // the processor answers later
	StateAction    OperationState = "ACTION"    // an authorization that waits for its customer
	StateSucceeded OperationState = "SUCCEEDED"
	StateDeclined  OperationState = "DECLINED"
	StateFailed    OperationState = "FAILED"
	StateVoided    OperationState = "VOIDED" // an authorization that was released before it had a result

	// StateCompleted marks the answer of an authorization that tells of its customer's action; no operation
	// is in it.
	StateCompleted OperationState = "COMPLETED"
)

// Open tells whether the processor still owes the result.
func (s OperationState) Open() bool {
	return s == StateRequested || s == StateUnknown || s == StatePending
}

// running tells whether it is not even known that the processor has the request.
func (s OperationState) running() bool { return s == StateRequested || s == StateUnknown }

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

	Parent      uint64            `json:"parent,omitempty"`  // revision of the operation acted upon
	Final       bool              `json:"final,omitempty"`   // captures
	Outcome     processor.Outcome `json:"outcome,omitempty"` // completions
	Refused     bool              `json:"refused,omitempty"` // by our own books: no processor saw it (D7)
	OutOfBandID string            `json:"foundId,omitempty"` // the processor's id of one that nobody here asked for
	OrderID     string            `json:"orderId,omitempty"` // refunds
	Reason      string            `json:"reason,omitempty"`  // refunds and voids: the merchant's words
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

// Exists tells whether the payment has been created. The claim of a key is no payment.
func (s State) Exists() bool { return s.Revision > 0 && s.Claim == nil }

// Authorization is the newest authorize operation; nil before creation.
func (s State) Authorization() *Operation {
	for i := len(s.Operations) - 1; i >= 0; i-- {
		if s.Operations[i].Kind == processor.Authorize {
			return &s.Operations[i]
		}
	}
	return nil
}

// held is the authorization by value: a fact that comes without one is folded all the same.
func (s State) held() Operation {
	if op := s.Authorization(); op != nil {
		return *op
	}
	return Operation{}
}

// NewestRequest is the operation that was asked for last, here and not elsewhere; the zero value before there is one.
func (s State) NewestRequest() (newest Operation) {
	for op := range s.Each {
		if op.OutOfBandID == "" && op.Revision > newest.Revision {
			newest = *op
		}
	}
	return newest
}

// Operation finds the operation that the event at revision requested, or found.
func (s State) Operation(revision uint64) (Operation, bool) {
	for op := range s.Each {
		if op.Revision == revision {
			return *op, true
		}
	}
	return Operation{}, false
}

// running finds the operation of which nothing is known but the request; there is one at most. A void or an
// adjustment that the processor has accepted but not decided counts: what is held is not known before.
func (s State) running() (Operation, bool) {
	for _, op := range s.Operations {
		undecided := op.State == StatePending && (op.Kind == processor.Void || op.Kind == processor.Adjust)
		if op.State.running() || undecided {
			return op, true
		}
	}
	return Operation{}, false
}

// request adds an operation at the present revision, aimed at the processor of the authorization.
func (s State) request(op Operation) State {
	op.Revision = s.Revision
	if op.Target == (Target{}) {
		op.Target = s.held().Target
	}
	if op.State == "" {
		op.State = StateRequested
	}
	s.Operations = append(slices.Clone(s.Operations), op)
	return s
}

// withOperation changes one operation in a copy: a State that was handed out stays as it was.
func (s State) withOperation(revision uint64, change func(*Operation)) State {
	s.Operations = slices.Clone(s.Operations)
	for i := range s.Operations {
		if s.Operations[i].Revision == revision {
			change(&s.Operations[i])
		}
	}
	return s
}

// withKey remembers an idempotency key that was used on the payment (D9).
func (s State) withKey(hash string) State {
	if hash != "" {
		s.KeyHashes = append(slices.Clone(s.KeyHashes), hash)
	}
	return s
}
