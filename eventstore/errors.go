package eventstore

import (
	"errors"
	"fmt"
)

// Errors of appends and loads. Execute retries after ErrConflict and never returns it.
var (
	ErrNotFound = errors.New("eventstore: no such aggregate")
	// ErrConflict means that another event took the place: decide again on the new state.
	ErrConflict = errors.New("eventstore: another event was appended first")
	// ErrRefused means that the store stated that it recorded nothing.
	ErrRefused = errors.New("eventstore: the store refused")
	// ErrUnknown means that the deadline came before it was known whether the event stands in the log.
	ErrUnknown = errors.New("eventstore: outcome of the append unknown")
	// ErrUnhealthy means that the log was found damaged or the disk failed: nothing is appended any more.
	ErrUnhealthy = errors.New("eventstore: the log is not healthy")
	// ErrTooLarge means that a new request would grow the aggregate past what is kept for outcomes.
	ErrTooLarge = errors.New("eventstore: the aggregate is too large for a further request")
)

// apiError is JetStream's own answer.
type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *apiError) Error() string { return fmt.Sprintf("jetstream %d: %s", e.ErrCode, e.Description) }

// JetStream error codes that decide what an append's outcome is.
const (
	codeAccountResources      = 10002 // the account's limit: refused before anything was stored
	codeInsufficientResources = 10023 // the server's limit: the same
	codeNoMessageFound        = 10037
	codeTooLarge              = 10054 // the same
	codeStoreFailed           = 10077 // the store took nothing; see definite
)

// definite reports whether the answer to a publish means that the message was not stored. 10077 of a replicated stream can
// come from a leader that shuts down while the other replicas store the message.
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
