package payment

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// State is the state of a payment after its events. The log stores it with the newest event (I2).
type State struct {
	ID          domain.PaymentID `json:"id"`
	Account     domain.AccountID `json:"accountId"`
	Revision    uint64           `json:"revision"` // number of events
	CreatedAt   time.Time        `json:"createdAt"`
	UpdatedAt   time.Time        `json:"updatedAt"`
	OrderID     string           `json:"orderId"`
	CustomerID  string           `json:"customerId,omitempty"`
	Currency    domain.Currency  `json:"currencyCode"`
	Amount      domain.Amount    `json:"amount"` // the authorized total
	Metadata    domain.Metadata  `json:"metadata,omitempty"`
	Method      Method           `json:"paymentMethod"`
	EmailHash   string           `json:"emailHash,omitempty"` // see domain.Sealed
	KeyNumber   uint64           `json:"keyNumber,omitempty"` // see domain.Sealed
	Session     domain.SessionID `json:"sessionId,omitempty"`
	KeyHashes   []string         `json:"keyHashes,omitempty"` // the newest used idempotency keys (D9)
	Route       []Target         `json:"route"`               // processors to try, in order (D15)
	AutoCapture bool             `json:"autoCapture,omitempty"`
	Intent      *Intent          `json:"cancellationIntent,omitempty"`
	Action      *Action          `json:"action,omitempty"` // the newest required action
	Operations  []Operation      `json:"operations"`       // unfinished ones, and the newest finished ones
	Totals      Totals           `json:"totals,omitempty"` // the sums over Past
	Past        *Past            `json:"-"`                // older finished operations; see HasPast
	Claim       *KeyClaimed      `json:"claim,omitempty"`  // set: not a payment but the claim of a key

	Bin     *processor.BinData `json:"binData,omitempty"`
	Risk    *processor.Risk    `json:"riskData,omitempty"`
	ThreeDS string             `json:"threeDSecureResponseCode,omitempty"`
}

// Method is the display data of the instrument that pays (§2.2).
type Method struct {
	Token              domain.Token   `json:"paymentMethodToken"`           // the token that pays
	Type               string         `json:"paymentMethodType"`            // PAYMENT_CARD
	TokenizedAt        time.Time      `json:"tokenizedAt,omitzero"`         // identifies the card, with the token; absent: the vaulted card, without CVV
	Vaulted            bool           `json:"isVaulted,omitempty"`          // the token is stored for the customer
	PaymentType        string         `json:"paymentType,omitempty"`        // absent when not sent (§9, 2.4)
	AuthorizationType  string         `json:"authorizationType"`            // FINAL or ESTIMATED (D5.7)
	FirstPaymentReason string         `json:"firstPaymentReason,omitempty"` // why the card is stored: CardOnFile, Recurring or Unscheduled (§2.2)
	Descriptor         string         `json:"descriptor,omitempty"`         // text for the customer's card statement
	AnalyticsID        string         `json:"analyticsId,omitempty"`        // uuid; names the instrument for analytics, and cannot pay (§2.2)
	VaultOnSuccess     bool           `json:"vaultOnSuccess,omitempty"`     // vault the card once the payment is authorized
	VaultOn3DS         bool           `json:"vaultOn3DS,omitempty"`         // vault the card after a successful 3-D Secure check
	VaultOnAgreement   bool           `json:"vaultOnAgreement,omitempty"`   // vault the card once authorized with firstPaymentReason Recurring or Unscheduled
	Card               domain.Card    `json:"card"`                         // the part of the card that may be shown
	Processor          processor.Name `json:"processor,omitempty"`          // the card is a token of this processor, and pays there only; absent: its number is known
}

// Target is a merchant account at a processor.
type Target struct {
	Processor  processor.Name `json:"processor"`           // the processor
	MerchantID string         `json:"processorMerchantId"` // the merchant's id at the processor
}

