package fault

import (
	"errors"
	"fmt"
)

// Errors of appends and loads. Execute retries after ErrConflict and never returns it.
var (
	ErrNotFound = errors.New("eventstore: no such aggregate")
	// ErrConflict means that another event was appended first: decide again on the new state.
	ErrConflict = errors.New("eventstore: another event was appended first")
	// ErrRefused means that the store recorded nothing.
	ErrRefused = errors.New("eventstore: the store refused")
	// ErrUnknown means that the deadline passed before the outcome was known: the log may hold the
	// event.
	ErrUnknown = errors.New("eventstore: outcome of the append unknown")
	// ErrUnhealthy means that the log is damaged or its disk failed: the store accepts no more
	// appends.
	ErrUnhealthy = errors.New("eventstore: the log is not healthy")
	// ErrNoMajority means that too few servers of the cluster answered: what other processes
	// appended cannot be known now.
	ErrNoMajority = errors.New("eventstore: too few servers of the cluster answer")
	// ErrFull means that the disk is full: the store records no new request until there is room.
	// Reads continue.
	ErrFull = errors.New("read-only: disk full")
	// ErrDropped means that the record was in a segment that was dropped.
	ErrDropped = errors.New("eventstore: the delivery was dropped")
)

// Place is the error for a damaged message of a stream. It is ErrUnhealthy.
type Place struct {
	Stream string
	Seq    uint64
	Cause  error
	whole  error
}

func (p *Place) Error() string { return p.whole.Error() }

func (p *Place) Unwrap() error { return p.whole }

// Damage returns the error for a damaged message of a stream, a *Place.
func Damage(stream string, seq uint64, cause error) error {
	return &Place{stream, seq, cause, Stream(fmt.Sprintf("%s at sequence %d", stream, seq), cause)}
}

// Report calls damaged with the place of damage. It returns another error.
func Report(err error, damaged func(stream string, seq uint64, reason string) error) error {
	var place *Place
	if errors.As(err, &place) {
		return damaged(place.Stream, place.Seq, place.Cause.Error())
	}
	return err
}

// Stream returns the error for a damaged stream, or another damaged thing. It is ErrUnhealthy.
func Stream(name string, cause error) error {
	return fmt.Errorf("%w: %s: %w; copy the folder before anything else", ErrUnhealthy, name, cause)
}
