package connector

import (
	"context"
	"errors"
	"net/http"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// ErrNothing means that the vendor did nothing with an order, and that the same order may be sent
// again: the connection was refused, or the vendor answered that it is too busy (429). Wrap it only
// if that is certain. After any other error the outcome is unknown.
var ErrNothing = errors.New("the vendor did nothing")

// ErrLater means that a message of the vendor cannot be read yet. The vendor sends it again.
var ErrLater = errors.New("the message comes too early")

// Vendor is the API of a company that processes payments. Its methods are called concurrently, and
// return when the context ends.
type Vendor interface {
	// Declaration returns the connector's name, what it cannot do, and its test cards. The kit sets
	// Protocol and Processor. It answers not_supported, and calls no other method, for operations
	// that need adjust, void, partial_capture, several_captures, partial_refund or tokens, if
	// Cannot has that without Tried.
	Declaration() protocol.Declaration

	// KeyLife is the time in which the vendor does nothing twice under one Order.Key, and answers a
	// repeat as it answered the first. 0: the vendor knows no keys. A vendor that keeps keys for
	// ever has a long life, for example 100 years.
	KeyLife() time.Duration

	// Send carries out an order, or returns the result of the order with the same Key. A refusal
	// that the vendor states is a result: DECLINED or FAILED.
	Send(ctx context.Context, o Order) (Result, error)

	// Find looks for the result of an order whose outcome is unknown, or was not final. It may use
	// whatever the vendor has: the key, metadata, a list by time.
	Find(ctx context.Context, o Order) (Finding, error)

	// Events reads a message that the vendor sent to the connector. It returns an error unless the
	// vendor's signature is valid, ErrLater if the vendor should send the message again. Messages
	// that say nothing about operations or disputes have no events.
	Events(ctx context.Context, header http.Header, body []byte) ([]Event, error)
}

// Refuser is a Vendor that refuses some orders without a call: an amount that it cannot count, a
// token that is none of its own.
type Refuser interface {
	// Refuse returns DECLINED or FAILED, with a code, for an order that the vendor does not get;
	// nil if Send decides. It calls nobody. The kit calls it only while the vendor certainly has
	// nothing of the order, and records the answer in the place of the request: a crash leaves no
	// doubt. A repeat of unknown outcome does not come here, so Send must refuse such an order,
	// too, as far as an earlier try was refused for the same reason.
	Refuse(o Order) *processor.Answer
}

// Lister is a Vendor that can list operations which were not made through the connector: in the
// vendor's own pages, say.
type Lister interface {
	// List calls yield with the operations that f selects, in order of creation, until yield
	// returns an error. known are the transactions of the authorizations in the book if f names a
	// payment; else it is empty. IdempotencyKey is the ledger's if the vendor kept it. The kit
	// leaves out the operations of its book: they have that key, or the same kind and
	// ProcessorTransactionID. ID is of one operation only, and never changes. Reference is that of
	// the payment: if the vendor has only the transaction, look it up among known; an operation of
	// no payment has its own transaction there. A refund may act upon a capture that is listed.
	List(ctx context.Context, f protocol.Filter, known []string, yield func(protocol.Entry) error) error
}

// Order is an operation for the vendor.
type Order struct {
	processor.Operation // Card is nil if the ledger did not send it with this try; it has a Token only if tokens are declared

	Key      string            // the idempotency key for the vendor, at most 64 visible ASCII characters
	Began    time.Time         // before the first try under Key, UTC
	Tried    time.Time         // before the newest try under Key: a request may still be on its way. After Tried and the vendor's longest delay none is
	Answer   *processor.Answer // the result so far; nil if there is none. With Undo: a success that came too late.
	Doubtful bool              // an earlier try under Key has an unknown outcome: a request may still be on its way
	Undo     bool              // Finding.Undo was answered: Send never comes again with Key
	Parent   *Parent           // what a complete, capture, void, refund or adjust acts upon; nil if neither the book nor, for a refund, the vendor's list has it
}

// Tag names the order among those of its payment, for vendors that keep a short reference: at most
// 14 visible ASCII characters, without a dot.
func (o Order) Tag() string { return tag(o.Key) }

// Parent is an authorization or a capture that another operation acts upon.
type Parent struct {
	processor.Operation
	Answer processor.Answer // the newest
}

// Result is what the vendor says that it did. A result other than a refusal must have the requested
// amount and currency, also in an Event. That of a complete may name none, or those of its
// authorization; that of a void is not compared.
type Result struct {
	Answer   processor.Answer
	Amount   domain.Amount   // that the vendor took, holds or paid; counts if the operation has an amount and did not fail
	Currency domain.Currency // of Amount
	// AsOrdered states that the vendor names no amount in this message, and either does the whole
	// of an order or nothing: the kit takes the amount and the currency of the order, which its
	// book has. A vendor that does name them must not set it: a wrong amount would be taken.
	AsOrdered bool
}

// Finding is what the vendor knows about an order.
type Finding struct {
	Result *Result // nil if there is none
	// Nothing states that the vendor did nothing under the order's key, and never will: not even if
	// an earlier request is still on its way. Without Result and Nothing the outcome stays unknown.
	Nothing bool
	// Undo states that the vendor cannot tell the outcome, but can undo the order, whatever it is.
	// The kit records it, and asks again with Order.Undo, which starts the undoing. From then on a
	// success is no result. The end is a result (FAILED, protocol.CodeVoided) or Nothing, here or
	// in an Event.
	Undo bool
}

// Event is a fact in a message of the vendor: a Result, Nothing or a Dispute. A Result and Nothing
// are about the operation with Key; or with Kind, Reference and Tag; or with Kind and
// TransactionID, if no operation has the Tag. A Dispute names its transaction; Reference and Tag of
// the authorization help if the connector does not know that.
type Event struct {
	ID            string // the vendor's, the same on every repeat
	Key           domain.OperationKey
	Kind          processor.Kind
	Reference     domain.PaymentID
	Tag           string // Order.Tag
	TransactionID string
	Result        *Result
	// Overturns states that Result is a failure after the success that the vendor told before: a
	// capture that the bank returns. Such results, and a success after one, need the vendor's time:
	// a success without it does not end the failure.
	Overturns bool
	Nothing   bool // as Finding.Nothing
	Dispute   *processor.DisputeUpdate
}