// Intent is a cancellation that waits for the authorization's answer (D7): it was requested before
// there was one, or its void was, and failed (D5.8).
type Intent struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// Action is the action that the customer must take (D6: requiredAction).
type Action struct {
	Name      string    `json:"name"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// OperationState is the recorded state of an operation.
type OperationState string

const (
	StateRequested OperationState = "REQUESTED" // recorded; the processor may or may not have seen it
	StateUnknown   OperationState = "UNKNOWN"   // no answer within the payment timeout; look-ups go on (D8)
	StatePending   OperationState = "PENDING"   // accepted; the processor answers later
	StateAction    OperationState = "ACTION"    // an authorization that waits for the customer
	StateSucceeded OperationState = "SUCCEEDED"
	StateDeclined  OperationState = "DECLINED"
	StateFailed    OperationState = "FAILED"
	StateVoided    OperationState = "VOIDED" // an authorization that was released before it had a result

	// StateCompleted is the state of the answer that records the end of the customer's action; no
	// operation has it.
	StateCompleted OperationState = "COMPLETED"
)

// Open reports whether the result is missing.
func (s OperationState) Open() bool {
	return s == StateRequested || s == StateUnknown || s == StatePending
}

// counts reports whether the operation succeeded, or may still succeed.
func (s OperationState) counts() bool { return s.Open() || s == StateSucceeded }

// unconfirmed reports whether the processor has not answered the request.
func (s OperationState) unconfirmed() bool { return s == StateRequested || s == StateUnknown }

// Operation is one request to a processor with its answers.
type Operation struct {
	Revision          uint64                  `json:"revision"` // of the event that requested it
	Kind              processor.Kind          `json:"kind"`
	Target            Target                  `json:"target"`
	Amount            domain.Amount           `json:"amount"`
	RequestedAt       time.Time               `json:"requestedAt"`
	State             OperationState          `json:"state"`
	TransactionID     string                  `json:"processorTransactionId,omitempty"`
	AuthorizationCode string                  `json:"authorizationCode,omitempty"`
	CardTokenType     processor.CardTokenType `json:"cardTokenType,omitempty"` // authorizations, as the processor says; absent: CARD_PAN
	Answers           []OperationAnswer       `json:"answers,omitempty"`       // oldest first: pending, then the result

	Parent      uint64            `json:"parent,omitempty"`    // revision of the operation acted upon
	Final       bool              `json:"final,omitempty"`     // captures
	Outcome     processor.Outcome `json:"outcome,omitempty"`   // completions
	Refused     bool              `json:"refused,omitempty"`   // by our own rules, without a processor (D7)
	OutOfBandID string            `json:"foundId,omitempty"`   // the processor's id of an out-of-band operation
	Overtaken   bool              `json:"overtaken,omitempty"` // an out-of-band adjustment before a recorded one: it did not give the total
	OrderID     string            `json:"orderId,omitempty"`   // refunds
	Reason      string            `json:"reason,omitempty"`    // refunds and voids: the merchant's words

	BeforeApproval bool `json:"beforeApproval,omitempty"` // a void that was requested before the approval was recorded, and had no outcome then
}

// OperationAnswer is one answer of the processor: a transaction event of D6.
type OperationAnswer struct {
	EventID          string         `json:"transactionEventId"` // §6.3
	At               time.Time      `json:"at"`
	State            OperationState `json:"state"` // the operation's state after it
	ProcessorEventID string         `json:"processorEventId,omitempty"`
	Code             string         `json:"code,omitempty"` // raw, of issuer or processor
	Message          string         `json:"message,omitempty"`
	Failure          domain.Failure `json:"failure,omitempty"` // why, when FAILED
}

// Answer returns the newest answer; the zero value if there is none.
func (op Operation) Answer() OperationAnswer {
	if len(op.Answers) == 0 {
		return OperationAnswer{}
	}
	return op.Answers[len(op.Answers)-1]
}

// OperationKey returns the idempotency key for the processor of the operation requested at revision
// (D14.2).
func (s State) OperationKey(revision uint64) domain.OperationKey {
	return domain.OperationKey(string(s.ID) + "." + strconv.FormatUint(revision, 10))
}

// Exists reports whether the payment was created. The claim of a key is not a payment.
func (s State) Exists() bool { return s.Revision > 0 && s.Claim == nil }

// Authorization returns the newest authorize operation; nil before creation.
func (s State) Authorization() *Operation {
	for i := len(s.Operations) - 1; i >= 0; i-- {
		if s.Operations[i].Kind == processor.Authorize {
			return &s.Operations[i]
		}
	}
	return nil
}

// CardTokenType returns with what an authorization was made; for another operation that of the
// newest authorization.
func (s State) CardTokenType(of Operation) processor.CardTokenType {
	if of.Kind != processor.Authorize {
		of = s.newestAuthorization()
	}
	if s.Method.Processor != "" {
		return cmp.Or(of.CardTokenType, processor.ProcessorToken)
	}
	return cmp.Or(of.CardTokenType, processor.CardPAN)
}

// newestAuthorization is Authorization by value; the zero value before creation.
func (s State) newestAuthorization() Operation {
	if op := s.Authorization(); op != nil {
		return *op
	}
	return Operation{}
}

// NewestRequest returns the newest operation that is not out of band; the zero value before
// creation.
func (s State) NewestRequest() (newest Operation) {
	for op := range s.Each {
		if op.OutOfBandID == "" && op.Revision > newest.Revision {
			newest = *op
		}
	}
	return newest
}

// Operation returns the operation that the event at revision requested or recorded.
func (s State) Operation(revision uint64) (Operation, bool) {
	for op := range s.Each {
		if op.Revision == revision {
			return *op, true
		}
	}
	return Operation{}, false
}

// blockingOperation returns the operation that blocks other commands; there is at most one. It has
// no answer, or it is a pending void or adjustment: until its result, the held amount is unknown.
func (s State) blockingOperation() (Operation, bool) {
	for _, op := range s.Operations {
		undecided := op.State == StatePending && (op.Kind == processor.Void || op.Kind == processor.Adjust)
		if op.State.unconfirmed() || undecided {
			return op, true
		}
	}
	return Operation{}, false
}

// request adds an operation of the event at the current revision, by default with the
// authorization's target.
func (s State) request(op Operation) State {
	op.Revision = s.Revision
	if op.Target == (Target{}) {
		op.Target = s.newestAuthorization().Target
	}
	if op.State == "" {
		op.State = StateRequested
	}
	s.Operations = append(slices.Clone(s.Operations), op)
	return s
}

// refused adds an operation that our own rules refused (D7).
func (s State) refused(eventID, message string, op Operation) State {
	op.State, op.Refused = StateFailed, true
	op.Answers = []OperationAnswer{{
		EventID: eventID, At: op.RequestedAt, State: StateFailed, Message: message, Failure: domain.ApplicationError,
	}}
	return s.request(op)
}

// withOperation changes one operation in a copy of the list, because earlier States share the list.
func (s State) withOperation(revision uint64, change func(*Operation)) State {
	s.Operations = slices.Clone(s.Operations)
	for i := range s.Operations {
		if s.Operations[i].Revision == revision {
			change(&s.Operations[i])
		}
	}
	return s
}

func (s State) withKey(hash string) State {
	if hash != "" {
		s.KeyHashes = append(slices.Clone(s.KeyHashes), hash)
	}
	return s
}
