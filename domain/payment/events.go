package payment

import (
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Event is a fact about a payment. The interface is sealed; a test proves that Evolve, the codec
// and the notifier handle every event.
type Event interface {
	domain.Event
	paymentEvent()
}

// Events lists every event type.
func Events() []Event {
	return []Event{
		Created{}, Authorized{}, Declined{}, AuthorizationFailed{}, AuthorizationPending{}, AuthorizationTimedOut{},
		AuthorizationRerouted{}, ActionRequired{}, Resumed{}, CompletionFailed{}, CompletionTimedOut{},
		CaptureRequested{}, CaptureRefused{}, Captured{}, CapturePending{}, CaptureFailed{}, CaptureTimedOut{},
		CancellationIntended{}, VoidRequested{}, Voided{}, VoidPending{}, VoidFailed{}, VoidTimedOut{},
		RefundRequested{}, RefundRefused{}, Refunded{}, RefundPending{}, RefundFailed{}, RefundTimedOut{},
		AdjustmentRequested{}, AdjustmentUnneeded{}, Adjusted{}, AdjustmentPending{}, AdjustmentFailed{},
		AdjustmentTimedOut{}, KeyClaimed{}, CapturedOutOfBand{}, VoidedOutOfBand{}, RefundedOutOfBand{}, AdjustedOutOfBand{},
	}
}

// Created says that the payment exists and that its authorization was requested from the first
// target of its route, under the operation key "<paymentId>.1".
type Created struct {
	At          time.Time           `json:"at"`                    // when it was decided, UTC
	ID          domain.PaymentID    `json:"id"`                    // the new payment
	Account     domain.AccountID    `json:"accountId"`             // the merchant account
	OrderID     string              `json:"orderId"`               // the merchant's order
	CustomerID  string              `json:"customerId,omitempty"`  // the merchant's id of the customer
	Currency    domain.Currency     `json:"currencyCode"`          // ISO 4217
	Amount      domain.Amount       `json:"amount"`                // to authorize, minor units
	Order       *domain.Order       `json:"order,omitempty"`       // the bought articles
	Metadata    domain.Metadata     `json:"metadata,omitempty"`    // the merchant's own fields
	Preferences *domain.Preferences `json:"preferences,omitempty"` // wishes for the payment method (D21)
	Method      Method              `json:"paymentMethod"`         // the instrument that pays
	Personal    *domain.Sealed      `json:"personal,omitempty"`    // the customer and the cardholder's name, encrypted
	Session     domain.SessionID    `json:"sessionId,omitempty"`   // the checkout's session; absent: none
	KeyHash     string              `json:"keyHash,omitempty"`     // short hash of the call's idempotency key (D9)
	Route       []Target            `json:"route"`                 // processors to try, in order (D15)
	AutoCapture bool                `json:"autoCapture,omitempty"` // captured at once when authorized (D5.8)
}

// Answer is a processor's answer: the fields that all answers have in common.
type Answer struct {
	At                time.Time               `json:"at"`                                 // when it was decided, UTC
	Request           uint64                  `json:"request"`                            // revision of the event that requested the operation
	EventID           string                  `json:"transactionEventId"`                 // uuid of this event, and of its transaction event (D6)
	TransactionID     string                  `json:"processorTransactionId,omitempty"`   // the processor's id of the transaction
	ProcessorEventID  string                  `json:"processorEventId,omitempty"`         // the processor's id of the notification or answer
	Code              string                  `json:"code,omitempty"`                     // raw result code of issuer or processor ("05")
	Message           string                  `json:"message,omitempty"`                  // the processor's own wording
	AuthorizationCode string                  `json:"authorizationCode,omitempty"`        // the issuer's code of a successful authorization (D13)
	Bin               *processor.BinData      `json:"binData,omitempty"`                  // facts about the card's issuer and product (§2.2)
	Risk              *processor.Risk         `json:"riskData,omitempty"`                 // the processor's checks (§2.4)
	ThreeDS           string                  `json:"threeDSecureResponseCode,omitempty"` // outcome of 3-D Secure (enums: threeDSecureResponseCode)
	KeyHash           string                  `json:"keyHash,omitempty"`                  // short hash of the idempotency key of the resume that looked the answer up (D9)
	CardTokenType     processor.CardTokenType `json:"cardTokenType,omitempty"`            // with what an authorization was made; absent: CARD_PAN
	RawAnswer         *processor.RawAnswer    `json:"rawAnswer,omitempty"`                // the answer's body; absent if the answer came in a notification, which its inbox has
}

// FailedAnswer is a processor's answer that it did nothing.
type FailedAnswer struct {
	Answer
	Failure domain.Failure `json:"failure"` // ISSUER_DECLINED, GATEWAY_REJECTED, GATEWAY_TIMEOUT or APPLICATION_ERROR (D6)
}

// NoAnswer says that the payment timeout passed without an answer (D8). The outcome is unknown;
// look-ups go on.
type NoAnswer struct {
	At      time.Time `json:"at"`      // when it was decided, UTC
	Request uint64    `json:"request"` // revision of the event that requested the operation
}

func (a Answer) answer() Answer             { return a }
func (a FailedAnswer) failed() FailedAnswer { return a }
func (n NoAnswer) noAnswer() NoAnswer       { return n }

// The authorization. If money is or may be held, the answer's event also requests the void of an
// intended cancellation (D7) or the capture of captureMode AUTOMATIC (D5.8), under the revision of
// this event.
type (
	// Authorized says that the processor holds the amount. It requests the intended void (D7) or
	// the automatic capture (D5.8).
	Authorized struct {
		Answer
		Voiding bool `json:"voiding,omitempty"` // a cancel is undecided: its void has no outcome, or failed and left no intent (D5.8)
	}
	// Declined says that the issuer declined.
	Declined struct{ Answer }
	// AuthorizationPending says that the processor accepted the request and answers later. It
	// requests the intended void (D7).
	AuthorizationPending struct{ Answer }
	// AuthorizationFailed says that nothing was authorized, with the reason.
	AuthorizationFailed struct{ FailedAnswer }
	// AuthorizationTimedOut says that the authorization has no answer after the payment timeout
	// (D8).
	AuthorizationTimedOut struct{ NoAnswer }
	// AuthorizationRerouted says that a processor declined or failed, and requests the
	// authorization from the next one (D15).
	AuthorizationRerouted struct {
		FailedAnswer        // Failure is IssuerDeclined for a soft decline
		To           Target `json:"to"` // the next processor of the route
	}
)

// The customer's action (D6, D7).
type (
	// ActionRequired says that the customer must act before expiresAt. It requests the intended
	// void (D7).
	ActionRequired struct {
		Answer
		Name      string    `json:"name"`      // 3DS_AUTHENTICATION or another requiredActionName
		ExpiresAt time.Time `json:"expiresAt"` // the customer's time ends then, UTC (D7)
	}
	// Resumed says that the action has ended, with its outcome, and requests the completion at the
	// processor.
	Resumed struct {
		At      time.Time         `json:"at"`                 // when it was decided, UTC
		EventID string            `json:"transactionEventId"` // uuid of this event, and of its transaction event (D6)
		Action  uint64            `json:"action"`             // revision of the authorization's request
		Outcome processor.Outcome `json:"outcome"`            // AUTHENTICATED or FAILED (D12)
		KeyHash string            `json:"keyHash,omitempty"`  // short hash of the call's idempotency key (D9)
	}
	// CompletionFailed says that the completion did not happen; the action is still required. It
	// requests the intended void (D7).
	CompletionFailed struct{ FailedAnswer }
	// CompletionTimedOut says that the completion has no answer after the payment timeout (D8).
	CompletionTimedOut struct{ NoAnswer }
)

// Captures (D10).
type (
	// CaptureRequested requests a part of the authorized amount; with final, the last part.
	CaptureRequested struct {
		At       time.Time       `json:"at"`                 // when it was decided, UTC
		Amount   domain.Amount   `json:"amount"`             // to capture, minor units
		Final    bool            `json:"final,omitempty"`    // releases the rest of the authorization
		Metadata domain.Metadata `json:"metadata,omitempty"` // merged into the payment's
		Order    *domain.Order   `json:"order,omitempty"`    // the captured items (D21)
		KeyHash  string          `json:"keyHash,omitempty"`  // short hash of the call's idempotency key (D9)
	}
	// CaptureRefused says that our own rules refused a capture (D7); no processor was called.
	CaptureRefused struct {
		At      time.Time     `json:"at"`                 // when it was decided, UTC
		EventID string        `json:"transactionEventId"` // uuid of this event, and of its transaction event (D6)
		Amount  domain.Amount `json:"amount"`             // requested, minor units
		Final   bool          `json:"final,omitempty"`    // the request would have released the rest
		Message string        `json:"message"`            // why, with amounts
		KeyHash string        `json:"keyHash,omitempty"`  // short hash of the call's idempotency key (D9)
	}
	// Captured says that the amount was taken.
	Captured struct{ Answer }
	// CapturePending says that the processor accepted the capture and confirms it later.
	CapturePending struct{ Answer }
	// CaptureFailed says that nothing was taken.
	CaptureFailed struct{ FailedAnswer }
	// CaptureTimedOut says that the capture has no answer after the payment timeout (D8).
	CaptureTimedOut struct{ NoAnswer }
)

// Cancellations: voids at the processor (§3.1, D7).
type (
	// CancellationIntended says that the payment will be cancelled when its authorization has an
	// answer (D7).
	CancellationIntended struct {
		At      time.Time `json:"at"`                // when it was decided, UTC
		Reason  string    `json:"reason,omitempty"`  // the merchant's own text
		KeyHash string    `json:"keyHash,omitempty"` // short hash of the call's idempotency key (D9)
	}
	// VoidRequested requests the release of the amount that is held and not captured.
	VoidRequested struct {
		At      time.Time     `json:"at"`                // when it was decided, UTC
		Amount  domain.Amount `json:"amount"`            // to release
		Reason  string        `json:"reason,omitempty"`  // the merchant's own text
		KeyHash string        `json:"keyHash,omitempty"` // short hash of the call's idempotency key (D9)
	}
	// Voided says that the amount was released.
	Voided struct{ Answer }
	// VoidPending says that the processor accepted the void and confirms it later.
	VoidPending struct{ Answer }
	// VoidFailed says that nothing was released. With capture, the processor refused the void of an
	// approved payment, the capture of captureMode AUTOMATIC waited for it, and the event requests
	// this capture. With intended, the void was requested before the approval was recorded: it is
	// requested again, by this event if the payment is approved now, else as an intended one is
	// (D5.8).
	VoidFailed struct {
		FailedAnswer
		Capture  bool `json:"capture,omitempty"`  // requests the automatic capture
		Intended bool `json:"intended,omitempty"` // the payment will still be cancelled, now or when its authorization has an answer (D7)
	}
	// VoidTimedOut says that the void has no answer after the payment timeout (D8).
	VoidTimedOut struct{ NoAnswer }
)

// Refunds (D10).
type (
	// RefundRequested requests the return of captured money. The field capture is the revision of
	// the refunded capture's request; absent means any capture.
	RefundRequested struct {
		At       time.Time       `json:"at"`                 // when it was decided, UTC
		Amount   domain.Amount   `json:"amount"`             // to return, minor units
		Capture  uint64          `json:"capture,omitempty"`  // revision of the refunded capture's request; absent: any capture
		OrderID  string          `json:"orderId,omitempty"`  // the merchant's id for the refund
		Reason   string          `json:"reason,omitempty"`   // the merchant's own text
		Metadata domain.Metadata `json:"metadata,omitempty"` // merged into the payment's
		KeyHash  string          `json:"keyHash,omitempty"`  // short hash of the call's idempotency key (D9)
	}
	// RefundRefused says that our own rules refused a refund (D7); no processor was called.
	RefundRefused struct {
		At      time.Time     `json:"at"`                    // when it was decided, UTC
		EventID string        `json:"transactionEventId"`    // uuid of this event, and of its transaction event (D6)
		Amount  domain.Amount `json:"amount"`                // requested, minor units
		Capture uint64        `json:"capture,omitempty"`     // revision of the requested capture's request; absent: any capture
		Nothing bool          `json:"nothingLeft,omitempty"` // all that was captured is refunded, and no capture or refund is pending
		Message string        `json:"message"`               // why, with amounts
		KeyHash string        `json:"keyHash,omitempty"`     // short hash of the call's idempotency key (D9)
	}
	// Refunded says that the money was returned.
	Refunded struct{ Answer }
	// RefundPending says that the processor accepted the refund and confirms it later.
	RefundPending struct{ Answer }
	// RefundFailed says that the money was not returned.
	RefundFailed struct{ FailedAnswer }
	// RefundTimedOut says that the refund has no answer after the payment timeout (D8).
	RefundTimedOut struct{ NoAnswer }
)

// Adjustments of the authorization (D10).
type (
	// AdjustmentRequested requests a new authorized total.
	AdjustmentRequested struct {
		At      time.Time     `json:"at"`                // when it was decided, UTC
		Amount  domain.Amount `json:"amount"`            // the new authorized total, minor units
		KeyHash string        `json:"keyHash,omitempty"` // short hash of the call's idempotency key (D9)
	}
	// AdjustmentUnneeded says that the requested total was authorized already; only the idempotency
	// key is used.
	AdjustmentUnneeded struct {
		At      time.Time `json:"at"`      // when it was decided, UTC
		KeyHash string    `json:"keyHash"` // short hash of the call's idempotency key (D9)
	}
	// Adjusted says that the new total is authorized.
	Adjusted struct{ Answer }
	// AdjustmentPending says that the processor accepted the adjustment and confirms it later.
	AdjustmentPending struct{ Answer }
	// AdjustmentFailed says that the total is unchanged.
	AdjustmentFailed struct{ FailedAnswer }
	// AdjustmentTimedOut says that the adjustment has no answer after the payment timeout (D8).
	AdjustmentTimedOut struct{ NoAnswer }
)

// KeyClaimed says that an idempotency key belongs to a payment and an operation (D9). It is the
// first event of the aggregate at the id derived from the key, and creates no payment. Without an
// operation it says that the payment of this id will never be created; paymentId names the payment
// created instead, if any.
type KeyClaimed struct {
	At        time.Time        `json:"at"`                 // when it was decided, UTC
	Account   domain.AccountID `json:"accountId"`          // the merchant account
	Payment   domain.PaymentID `json:"paymentId,omitzero"` // the payment that owns the key; absent: the key is claimed so that no payment is made
	Operation processor.Kind   `json:"operation"`          // the operation that the key was used for; empty: none
}

// OutOfBand is an operation in the processor's records that this ledger did not request (§6.3).
type OutOfBand struct {
	At               time.Time     `json:"at"`                               // when it was decided, UTC
	EventID          string        `json:"transactionEventId"`               // uuid of this event, and of its transaction event (D6)
	ID               string        `json:"processorOperationId"`             // the processor's id; recorded once
	Amount           domain.Amount `json:"amount"`                           // minor units of the payment's currency
	TransactionID    string        `json:"processorTransactionId,omitempty"` // the processor's id of the transaction
	ParentID         string        `json:"parentTransactionId,omitempty"`    // the transaction acted upon
	ProcessorEventID string        `json:"processorEventId,omitempty"`       // the processor's id of the record's event
	DoneAt           time.Time     `json:"doneAt"`                           // by the processor's clock
}

// Out-of-band operations. They are recorded and never refused (D7).
type (
	// CapturedOutOfBand says that the amount was taken; with final, that the rest was released.
	CapturedOutOfBand struct {
		OutOfBand
		Final bool `json:"final,omitempty"` // the rest of the authorization was released
	}
	// VoidedOutOfBand says that the amount held and not captured was released.
	VoidedOutOfBand struct{ OutOfBand }
	// RefundedOutOfBand says that the money of a capture was returned.
	RefundedOutOfBand struct {
		OutOfBand
		Capture uint64 `json:"capture,omitempty"` // revision of the capture's request; absent: unknown
	}
	// AdjustedOutOfBand says that the amount is the authorized total. With overtaken, it was the
	// total until a later adjustment.
	AdjustedOutOfBand struct {
		OutOfBand
		Overtaken bool `json:"overtaken,omitempty"` // a later adjustment gave the authorized total
	}
)

// Names of the events in the log (ce-type, I2).

func (Created) Type() string               { return "payment.created" }
func (Authorized) Type() string            { return "payment.authorized" }
func (Declined) Type() string              { return "payment.declined" }
func (AuthorizationPending) Type() string  { return "payment.authorization_pending" }
func (AuthorizationFailed) Type() string   { return "payment.authorization_failed" }
func (AuthorizationTimedOut) Type() string { return "payment.authorization_timed_out" }
func (AuthorizationRerouted) Type() string { return "payment.authorization_rerouted" }
func (ActionRequired) Type() string        { return "payment.action_required" }
func (Resumed) Type() string               { return "payment.resumed" }
func (CompletionFailed) Type() string      { return "payment.completion_failed" }
func (CompletionTimedOut) Type() string    { return "payment.completion_timed_out" }
func (CaptureRequested) Type() string      { return "payment.capture_requested" }
func (CaptureRefused) Type() string        { return "payment.capture_refused" }
func (Captured) Type() string              { return "payment.captured" }
func (CapturePending) Type() string        { return "payment.capture_pending" }
func (CaptureFailed) Type() string         { return "payment.capture_failed" }
func (CaptureTimedOut) Type() string       { return "payment.capture_timed_out" }
func (CancellationIntended) Type() string  { return "payment.cancellation_intended" }
func (VoidRequested) Type() string         { return "payment.void_requested" }
func (Voided) Type() string                { return "payment.voided" }
func (VoidPending) Type() string           { return "payment.void_pending" }
func (VoidFailed) Type() string            { return "payment.void_failed" }
func (VoidTimedOut) Type() string          { return "payment.void_timed_out" }
func (RefundRequested) Type() string       { return "payment.refund_requested" }
func (RefundRefused) Type() string         { return "payment.refund_refused" }
func (Refunded) Type() string              { return "payment.refunded" }
func (RefundPending) Type() string         { return "payment.refund_pending" }
func (RefundFailed) Type() string          { return "payment.refund_failed" }
func (RefundTimedOut) Type() string        { return "payment.refund_timed_out" }
func (AdjustmentRequested) Type() string   { return "payment.adjustment_requested" }
func (AdjustmentUnneeded) Type() string    { return "payment.adjustment_unneeded" }
func (Adjusted) Type() string              { return "payment.adjusted" }
func (AdjustmentPending) Type() string     { return "payment.adjustment_pending" }
func (AdjustmentFailed) Type() string      { return "payment.adjustment_failed" }
func (AdjustmentTimedOut) Type() string    { return "payment.adjustment_timed_out" }
func (KeyClaimed) Type() string            { return "payment.key_claimed" }
func (CapturedOutOfBand) Type() string     { return "payment.capture_found" }
func (VoidedOutOfBand) Type() string       { return "payment.void_found" }
func (RefundedOutOfBand) Type() string     { return "payment.refund_found" }
func (AdjustedOutOfBand) Type() string     { return "payment.adjustment_found" }

func (Answer) paymentEvent()               {}
func (NoAnswer) paymentEvent()             {}
func (OutOfBand) paymentEvent()            {}
func (Created) paymentEvent()              {}
func (Resumed) paymentEvent()              {}
func (CaptureRequested) paymentEvent()     {}
func (CaptureRefused) paymentEvent()       {}
func (CancellationIntended) paymentEvent() {}
func (VoidRequested) paymentEvent()        {}
func (RefundRequested) paymentEvent()      {}
func (RefundRefused) paymentEvent()        {}
func (AdjustmentRequested) paymentEvent()  {}
func (AdjustmentUnneeded) paymentEvent()   {}
func (KeyClaimed) paymentEvent()           {}
