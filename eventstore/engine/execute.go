package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/nodes"
)

var _ eventstore.Store = (*Store)(nil)

const maxConflicts = 16 // the number of decisions after which Execute returns ConcurrentModification

// maxState is the size from which an aggregate accepts no new requests: the rest of a message is
// for outcomes (§8 has no limit).
const maxState = 256 << 10

// maxStateGivingBack is that size for requests that return or release money: captures can be
// returned in as many parts again.
const maxStateGivingBack = 2 * maxState

// tip is an aggregate at its newest event, without its type.
type tip = eventstore.Tip[any]

// command is a decision that this store executes.
type command struct {
	eventstore.Command
	store *Store
}

// ExecuteUntyped is eventstore.Execute without the types.
func (s *Store) ExecuteUntyped(ctx context.Context, c eventstore.Command) (eventstore.Tip[any], error) {
	if c.On != nil {
		return command{c, s}.execute(ctx, *c.On, false)
	}
	latest := s.sole
	loaded, err := s.LoadUntyped(ctx, c.Aggregate, c.Key, eventstore.Applied)
	if err != nil {
		return loaded, err
	}
	return command{c, s}.execute(ctx, loaded, latest)
}

// execute decides on tip and appends. latest reports that tip was loaded as Latest.
func (c command) execute(ctx context.Context, tip tip, latest bool) (tip, error) {
	if eventstore.Demands(ctx, eventstore.Applied) {
		return tip, errors.New("eventstore: a command cannot rest on a stale read")
	}
	tip.Appended = false
	for range maxConflicts {
		event, err := c.Decide(tip.State)
		if nothing := event == nil; (err != nil || nothing) && latest {
			return tip, err
		} else if err == nil && !nothing {
			next, err := c.record(ctx, tip, event)
			if !errors.Is(err, fault.ErrConflict) {
				return next, storeError(err)
			}
		}
		if tip, err = c.store.LoadUntyped(ctx, c.Aggregate, c.Key, eventstore.Latest); err != nil {
			return tip, err
		}
		latest = true
	}
	return tip, eventstore.Overtaken()
}

// LoadUntyped is eventstore.Load without the types.
func (s *Store) LoadUntyped(ctx context.Context, a *format.Core, key format.Key, consistency eventstore.Consistency) (eventstore.Tip[any], error) {
	none := tip{State: a.None()}
	r, err := s.Load(ctx, key, consistency)
	if errors.Is(err, fault.ErrNotFound) {
		return none, nil
	}
	if err != nil {
		return none, domain.Unavailable(err)
	}
	state, err := s.StateUntyped(ctx, a, r)
	if err != nil {
		return none, err
	}
	return tip{State: state, Recorded: r}, nil
}

// RememberedUntyped is eventstore.Remembered without the types.
func (s *Store) RememberedUntyped(a *format.Core, key format.Key) (eventstore.Tip[any], bool) {
	none := tip{State: a.None()}
	h := s.shard[s.ShardOf(key)]
	h.mu.Lock()
	r := h.tipInMemory(key)
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
	return tip{State: state, Recorded: r}, a.Whole(state)
}

// StateUntyped is eventstore.StateAt without the types.
func (s *Store) StateUntyped(ctx context.Context, a *format.Core, r *format.Recorded) (any, error) {
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
	r, err := draftOn(c.Aggregate, c.Key, c.store.ShardOf(c.Key), on, c.Meta, event, c.store.readable(c.Aggregate.Name))
	if err != nil {
		return on, err
	}
	if c.Meta.Request {
		if err := c.store.roomFor(r, c.Meta); err != nil {
			return on, err
		}
	}
	err = c.store.append(ctx, r)
	if err == nil || errors.Is(err, fault.ErrUnknown) {
		eventstore.NoteRecorded(ctx)
	}
	if err != nil {
		return on, err
	}
	next := r.State() // draftOn has set it
	if !c.Aggregate.Made(next) {
		return on, fmt.Errorf("eventstore: %s was appended without a state", c.Key)
	}
	return tip{State: next, Recorded: r, Appended: true}, nil
}

// roomFor refuses a request that would use the space for outcomes, of the aggregate or of the disk.
func (s *Store) roomFor(r *format.Recorded, meta eventstore.Meta) error {
	limit := maxState
	if meta.GivesBack {
		limit = maxStateGivingBack
	}
	if len(r.Body) > limit {
		return fmt.Errorf("%w: %w", fault.ErrRefused, eventstore.ErrTooLarge)
	}
	s.disk.Look()
	if err := s.Full(); err != nil {
		return fmt.Errorf("%w: %w", fault.ErrRefused, err)
	}
	return nil
}

