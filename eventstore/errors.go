package eventstore

import (
	"errors"
	"fmt"

	"payledger/domain"
	"payledger/eventstore/fault"
)

// Errors of appends and loads; see package fault.
var (
	ErrNotFound   = fault.ErrNotFound
	ErrConflict   = fault.ErrConflict
	ErrRefused    = fault.ErrRefused
	ErrUnknown    = fault.ErrUnknown
	ErrUnhealthy  = fault.ErrUnhealthy
	ErrFull       = fault.ErrFull
	ErrNoMajority = fault.ErrNoMajority
	ErrNoLog      = fmt.Errorf("%w: there is no ledger here", ErrNotFound)
	// ErrTooLarge means that a new request would use the space of an aggregate that is reserved for
	// outcomes.
	ErrTooLarge = errors.New("eventstore: the aggregate is too large for a further request")
)

// Overtaken returns the error for a command that other commands overtook. Its caller may repeat it.
func Overtaken() *domain.Error {
	return &domain.Error{
		Kind: domain.KindConflict, Reason: domain.ReasonConcurrentModification,
		Message:  "Another request changed the data at the same time.",
		Recovery: "It is safe to repeat the request.",
	}
}
