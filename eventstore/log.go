package eventstore

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/eventstore/format"
)

// Store appends to and reads from the log. All methods may be called from many goroutines. Package
// engine implements it. A package that needs one of the streams beside the log names a larger
// interface, with the method of the engine that returns the stream.
type Store interface {
	// ID is the log's id.
	ID() format.LogID
	// ShardOf returns the shard of an aggregate.
	ShardOf(key Key) int
	// Sole reports whether no other process writes to the log.
	Sole() bool
	// Now is the store's clock, in UTC to the microsecond: the resolution of every time in the log.
	Now() time.Time
	// NewMeta makes the ids of one command.
	NewMeta(actor, correlationID string) (Meta, error)

	Tips
	Events
	Subscribing
	Health
	Untyped
}

// Tips are the newest events of aggregates.
type Tips interface {
	// Load returns the newest event of an aggregate, with the state after it, or ErrNotFound.
	Load(ctx context.Context, key Key, consistency Consistency) (*Recorded, error)
	// Known returns the newest event of an aggregate that this process knows; nil if it knows none.
	// It makes no request.
	Known(key Key) (*Recorded, error)
	// Newest calls handle with the newest event of every aggregate of one kind, of one account or
	// EveryAccount, as of the call. It first calls begin with their number. Events of the tip store
	// come in the order of their ids, newer ones last. It holds few events in memory.
	Newest(ctx context.Context, account domain.AccountID, aggregate string, begin func(total uint64), handle func(*Recorded) error) error
}

// Events are the events of the log.
type Events interface {
	// Read returns the event at an address. ErrNotFound: there is no acknowledged event at the
	// address.
	Read(ctx context.Context, shard int, address uint64) (*Recorded, error)
	// ReadAs returns the event at an address if its hash is the given one, after an event with the
	// hash before. A walk with Previous has found both.
	ReadAs(ctx context.Context, shard int, address uint64, hash, before Hash) (*Recorded, error)
	// Previous returns the event of an aggregate before r, which is not the first one. It checks
	// that r has the hash of its bytes after that event, and that the first event has the hash of
	// its bytes. In a walk from a tip to the first event, each event is therefore the one that the
	// tip's hash covers. If a walk ends earlier, nothing checks the bytes of its last event.
	Previous(ctx context.Context, r *Recorded) (*Recorded, error)
	// History returns all events of an aggregate, oldest first, by walking back from the newest.
	History(ctx context.Context, key Key) ([]*Recorded, error)
	// Since returns the events of an aggregate from a revision to tip, both included, oldest first.
	Since(ctx context.Context, tip *Recorded, revision uint64) ([]*Recorded, error)
	// LastAt returns the newest event of an aggregate that is not after at; nil: there is none. tip
	// is the newest event of the aggregate.
	LastAt(ctx context.Context, tip *Recorded, at time.Time) (*Recorded, error)
	// Groups calls each with the groups of a shard from one sequence through another, both
	// included, in order. A checkpoint must cover the last group.
	Groups(ctx context.Context, shard int, from, through uint64, each func(*format.Group) error) error
	// LastSeq returns the address of the newest event of a shard; 0 when there is none.
	LastSeq(ctx context.Context, shard int) (uint64, error)
	// Appended returns the address of the newest event of each shard that this process knows to be
	// durable. It makes no request; events of other nodes count a moment later.
	Appended() []uint64
	// Events returns the number of events of the log that this process knows to be durable.
	Events() uint64
	// CheckReader compares a reader's positions with the log: a log that ends before a position has
	// lost events.
	CheckReader(ctx context.Context, reader string, positions []uint64) error
	// Near returns the stretches of a shard up to a group, oldest first, that hold all events of a
	// window, whatever the clocks of the nodes said, and some around it. The times of events rise
	// only roughly.
	Near(ctx context.Context, shard int, through uint64, w Window) ([]format.Stretch, error)
}

// Ends returns Events.LastSeq of each shard.
func Ends(ctx context.Context, s Store) (position []uint64, err error) {
	position = make([]uint64, s.Shards())
	for shard := range position {
		if position[shard], err = s.LastSeq(ctx, shard); err != nil {
			return nil, err
		}
	}
	return position, nil
}

// Subscribing is the part of a Store that a Fanout uses.
type Subscribing interface {
	// Shards is the number of shards of the log.
	Shards() int
	// Subscribe calls handle with the events of one shard after address after, in order and without
	// a gap, until ctx ends, handle fails or the log is found damaged. It returns that error. The
	// events are acknowledged. The newest groups come from memory, older ones from the log.
	Subscribe(ctx context.Context, shard int, after uint64, handle func(*Recorded) error) error
	// LogLost writes to the process's own log that a shard cannot be read any more.
	LogLost(err error)
}

// Health is the state of the log, as this process knows it. The methods send no request.
type Health interface {
	// Healthy returns nil while all shards accept appends.
	Healthy() error
	// Full returns ErrFull while the disk has no room for new requests.
	Full() error
	// Accepts returns an error while the shard of an aggregate takes no appends, as far as this
	// process knows.
	Accepts(key Key) error
	// Patience bounds a read of the log: without an answer of a majority it then fails with
	// ErrNoMajority.
	Patience() time.Duration
}

// Consistency is the required recency of a read.
type Consistency int

const (
	// Applied returns the state that this process has applied. On a replicated log that state can
	// be old. An append on an old state is refused, and Execute repeats it on the Latest state. On
	// a log with one writer Applied equals Latest.
	Applied Consistency = iota
	// Leased returns a state with every change that was acknowledged before the call, if changes
	// are acknowledged only after every node has applied them (nodes.Registry.Await). While this
	// node has its lease, that is the state that it has applied; the lease is checked after the
	// read, so that a process that was stopped in between does not use an old state. Without a
	// lease Leased equals Latest.
	Leased
	// Latest returns a state with every event that any node acknowledged before the call.
	Latest
	// Majority is Latest that rests on no lease and no clock: it waits for an acknowledgement of a
	// majority.
	Majority
)

type consistencyKey struct{}

// Reading returns a context in which all reads have a consistency, whichever they ask for: Applied
// for an answer that may be old (D11), or Majority. With Applied, no command is executed and no
// personal data is opened: only the log shows whether it was erased.
func Reading(ctx context.Context, c Consistency) context.Context {
	return context.WithValue(ctx, consistencyKey{}, c)
}

// Demands reports whether a context is one of Reading with a consistency.
func Demands(ctx context.Context, c Consistency) bool {
	demanded, is := ctx.Value(consistencyKey{}).(Consistency)
	return is && demanded == c
}

// EveryAccount selects all accounts in a call of Newest.
const EveryAccount domain.AccountID = "*"
