package eventstore

import (
	"errors"
	"fmt"

	"payledger/eventstore/fault"
)

// Errors of appends and loads; see package fault.
var (
	ErrNotFound  = fault.ErrNotFound
	ErrConflict  = fault.ErrConflict
	ErrRefused   = fault.ErrRefused
	ErrUnknown   = fault.ErrUnknown
	ErrUnhealthy = fault.ErrUnhealthy
	ErrFull      = fault.ErrFull
	// ErrNoLog means that the folder or the cluster holds no log.
	ErrNoLog = fmt.Errorf("%w: there is no ledger here", ErrNotFound)
	// ErrTooLarge means that a new request would use the space of an aggregate that is reserved for outcomes.
	ErrTooLarge = errors.New("eventstore: the aggregate is too large for a further request")
)
