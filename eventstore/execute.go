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
	latest := !s.readsMayBeStale
	tip, err := Load(ctx, s, a, key, AllowStale)
	if err != nil {
		return tip, err
	}
	return command[S, E]{s, a, key, meta, decide}.execute(ctx, tip, latest)
}

// ExecuteNew is Execute for an aggregate that should not exist yet: the first decision is on the zero state, without a load.
func ExecuteNew[S any, E domain.Event](ctx context.Context, s *Store, a *Aggregate[S, E], key Key, meta Meta, decide func(S) (E, error)) (Tip[S], error) {
	return command[S, E]{s, a, key, meta, decide}.execute(ctx, Tip[S]{}, false)
}

// ExecuteFrom is Execute with a tip that the caller has already loaded.
func ExecuteFrom[S any, E domain.Event](ctx context.Context, s *Store, a *Aggregate[S, E], tip Tip[S], meta Meta, decide func(S) (E, error)) (Tip[S], error) {
	return command[S, E]{s, a, tip.Recorded.Key, meta, decide}.execute(ctx, tip, false)
}

// command is a decision about one aggregate, and the metadata of its event.
type command[S any, E domain.Event] struct {
	store     *Store
	aggregate *Aggregate[S, E]
	key       Key
	meta      Meta
	decide    func(S) (E, error)
}

// execute decides on tip and appends. latest reports that tip was loaded as Latest.
func (c command[S, E]) execute(ctx context.Context, tip Tip[S], latest bool) (Tip[S], error) {
	if Stale(ctx) {
		return tip, errors.New("eventstore: a command cannot rest on a stale read")
	}
	tip.Appended = false
	for range maxConflicts {
		event, err := c.decide(tip.State)
		if nothing := any(event) == nil; (err != nil || nothing) && latest {
			return tip, err
		} else if err == nil && !nothing {
			next, err := c.record(ctx, tip, event)
			if !errors.Is(err, ErrConflict) {
				return next, storeError(err)
			}
		}
		if tip, err = Load(ctx, c.store, c.aggregate, c.key, Latest); err != nil {
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
	r, err := s.Load(ctx, key, consistency)
	if errors.Is(err, ErrNotFound) {
		return Tip[S]{}, nil
	}
	if err != nil {
		return Tip[S]{}, domain.Unavailable(err)
	}
	state, err := StateAt(ctx, s, a, r)
	if err != nil {
		return Tip[S]{}, err
	}
	return Tip[S]{State: state, Recorded: r}, nil
}

// Remembered returns an aggregate's tip if this process has it in memory. If not, it returns false: the aggregate may exist.
func Remembered[S any, E domain.Event](s *Store, a *Aggregate[S, E], key Key) (Tip[S], bool) {
	h := s.shard[s.ShardOf(key)]
	h.mu.Lock()
	r := h.known(key)
	h.mu.Unlock()
	if r == nil || !s.sole {
		return Tip[S]{}, false
	}
	state, err := a.State(r)
	if err == nil {
		state, err = withRows(s, a, r, state)
	}
	return Tip[S]{State: state, Recorded: r}, err == nil && a.Whole(state)
}

// StateAt returns the state after r, with the parts moved out of it. It folds the events again if an older schema wrote r.
func StateAt[S any, E domain.Event](ctx context.Context, s *Store, a *Aggregate[S, E], r *Recorded) (S, error) {
	var none S
	if r.Schema == a.Schema {
		state, err := a.State(r)
		if err != nil || a.Whole(state) {
			return state, err
		}
		return withLeft(ctx, s, a, r, state)
	}
	if r.Schema > a.Schema {
		return none, fmt.Errorf("%w: %s has schema %d, known is %d", format.ErrNewerSchema, r.Key, r.Schema, a.Schema)
	}
	events, err := s.Since(ctx, r, 0)
	if err != nil {
		return none, err
	}
	return a.Fold(events)
}

func (c command[S, E]) record(ctx context.Context, tip Tip[S], event E) (Tip[S], error) {
	r, err := draftOn(c.aggregate, c.key, c.store.ShardOf(c.key), tip.Recorded, tip.State, c.meta, event, c.store.readable(c.aggregate.Name))
	if err != nil {
		return tip, err
	}
	if c.meta.Request {
		if err := c.store.roomFor(r, c.meta); err != nil {
			return tip, err
		}
	}
	err = c.store.append(ctx, r)
	if noted, is := ctx.Value(recordedKey{}).(*atomic.Bool); is && (err == nil || errors.Is(err, ErrUnknown)) {
		noted.Store(true)
	}
	if err != nil {
		return tip, err
	}
	next, made := r.State().(S) // draftOn has set it
	if !made {
		return tip, fmt.Errorf("eventstore: %s was appended without a state", c.key)
	}
	return Tip[S]{State: next, Recorded: r, Appended: true}, nil
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
func draftOn[S any, E domain.Event](a *Aggregate[S, E], key Key, shard int, tip *Recorded, state S, meta Meta, event E, readable int) (*Recorded, error) {
	if err := key.Valid(); err != nil {
		return nil, err
	}
	r := &Recorded{
		Key: key, Shard: shard, Revision: 1, Type: event.Type(), EventID: meta.EventID,
		CommandID: meta.CommandID, CorrelationID: format.CleanLine(meta.CorrelationID), Actor: format.CleanLine(meta.Actor),
		Time: meta.At.UTC().Truncate(time.Microsecond), // as a reader of the log gets it
	}
	var previous Hash
	if tip != nil {
		if tip.Schema > a.Schema {
			return nil, fmt.Errorf("%w: %s", format.ErrNewerSchema, key)
		}
		r.Revision, r.PrevSeq, previous, r.Schema = tip.Revision+1, tip.Seq, tip.Hash, tip.Schema
	}
	var err error
	if r.Schema, err = a.WriteSchema(event, r.Schema, readable); err != nil {
		return nil, err
	}
	if !a.Whole(state) {
		return nil, fmt.Errorf("eventstore: %s was decided on without the parts moved out of its state", key)
	}
	return r, a.CompleteFrom(format.CleanLine(meta.Origin), r, previous, event, a.Evolve(state, event))
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
