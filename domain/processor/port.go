package processor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
)

// ErrUnknown means that the operation may or may not have happened: time-out, cut connection, 5xx, 408,
// 409 in progress, 429, an answer that could not be parsed (D8). Ask by key.
var ErrUnknown = errors.New("outcome at the processor unknown")

// ErrUnreadable means that a processor answered, and that not all of what it listed can be read. It comes with what
// can, and wraps ErrUnknown.
var ErrUnreadable = fmt.Errorf("%w: it cannot be read", ErrUnknown)

// Port is the service's side of the processor protocol. Every error it returns wraps ErrUnknown; a
// refusal that the processor states is an Answer, not an error.
type Port interface {
	// Send performs op, or gives the result of the first send with the same key.
	Send(ctx context.Context, op Operation) (Answer, error)
	// Lookup asks what became of the operation sent under key.
	Lookup(ctx context.Context, name Name, key domain.OperationKey) (Lookup, error)
	// Fence makes the processor refuse key from now on, unless it has already seen it; then it answers
	// like Lookup.
	Fence(ctx context.Context, name Name, key domain.OperationKey) (Lookup, error)
	// ByReference asks for all operations of a payment, whoever asked for them, in order of creation. With
	// ErrUnreadable it gives those that can be read.
	ByReference(ctx context.Context, name Name, reference domain.PaymentID) ([]Record, error)
}

// Disputes is the processors' record of what they told about disputes: how a notification that was lost is found.
type Disputes interface {
	// NotificationsSince returns what name told about disputes, oldest first: from the processor's time since on, or what comes
	// after the cursor of the page before. Every error wraps ErrUnknown.
	NotificationsSince(ctx context.Context, name Name, since time.Time, after string) (DisputePage, error)
}

// DisputePage is a page of notifications as they were sent, or should have been.
type DisputePage struct {
	Notifications []SignedNotification
	Next          string // the cursor of what comes after these; the one given when there is nothing yet
	More          bool   // there is more already
	// Unreadable counts what was told and names neither itself nor a payment; it is left out.
	Unreadable int
}
