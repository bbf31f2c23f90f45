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
	// ErrTooLarge means that a new request would use the space of an aggregate that is reserved for outcomes.
	ErrTooLarge = errors.New("eventstore: the aggregate is too large for a further request")
)

// apiError is an error in an answer of JetStream.
type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *apiError) Error() string { return fmt.Sprintf("jetstream %d: %s", e.ErrCode, e.Description) }

// JetStream error codes that decide the outcome of an append.
const (
	codeAccountResources      = 10002 // the account's limit: refused before anything was stored
	codeInsufficientResources = 10023 // the server's limit: the same
	codeNoMessageFound        = 10037
	codeTooLarge              = 10054 // the message is larger than max_payload: the same
	codeStoreFailed           = 10077 // the server stored nothing; see definite
)

// definite reports whether the answer to a publish proves that the message was not stored. On a replicated stream 10077 proves
// nothing: a leader that shuts down returns it while the other replicas store the message.
func (e *apiError) definite(replicas int) bool {
	switch e.ErrCode {
	case codeAccountResources, codeInsufficientResources, codeTooLarge:
		return true
	case codeStoreFailed:
		return replicas == 1
	default:
		return false
	}
}
