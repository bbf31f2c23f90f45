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
	AutoCapture bool                `json:"autoCapture,omitempty"` // captured at once when authorized (D5)
}

// Answer is what every answer of a processor tells.
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

// FailedAnswer is the answer of a processor that did nothing.
type FailedAnswer struct {
	Answer
	Failure domain.Failure `json:"failure"`
}

// NoAnswer says that the payment timeout passed without an answer (D8): the outcome is unknown and the
// processor is being asked.
type NoAnswer struct {
	At      time.Time `json:"at"`
	Request uint64    `json:"request"`
}

func (n NoAnswer) silence() NoAnswer { return n }

// The authorization. An answer that leaves money held also requests what has to follow at once, under its
// own revision: the void that was intended meanwhile (D7), or the capture of captureMode AUTOMATIC (D5).
type (
	// Authorized says that the processor holds the amount, and requests the void that was intended (D7) or the
	// automatic capture (D5).
	Authorized struct{ Answer }
	// Declined says that the issuer refuses.
	Declined struct{ Answer }
	// AuthorizationPending says that the processor accepted the request and answers later, and requests the void
	// that was intended (D7).
	AuthorizationPending struct{ Answer }
	// AuthorizationFailed says that nothing was authorized, and why.
	AuthorizationFailed struct{ FailedAnswer }
	// AuthorizationTimedOut says that the authorization has no answer after the payment timeout (D8).
	AuthorizationTimedOut struct{ NoAnswer }
	// AuthorizationRerouted says that a processor declined or failed in a way that lets the next one try,
	// and that the authorization was requested there (D15).
	AuthorizationRerouted struct {
		FailedAnswer        // Failure is IssuerDeclined for a soft decline
		To           Target `json:"to"`
	}
)

// The customer's action (D6, D7).
type (
	// ActionRequired says that the customer must do something before expiresAt, and requests the void that was
	// intended (D7).
	ActionRequired struct {
		Answer
		Name      string    `json:"name"`
		ExpiresAt time.Time `json:"expiresAt"`
	}
	// Resumed says what the action ended with, and requests its completion at the processor.
	Resumed struct {
		At      time.Time         `json:"at"`
		EventID string            `json:"transactionEventId"`
		Action  uint64            `json:"action"` // revision of the authorization's request
		Outcome processor.Outcome `json:"outcome"`
		KeyHash string            `json:"keyHash,omitempty"`
	}
	// CompletionFailed says that the completion did not happen: the action is still required. It requests the
	// void that was intended (D7).
	CompletionFailed struct{ FailedAnswer }
	// CompletionTimedOut says that the completion has no answer after the payment timeout (D8).
	CompletionTimedOut struct{ NoAnswer }
)

// Captures (D10).
type (
	// CaptureRequested asks for a part, or with final the last part, of what is held.
	CaptureRequested struct {
		At       time.Time       `json:"at"`
		Amount   domain.Amount   `json:"amount"`
		Final    bool            `json:"final,omitempty"`
		Metadata domain.Metadata `json:"metadata,omitempty"` // merged into the payment's
		Order    *domain.Order   `json:"order,omitempty"`    // what is captured (D21)
		KeyHash  string          `json:"keyHash,omitempty"`
	}
	// CaptureRefused says that our own books refuse an attempt (D7); no processor was called.
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
	// CancellationIntended says that the payment is to be cancelled as soon as its authorization has an
	// answer (D7).
	CancellationIntended struct {
		At      time.Time `json:"at"`
		Reason  string    `json:"reason,omitempty"`
		KeyHash string    `json:"keyHash,omitempty"`
	}
	// VoidRequested asks the processor to release what is held and not captured.
	VoidRequested struct {
		At      time.Time     `json:"at"`
		Amount  domain.Amount `json:"amount"` // what is left to release
		Reason  string        `json:"reason,omitempty"`
		KeyHash string        `json:"keyHash,omitempty"`
	}
	// Voided says that it is released.
	Voided struct{ Answer }
	// VoidPending says that the processor accepted the void and confirms it later.
	VoidPending struct{ Answer }
	// VoidFailed says that the processor refuses.
	VoidFailed struct{ FailedAnswer }
	// VoidTimedOut says that the void has no answer after the payment timeout (D8).
	VoidTimedOut struct{ NoAnswer }
)