// draftOn returns the next event of an aggregate, given its newest event and its state, in a schema
// that every live node reads.
func draftOn(a *format.Core, key format.Key, shard int, on tip, meta eventstore.Meta, event domain.Event, readable int) (*format.Recorded, error) {
	if err := key.Valid(); err != nil {
		return nil, err
	}
	r := &format.Recorded{
		Key: key, Shard: shard, Type: event.Type(), EventID: meta.EventID,
		CommandID: meta.CommandID, CorrelationID: format.CleanLine(meta.CorrelationID), Actor: format.CleanLine(meta.Actor),
		Time: meta.At.UTC().Truncate(time.Microsecond), // as a reader of the log gets it
	}
	newest := on.Recorded.OrNone()
	if newest.Schema > a.Schema {
		return nil, fmt.Errorf("%w: %s", format.ErrNewerSchema, key)
	}
	r.Revision, r.PrevSeq = newest.Revision+1, newest.Seq
	var err error
	if r.Schema, err = a.WriteSchema(event, newest.Schema, readable); err != nil {
		return nil, err
	}
	if !a.Whole(on.State) {
		return nil, fmt.Errorf("eventstore: %s was decided on without the parts moved out of its state", key)
	}
	return r, a.Complete(format.CleanLine(meta.Origin), r, newest.Hash, event, a.Evolve(on.State, event))
}

func storeError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fault.ErrUnknown):
		return domain.OutcomeUnknown(err)
	case errors.Is(err, eventstore.ErrTooLarge):
		return &domain.Error{
			Kind: domain.KindInvalid, Reason: domain.ReasonRequestTooLarge,
			Message: fmt.Sprintf("The request would make the stored object larger than %d KiB.", maxState>>10),
			Err:     err,
		}
	case errors.Is(err, fault.ErrRefused), errors.Is(err, fault.ErrUnhealthy), errors.Is(err, format.ErrNotEverywhere):
		return domain.Unavailable(err)
	default:
		return err
	}
}

// NewMeta makes the ids of one command.
func (s *Store) NewMeta(actor, correlationID string) (eventstore.Meta, error) {
	eventID, err := eventstore.NewUUID(s.random)
	if err != nil {
		return eventstore.Meta{}, err
	}
	commandID, err := eventstore.NewUUID(s.random)
	if err != nil {
		return eventstore.Meta{}, err
	}
	if known := s.nodes.Load(); known != nil {
		commandID = (*known).Mark(commandID)
	}
	return eventstore.Meta{EventID: eventID, CommandID: commandID, CorrelationID: correlationID, Actor: actor, At: s.Now()}, nil
}

// Nodes is what a store asks about the nodes that serve its log. ReadsHeader and Sharing are called
// with a shard locked: they must not wait for one.
type Nodes interface {
	Mark(command string) string // the id of a command of this node
	Valid() error               // nil while this node has a lease
	// Reads and ReadsHeader return the newest schema of an aggregate, and the newest level of the
	// header of groups (format.HeaderLevel), that every live node reads. The store writes no newer
	// one.
	Reads(aggregate string) int
	ReadsHeader() int
	// Sharing returns the names of the nodes that serve, this one included, and those of them that
	// keep no shard while another one serves. The shards are shared out evenly among the others.
	Sharing() (serving, guests []string)
}

// OpenNodes joins the registry of the nodes that serve this log, under the name by which the shards
// know this node. It must be called before the first command.
func (s *Store) OpenNodes(ctx context.Context, c nodes.Config) (*nodes.Registry, error) {
	c.API, c.Reader, c.Self.Node, c.Acknowledged = s.api, s.shards+1, s.node, s.Appended
	r, err := nodes.Open(ctx, c)
	if err == nil {
		s.ServeWith(r)
	}
	return r, err
}

// ServeWith sets the nodes that serve this log.
func (s *Store) ServeWith(n Nodes) { s.nodes.Store(&n) }

// readable returns the newest schema of an aggregate that every live node reads.
func (s *Store) readable(aggregate string) int {
	if known := s.nodes.Load(); known != nil {
		return (*known).Reads(aggregate)
	}
	return math.MaxInt
}
