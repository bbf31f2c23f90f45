package eventstore

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"payledger/domain"
	"payledger/eventstore/format"
)

// Tip is an aggregate at its newest event.
type Tip[S any] struct {
	State    S
	Recorded *Recorded // nil: the aggregate does not exist
	Appended bool      // by the command
}

// Untyped is the part of a Store below the functions of this file. They add the types; call them
// instead. A tip of Untyped has a state of the aggregate's type, also if the aggregate does not
// exist.
type Untyped interface {
	ExecuteUntyped(ctx context.Context, c Command) (Tip[any], error)
	LoadUntyped(ctx context.Context, a *format.Core, key Key, consistency Consistency) (Tip[any], error)
	// RememberedUntyped sends no request.
	RememberedUntyped(a *format.Core, key Key) (Tip[any], bool)
	StateUntyped(ctx context.Context, a *format.Core, r *Recorded) (any, error)
}

// Command is a decision about one aggregate, and the metadata of its event.
type Command struct {
	Aggregate *format.Core
	Key       Key
	Meta      Meta
	Decide    func(state any) (domain.Event, error)
	On        *Tip[any] // of the first decision; nil: the tip is loaded
}

// Meta is the metadata of an event: who caused it, and why. All decisions of one Execute have the
// same command id.
type Meta struct {
	EventID       string // UUID
	CommandID     string
	CorrelationID string
	Actor         string
	At            time.Time
	Origin        string // the address from which a change of the management came (D20); "" for all other events
	Request       bool   // it requests an operation, and is refused on a nearly full aggregate or disk, so that outcomes always have room
	GivesBack     bool   // a request that returns or releases money: a larger aggregate still takes it
}

// Execute runs one command: it loads, decides and appends. If another event came first, it loads
// and decides again. decide returns no event and no error if there is nothing to record. If decide
// returns nothing or an error on a state that may be old, Execute loads the latest state and calls
// decide again. Execute returns errors of decide unchanged, and errors of the store as domain
// errors (ServiceUnavailable, ConcurrentModification).
func Execute[S any, E domain.Event](ctx context.Context, s Untyped, a *Aggregate[S, E], key Key, meta Meta, decide func(S) (E, error)) (Tip[S], error) {
	t, err := s.ExecuteUntyped(ctx, Command{a.Core, key, meta, untyped(decide), nil})
	return typed[S](t), err
}

// ExecuteNew is Execute for an aggregate that should not exist yet: the first decision is on the
// zero state, without a load.
func ExecuteNew[S any, E domain.Event](ctx context.Context, s Untyped, a *Aggregate[S, E], key Key, meta Meta, decide func(S) (E, error)) (Tip[S], error) {
	t, err := s.ExecuteUntyped(ctx, Command{a.Core, key, meta, untyped(decide), &Tip[any]{State: a.Core.None()}})
	return typed[S](t), err
}

// ExecuteFrom is Execute with a tip that the caller has already loaded.
func ExecuteFrom[S any, E domain.Event](ctx context.Context, s Untyped, a *Aggregate[S, E], from Tip[S], meta Meta, decide func(S) (E, error)) (Tip[S], error) {
	t, err := s.ExecuteUntyped(ctx, Command{a.Core, from.Recorded.Key, meta, untyped(decide), &Tip[any]{from.State, from.Recorded, false}})
	return typed[S](t), err
}

func typed[S any](t Tip[any]) Tip[S] {
	state, _ := t.State.(S)
	return Tip[S]{state, t.Recorded, t.Appended}
}

func untyped[S any, E domain.Event](decide func(S) (E, error)) func(any) (domain.Event, error) {
	return func(state any) (domain.Event, error) {
		event, err := decide(state.(S))
		return event, err
	}
}

// Load returns an aggregate's tip. The tip of an aggregate that does not exist has the zero state
// and no event.
func Load[S any, E domain.Event](ctx context.Context, s Untyped, a *Aggregate[S, E], key Key, consistency Consistency) (Tip[S], error) {
	t, err := s.LoadUntyped(ctx, a.Core, key, consistency)
	return typed[S](t), err
}

// Remembered returns an aggregate's tip if this process has it in memory. If not, it returns false:
// the aggregate may exist.
func Remembered[S any, E domain.Event](s Untyped, a *Aggregate[S, E], key Key) (Tip[S], bool) {
	t, known := s.RememberedUntyped(a.Core, key)
	return typed[S](t), known
}

// StateAt returns the state after r, with the parts moved out of it. It folds the events again if
// an older schema wrote r.
func StateAt[S any, E domain.Event](ctx context.Context, s Untyped, a *Aggregate[S, E], r *Recorded) (S, error) {
	state, err := s.StateUntyped(ctx, a.Core, r)
	after, _ := state.(S)
	return after, err
}

// AsOf returns the state that an aggregate had at a time, by the times of its events. The same log
// always gives the same state. tip is the newest event of the aggregate. If tip is nil, or the
// first event is after at, the state is zero.
func AsOf[S any, E domain.Event](ctx context.Context, s Store, a *Aggregate[S, E], tip *Recorded, at time.Time) (S, error) {
	var none S
	r, err := s.LastAt(ctx, tip, at)
	if r == nil || err != nil {
		return none, err
	}
	return StateAt(ctx, s, a, r)
}

type recordedKey struct{}

// WithRecorded returns a context whose commands note that they recorded an event, or may have, and
// the function that reports it. After that no error may say that nothing was recorded, for instance
// the error of a later read.
func WithRecorded(ctx context.Context) (noting context.Context, recorded func() bool) {
	var noted atomic.Bool
	return context.WithValue(ctx, recordedKey{}, &noted), noted.Load
}

// NoteRecorded notes in a context of WithRecorded that a command recorded an event, or may have.
func NoteRecorded(ctx context.Context) {
	if noted, is := ctx.Value(recordedKey{}).(*atomic.Bool); is {
		noted.Store(true)
	}
}

// NewUUID makes a random UUID (version 4) from the given source.
func NewUUID(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("eventstore: random: %w", err)
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], nil
}
