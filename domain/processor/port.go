package processor

import (
	"context"
	"errors"

	"payledger/domain"
)

// ErrUnknown means that the operation may or may not have happened: time-out, cut connection, 5xx, 408,
// 409 in progress, 429, an answer that could not be parsed (D8). Ask by key.
var ErrUnknown = errors.New("outcome at the processor unknown")

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
	// ByReference asks for all operations of a payment, whoever asked for them, in order of creation.
	ByReference(ctx context.Context, name Name, reference domain.PaymentID) ([]Record, error)
}
