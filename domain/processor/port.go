package processor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
)

// ErrUnknown means that the operation may or may not have happened: timeout, cut connection, a
// status other than 200, an unreadable answer (D8). Look it up by its key.
var ErrUnknown = errors.New("outcome at the processor unknown")

// ErrUnreadable wraps ErrUnknown: some elements of a processor's list cannot be read. The result
// has the others.
var ErrUnreadable = fmt.Errorf("%w: it cannot be read", ErrUnknown)

// ErrKeyReused wraps ErrUnknown: the processor says that the operation's key was used for another
// operation, perhaps before this ledger was restored from a back-up. Somebody must look.
var ErrKeyReused = fmt.Errorf("%w: the key was used for another operation", ErrUnknown)

// Port sends operations to processors. Every error wraps ErrUnknown; a stated refusal is an Answer,
// not an error.
type Port interface {
	// Send performs op, or returns the result of the first send with the same key.
	Send(ctx context.Context, op Operation) (Answer, error)
	// Lookup returns the state of the operation with the key.
	Lookup(ctx context.Context, name Name, key domain.OperationKey) (Lookup, error)
	// Fence makes the processor refuse the key from now on. If it has seen the key before, Fence is
	// Lookup.
	Fence(ctx context.Context, name Name, key domain.OperationKey) (Lookup, error)
	// ByReference returns all operations of a payment at the processor, out-of-band ones too, in
	// order of creation.
	ByReference(ctx context.Context, name Name, reference domain.PaymentID) ([]Record, error)
}

// Disputes reads the processors' lists of dispute notifications, to find lost ones.
type Disputes interface {
	// NotificationsSince returns a page of the list, oldest first, from the processor's time since,
	// or after the cursor of the previous page. Every error wraps ErrUnknown.
	NotificationsSince(ctx context.Context, name Name, since time.Time, after string) (DisputePage, error)
}

// DisputePage is a page of notifications.
type DisputePage struct {
	Notifications []SignedNotification
	Next          string // the cursor of the next page; after the last page the given one
	More          bool   // there is a next page
	Unreadable    int    // number of notifications left out because they name neither themselves nor a payment
}
