package payment

import (
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Event is a fact about a payment. The interface is sealed; a test proves that Evolve, the codec and the notifier handle
// every event.
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

// Created says that the payment exists and that its authorization was requested from the first target
// of its route, under the operation key "<paymentId>.1".
type Created struct {
	At          time.Time           `json:"at"`
	ID          domain.PaymentID    `json:"id"`
	Account     domain.AccountID    `json:"accountId"`
	OrderID     string              `json:"orderId"`
	CustomerID  string              `json:"customerId,omitempty"`
	Currency    domain.Currency     `json:"currencyCode"`
	Amount      domain.Amount       `json:"amount"`
	Order       *domain.Order       `json:"order,omitempty"`
	Metadata    domain.Metadata     `json:"metadata,omitempty"`
	Preferences *domain.Preferences `json:"preferences,omitempty"`
	Method      Method              `json:"paymentMethod"`
	Personal    *domain.Sealed      `json:"personal,omitempty"`
	Session     domain.SessionID    `json:"sessionId,omitempty"`
	KeyHash     string              `json:"keyHash,omitempty"`
	Route       []Target            `json:"route"`
	AutoCapture bool                `json:"autoCapture,omitempty"` // captured at once when authorized (D5.8)
}

// Answer is a processor's answer: the fields that all answers have in common.
type Answer struct {
	At                time.Time          `json:"at"`
	Request           uint64             `json:"request"` // revision of the event that requested the operation
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

// FailedAnswer is a processor's answer that it did nothing.
type FailedAnswer struct {
	Answer
	Failure domain.Failure `json:"failure"`
}

// NoAnswer says that the payment timeout passed without an answer (D8). The outcome is unknown; look-ups go on.
type NoAnswer struct {
	At      time.Time `json:"at"`
	Request uint64    `json:"request"`
}

func (a Answer) answer() Answer             { return a }
func (a FailedAnswer) failed() FailedAnswer { return a }
func (n NoAnswer) silence() NoAnswer        { return n }

// The authorization. If money is or may be held, its answer also requests the void of an intended cancellation (D7) or
// the capture of captureMode AUTOMATIC (D5.8), under its own revision.
type (
	// Authorized says that the processor holds the amount. It requests the intended void (D7) or the automatic capture
	// (D5.8).
	Authorized struct{ Answer }
	// Declined says that the issuer declined.
	Declined struct{ Answer }
	// AuthorizationPending says that the processor accepted the request and answers later. It requests the intended
	// void (D7).
	AuthorizationPending struct{ Answer }
	// AuthorizationFailed says that nothing was authorized, with the reason.
	AuthorizationFailed struct{ FailedAnswer }
	// AuthorizationTimedOut says that the authorization has no answer after the payment timeout (D8).
	AuthorizationTimedOut struct{ NoAnswer }
	// AuthorizationRerouted says that a processor declined or failed, and requests the authorization from the next
	// one (D15).
	AuthorizationRerouted struct {
		FailedAnswer        // Failure is IssuerDeclined for a soft decline
		To           Target `json:"to"`
	}
)

// The customer's action (D6, D7).
type (
	// ActionRequired says that the customer must act before expiresAt. It requests the intended void (D7).
	ActionRequired struct {
		Answer
		Name      string    `json:"name"`
		ExpiresAt time.Time `json:"expiresAt"`
	}
	// Resumed says that the action has ended, with its outcome, and requests the completion at the processor.
	Resumed struct {
		At      time.Time         `json:"at"`
		EventID string            `json:"transactionEventId"`
		Action  uint64            `json:"action"` // revision of the authorization's request
		Outcome processor.Outcome `json:"outcome"`
		KeyHash string            `json:"keyHash,omitempty"`
	}
	// CompletionFailed says that the completion did not happen; the action is still required. It requests the intended
	// void (D7).
	CompletionFailed struct{ FailedAnswer }
	// CompletionTimedOut says that the completion has no answer after the payment timeout (D8).
	CompletionTimedOut struct{ NoAnswer }
)

// Captures (D10).
type (
	// CaptureRequested requests a part of the authorized amount; with final, the last part.
	CaptureRequested struct {
		At       time.Time       `json:"at"`
		Amount   domain.Amount   `json:"amount"`
		Final    bool            `json:"final,omitempty"`
		Metadata domain.Metadata `json:"metadata,omitempty"` // merged into the payment's
		Order    *domain.Order   `json:"order,omitempty"`    // the captured items (D21)
		KeyHash  string          `json:"keyHash,omitempty"`
	}
	// CaptureRefused says that our own rules refused a capture (D7); no processor was called.
	CaptureRefused struct {
		At      time.Time     `json:"at"`
		EventID string        `json:"transactionEventId"`
		Amount  domain.Amount `json:"amount"`
		Final   bool          `json:"final,omitempty"`
		Message string        `json:"message"`
		KeyHash string        `json:"keyHash,omitempty"`
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
	// CancellationIntended says that the payment will be cancelled when its authorization has an answer (D7).
	CancellationIntended struct {
		At      time.Time `json:"at"`
		Reason  string    `json:"reason,omitempty"`
		KeyHash string    `json:"keyHash,omitempty"`
	}
	// VoidRequested requests the release of the amount that is held and not captured.
	VoidRequested struct {
		At      time.Time     `json:"at"`
		Amount  domain.Amount `json:"amount"` // to release
		Reason  string        `json:"reason,omitempty"`
		KeyHash string        `json:"keyHash,omitempty"`
	}
	// Voided says that the amount was released.
	Voided struct{ Answer }
	// VoidPending says that the processor accepted the void and confirms it later.
	VoidPending struct{ Answer }
	// VoidFailed says that the processor refused the void.
	VoidFailed struct{ FailedAnswer }
	// VoidTimedOut says that the void has no answer after the payment timeout (D8).
	VoidTimedOut struct{ NoAnswer }
)

// Refunds (D10).
type (
	// RefundRequested requests the return of captured money. The field capture is the revision of the refunded
	// capture's request; absent means any capture.
	RefundRequested struct {
		At       time.Time       `json:"at"`
		Amount   domain.Amount   `json:"amount"`
		Capture  uint64          `json:"capture,omitempty"`
		OrderID  string          `json:"orderId,omitempty"`
		Reason   string          `json:"reason,omitempty"`
		Metadata domain.Metadata `json:"metadata,omitempty"` // merged into the payment's
		KeyHash  string          `json:"keyHash,omitempty"`
	}
	// RefundRefused says that our own rules refused a refund (D7); no processor was called.
	RefundRefused struct {
		At      time.Time     `json:"at"`
		EventID string        `json:"transactionEventId"`
		Amount  domain.Amount `json:"amount"`
		Capture uint64        `json:"capture,omitempty"`
		Nothing bool          `json:"nothingLeft,omitempty"` // nothing is left to refund
		Message string        `json:"message"`
		KeyHash string        `json:"keyHash,omitempty"`
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
		At      time.Time     `json:"at"`
		Amount  domain.Amount `json:"amount"`
		KeyHash string        `json:"keyHash,omitempty"`
	}
	// AdjustmentUnneeded says that the requested total was authorized already; only the idempotency key is used.
	AdjustmentUnneeded struct {
		At      time.Time `json:"at"`
		KeyHash string    `json:"keyHash"`
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

// KeyClaimed says that an idempotency key belongs to a payment and an operation (D9). It is the first event of a stream
// at the id that derives from the key, and creates no payment. Without an operation it says that the payment of this id
// will never be created; paymentId names the payment created instead, if any.
type KeyClaimed struct {
	At        time.Time        `json:"at"`
	Account   domain.AccountID `json:"accountId"`
	Payment   domain.PaymentID `json:"paymentId"`
	Operation processor.Kind   `json:"operation"`
}

// OutOfBand is an operation in the processor's records that this ledger did not request (§6.3).
type OutOfBand struct {
	At               time.Time     `json:"at"`
	EventID          string        `json:"transactionEventId"`
	ID               string        `json:"processorOperationId"` // the processor's id; recorded once
	Amount           domain.Amount `json:"amount"`
	TransactionID    string        `json:"processorTransactionId,omitempty"`
	ParentID         string        `json:"parentTransactionId,omitempty"` // the transaction acted upon
	ProcessorEventID string        `json:"processorEventId,omitempty"`
	DoneAt           time.Time     `json:"doneAt"` // by the processor's clock
}

// Out-of-band operations. They are recorded and never refused (D7).
type (
	// CapturedOutOfBand says that the amount was taken; with final, that the rest was released.
	CapturedOutOfBand struct {
		OutOfBand
		Final bool `json:"final,omitempty"`
	}
	// VoidedOutOfBand says that the amount held and not captured was released.
	VoidedOutOfBand struct{ OutOfBand }
	// RefundedOutOfBand says that the money of a capture was returned.
	RefundedOutOfBand struct {
		OutOfBand
		Capture uint64 `json:"capture,omitempty"` // revision of the capture's request; absent: unknown
	}
	// AdjustedOutOfBand says that the amount is the authorized total.
	AdjustedOutOfBand struct{ OutOfBand }
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