// Refunds (D10).
type (
	// RefundRequested asks to give captured money back: of any capture, or of the one that the event at the
	// revision in capture requested.
	RefundRequested struct {
		At       time.Time       `json:"at"`
		Amount   domain.Amount   `json:"amount"`
		Capture  uint64          `json:"capture,omitempty"`
		OrderID  string          `json:"orderId,omitempty"`
		Reason   string          `json:"reason,omitempty"`
		Metadata domain.Metadata `json:"metadata,omitempty"` // merged into the payment's
		KeyHash  string          `json:"keyHash,omitempty"`
	}
	// RefundRefused says that our own books refuse an attempt (D7); no processor was called.
	RefundRefused struct {
		At      time.Time     `json:"at"`
		EventID string        `json:"transactionEventId"`
		Amount  domain.Amount `json:"amount"`
		Capture uint64        `json:"capture,omitempty"`
		Nothing bool          `json:"nothingLeft,omitempty"` // nothing is left to refund
		Message string        `json:"message"`
		KeyHash string        `json:"keyHash,omitempty"`
	}
	// Refunded says that the money went back.
	Refunded struct{ Answer }
	// RefundPending says that the processor accepted the refund and tells its end later.
	RefundPending struct{ Answer }
	// RefundFailed says that the money did not go back.
	RefundFailed struct{ FailedAnswer }
	// RefundTimedOut says that the refund has no answer after the payment timeout (D8).
	RefundTimedOut struct{ NoAnswer }
)

// Adjustments of the authorization (D10).
type (
	// AdjustmentRequested asks to hold a new total.
	AdjustmentRequested struct {
		At      time.Time     `json:"at"`
		Amount  domain.Amount `json:"amount"`
		KeyHash string        `json:"keyHash,omitempty"`
	}
	// AdjustmentUnneeded says that the total asked for is held already: only the idempotency key is used.
	AdjustmentUnneeded struct {
		At      time.Time `json:"at"`
		KeyHash string    `json:"keyHash"`
	}
	// Adjusted says that the new total is held.
	Adjusted struct{ Answer }
	// AdjustmentPending says that the processor accepted the adjustment and confirms it later.
	AdjustmentPending struct{ Answer }
	// AdjustmentFailed says that the total is what it was.
	AdjustmentFailed struct{ FailedAnswer }
	// AdjustmentTimedOut says that the adjustment has no answer after the payment timeout (D8).
	AdjustmentTimedOut struct{ NoAnswer }
)

// KeyClaimed says that an idempotency key belongs to a payment and an operation (D9). It is the first event
// of a stream of its own, at the id that the key derives; it makes no payment. Without an operation it says that the id
// was given up: its payment will never be made, in favour of the one named, if any.
type KeyClaimed struct {
	At        time.Time        `json:"at"`
	Account   domain.AccountID `json:"accountId"`
	Payment   domain.PaymentID `json:"paymentId"`
	Operation processor.Kind   `json:"operation"`
}

// OutOfBand is what every operation tells that stands in the processor's books and that nobody here asked for: somebody
// acted there behind our back, and our own next operation was refused for it (§6.3).
type OutOfBand struct {
	At               time.Time     `json:"at"`
	EventID          string        `json:"transactionEventId"`
	ID               string        `json:"processorOperationId"` // the processor's own: found once by it
	Amount           domain.Amount `json:"amount"`
	TransactionID    string        `json:"processorTransactionId,omitempty"`
	ParentID         string        `json:"parentTransactionId,omitempty"` // what it acted upon
	ProcessorEventID string        `json:"processorEventId,omitempty"`
	DoneAt           time.Time     `json:"doneAt"` // by the processor's clock
}

// Late facts, which are recorded and never refused (D7).
type (
	// CapturedOutOfBand says that the amount was taken, and with final that the rest was released.
	CapturedOutOfBand struct {
		OutOfBand
		Final bool `json:"final,omitempty"`
	}
	// VoidedOutOfBand says that what was held and not captured was released.
	VoidedOutOfBand struct{ OutOfBand }
	// RefundedOutOfBand says that the money went back, of one capture if it is known which.
	RefundedOutOfBand struct {
		OutOfBand
		Capture uint64 `json:"capture,omitempty"` // revision of the capture's request
	}
	// AdjustedOutOfBand says that the amount is what is held now.
	AdjustedOutOfBand struct{ OutOfBand }
)
