package eventstore

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"payledger/domain"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
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
	// ErrTooLarge means that a new request would use the space of an aggregate that is reserved for outcomes.
	ErrTooLarge = errors.New("eventstore: the aggregate is too large for a further request")
)

const maxConflicts = 16 // the number of decisions after which Execute returns ConcurrentModification

// maxState is the size from which an aggregate accepts no new requests: the rest of a message is for outcomes (§8 has no limit).
const maxState = 256 << 10

// maxStateGivingBack is that size for requests that return or release money: captures can be returned in as many parts again.
const maxStateGivingBack = 2 * maxState

// Tip is an aggregate at its newest event.
type Tip[S any] struct {
	State    S
	Recorded *Recorded // nil: the aggregate does not exist
	Appended bool      // by the command
}

// Execute runs one command: it loads, decides and appends. If another event came first, it loads and decides again.
// decide returns no event and no error if there is nothing to record. If decide returns nothing or an error on a state that may be old,
// Execute loads the latest state and calls decide again. Execute returns errors of decide unchanged, and errors of the store as domain
// errors (ServiceUnavailable, ConcurrentModification).
func Execute[S any, E domain.Event](ctx context.Context, s *Store, a *Aggregate[S, E], key Key, meta Meta, decide func(S) (E, error)) (Tip[S], error) {
	t, err := executeLoaded(ctx, command{s, a.Core, key, meta, untyped(decide)})
	return typed[S](t), err
}

// ExecuteNew is Execute for an aggregate that should not exist yet: the first decision is on the zero state, without a load.
func ExecuteNew[S any, E domain.Event](ctx context.Context, s *Store, a *Aggregate[S, E], key Key, meta Meta, decide func(S) (E, error)) (Tip[S], error) {
	t, err := command{s, a.Core, key, meta, untyped(decide)}.execute(ctx, tip{state: a.Core.None()}, false)
	return typed[S](t), err
}

// ExecuteFrom is Execute with a tip that the caller has already loaded.
func ExecuteFrom[S any, E domain.Event](ctx context.Context, s *Store, a *Aggregate[S, E], from Tip[S], meta Meta, decide func(S) (E, error)) (Tip[S], error) {
	t, err := command{s, a.Core, from.Recorded.Key, meta, untyped(decide)}.execute(ctx, tip{from.State, from.Recorded, false}, false)
	return typed[S](t), err
}

// tip is a Tip without its type.
type tip struct {
	state    any
	recorded *Recorded
	appended bool
}

func typed[S any](t tip) Tip[S] {
	state, _ := t.state.(S)
	return Tip[S]{state, t.recorded, t.appended}
}

func untyped[S any, E domain.Event](decide func(S) (E, error)) func(any) (domain.Event, error) {
	return func(state any) (domain.Event, error) {
		event, err := decide(state.(S))
		return event, err
	}
}

// command is a decision about one aggregate, and the metadata of its event.
type command struct {
	store     *Store
	aggregate *format.Core
	key       Key
	meta      Meta
	decide    func(state any) (domain.Event, error)
}

func executeLoaded(ctx context.Context, c command) (tip, error) {
	latest := !c.store.readsMayBeStale
	loaded, err := c.store.load(ctx, c.aggregate, c.key, AllowStale)
	if err != nil {
		return loaded, err
	}
	return c.execute(ctx, loaded, latest)
}

// execute decides on tip and appends. latest reports that tip was loaded as Latest.
func (c command) execute(ctx context.Context, tip tip, latest bool) (tip, error) {
	if Stale(ctx) {
		return tip, errors.New("eventstore: a command cannot rest on a stale read")
	}
	tip.appended = false
	for range maxConflicts {
		event, err := c.decide(tip.state)
		if nothing := event == nil; (err != nil || nothing) && latest {
			return tip, err
		} else if err == nil && !nothing {
			next, err := c.record(ctx, tip, event)
			if !errors.Is(err, ErrConflict) {
				return next, storeError(err)
			}
		}
		if tip, err = c.store.load(ctx, c.aggregate, c.key, Latest); err != nil {
			return tip, err
		}
		latest = true
	}
	return tip, Overtaken()
}

// Overtaken returns the error for a command that other commands overtook. Its caller may repeat it.
func Overtaken() *domain.Error {
	return &domain.Error{
		Kind: domain.KindConflict, Reason: domain.ReasonConcurrentModification,
		Message:  "Another request changed the data at the same time.",
		Recovery: "It is safe to repeat the request.",
	}
}

// Load returns an aggregate's tip. The tip of an aggregate that does not exist has the zero state and no event.
func Load[S any, E domain.Event](ctx context.Context, s *Store, a *Aggregate[S, E], key Key, consistency Consistency) (Tip[S], error) {
	t, err := s.load(ctx, a.Core, key, consistency)
	return typed[S](t), err
}

func (s *Store) load(ctx context.Context, a *format.Core, key Key, consistency Consistency) (tip, error) {
	none := tip{state: a.None()}
	r, err := s.Load(ctx, key, consistency)
	if errors.Is(err, ErrNotFound) {
		return none, nil
	}
	if err != nil {
		return none, domain.Unavailable(err)
	}
	state, err := s.stateAt(ctx, a, r)
	if err != nil {
		return none, err
	}
	return tip{state: state, recorded: r}, nil
}

// Remembered returns an aggregate's tip if this process has it in memory. If not, it returns false: the aggregate may exist.
func Remembered[S any, E domain.Event](s *Store, a *Aggregate[S, E], key Key) (Tip[S], bool) {
	t, known := s.remembered(a.Core, key)
	return typed[S](t), known
}

