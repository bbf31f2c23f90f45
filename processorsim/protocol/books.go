package protocol

import (
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Errors of the books behind a server of the protocol. The server answers them with the codes of
// the same names; it answers any other error with CodeUnavailable.
var (
	// ErrKeyReused means that the key was used for an operation with other contents.
	ErrKeyReused = errors.New("the idempotency key was used for another operation")
	// ErrInProgress means that the first request under the key is still running.
	ErrInProgress = errors.New("the first request under this key is still running")
	// ErrUnknownCursor means that a list has no element with the id after which it should go on.
	ErrUnknownCursor = errors.New("after is no cursor of this list")
)

// Filter selects operations; zero values select all. From and To bound createdAt, both included.
type Filter struct {
	Reference domain.PaymentID
	Processor processor.Name
	From, To  time.Time
}

// Matches reports whether the filter selects an operation.
func (f Filter) Matches(name processor.Name, reference domain.PaymentID, created time.Time) bool {
	return (f.Processor == "" || name == f.Processor) && (f.Reference == "" || reference == f.Reference) &&
		(f.From.IsZero() || !created.Before(f.From)) && (f.To.IsZero() || !created.After(f.To))
}

// DisputeFilter selects notifications about disputes: all of one payment or, without a reference, a
// page of Limit, from the processor's time Since or after the notification After.
type DisputeFilter struct {
	Processor processor.Name
	Reference domain.PaymentID
	Since     time.Time
	After     string
	Limit     int
}