func (s *Store) remembered(a *format.Core, key Key) (tip, bool) {
	none := tip{state: a.None()}
	h := s.shard[s.ShardOf(key)]
	h.mu.Lock()
	r := h.known(key)
	h.mu.Unlock()
	if r == nil || !s.sole {
		return none, false
	}
	state, err := a.DecodeState(r)
	if err == nil {
		state, err = s.withRows(a, r, state)
	}
	if err != nil {
		return none, false
	}
	return tip{state: state, recorded: r}, a.Whole(state)
}

// StateAt returns the state after r, with the parts moved out of it. It folds the events again if an older schema wrote r.
func StateAt[S any, E domain.Event](ctx context.Context, s *Store, a *Aggregate[S, E], r *Recorded) (S, error) {
	state, err := s.stateAt(ctx, a.Core, r)
	at, _ := state.(S)
	return at, err
}

func (s *Store) stateAt(ctx context.Context, a *format.Core, r *Recorded) (any, error) {
	if r.Schema == a.Schema {
		state, err := a.DecodeState(r)
		if err != nil || a.Whole(state) {
			return state, err
		}
		return s.withLeft(ctx, a, r, state)
	}
	if r.Schema > a.Schema {
		return a.None(), fmt.Errorf("%w: %s has schema %d, known is %d", format.ErrNewerSchema, r.Key, r.Schema, a.Schema)
	}
	events, err := s.Since(ctx, r, 0)
	if err != nil {
		return a.None(), err
	}
	return a.FoldAll(events)
}

func (c command) record(ctx context.Context, on tip, event domain.Event) (tip, error) {
	r, err := draftOn(c.aggregate, c.key, c.store.ShardOf(c.key), on, c.meta, event, c.store.readable(c.aggregate.Name))
	if err != nil {
		return on, err
	}
	if c.meta.Request {
		if err := c.store.roomFor(r, c.meta); err != nil {
			return on, err
		}
	}
	err = c.store.append(ctx, r)
	if noted, is := ctx.Value(recordedKey{}).(*atomic.Bool); is && (err == nil || errors.Is(err, ErrUnknown)) {
		noted.Store(true)
	}
	if err != nil {
		return on, err
	}
	next := r.State() // draftOn has set it
	if !c.aggregate.Made(next) {
		return on, fmt.Errorf("eventstore: %s was appended without a state", c.key)
	}
	return tip{state: next, recorded: r, appended: true}, nil
}

type recordedKey struct{}

// WithRecorded returns a context whose commands note that they recorded an event, or may have, and the function that reports it. After that
// no error may say that nothing was recorded, for instance the error of a later read.
func WithRecorded(ctx context.Context) (noting context.Context, recorded func() bool) {
	var noted atomic.Bool
	return context.WithValue(ctx, recordedKey{}, &noted), noted.Load
}

// roomFor refuses a request that would use the space for outcomes, of the aggregate or of the disk.
func (s *Store) roomFor(r *Recorded, meta Meta) error {
	limit := maxState
	if meta.GivesBack {
		limit = maxStateGivingBack
	}
	if len(r.Body) > limit {
		return fmt.Errorf("%w: %w", ErrRefused, ErrTooLarge)
	}
	s.disk.Look()
	if err := s.Full(); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return nil
}

// draftOn returns the next event of an aggregate, given its newest event and its state, in a schema that every live node reads.
func draftOn(a *format.Core, key Key, shard int, on tip, meta Meta, event domain.Event, readable int) (*Recorded, error) {
	if err := key.Valid(); err != nil {
		return nil, err
	}
	r := &Recorded{
		Key: key, Shard: shard, Revision: 1, Type: event.Type(), EventID: meta.EventID,
		CommandID: meta.CommandID, CorrelationID: format.CleanLine(meta.CorrelationID), Actor: format.CleanLine(meta.Actor),
		Time: meta.At.UTC().Truncate(time.Microsecond), // as a reader of the log gets it
	}
	var previous Hash
	if newest := on.recorded; newest != nil {
		if newest.Schema > a.Schema {
			return nil, fmt.Errorf("%w: %s", format.ErrNewerSchema, key)
		}
		r.Revision, r.PrevSeq, previous, r.Schema = newest.Revision+1, newest.Seq, newest.Hash, newest.Schema
	}
	var err error
	if r.Schema, err = a.WriteSchema(event, r.Schema, readable); err != nil {
		return nil, err
	}
	if !a.Whole(on.state) {
		return nil, fmt.Errorf("eventstore: %s was decided on without the parts moved out of its state", key)
	}
	return r, a.Complete(format.CleanLine(meta.Origin), r, previous, event, a.Evolve(on.state, event))
}

func storeError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrUnknown):
		return domain.OutcomeUnknown(err)
	case errors.Is(err, ErrTooLarge):
		return &domain.Error{
			Kind: domain.KindInvalid, Reason: domain.ReasonRequestTooLarge,
			Message: fmt.Sprintf("The request would make the stored object larger than %d KiB.", maxState>>10),
			Err:     err,
		}
	case errors.Is(err, ErrRefused), errors.Is(err, ErrUnhealthy), errors.Is(err, format.ErrNotEverywhere):
		return domain.Unavailable(err)
	default:
		return err
	}
}

// Meta is the metadata of an event: who caused it, and why. All decisions of one Execute have the same command id.
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

// NewMeta makes the ids of one command.
func (s *Store) NewMeta(actor, correlationID string) (Meta, error) {
	eventID, err := NewUUID(s.random)
	if err != nil {
		return Meta{}, err
	}
	commandID, err := NewUUID(s.random)
	if err != nil {
		return Meta{}, err
	}
	if mark := s.mark.Load(); mark != nil {
		commandID = (*mark)(commandID)
	}
	return Meta{EventID: eventID, CommandID: commandID, CorrelationID: correlationID, Actor: actor, At: s.Now()}, nil
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
