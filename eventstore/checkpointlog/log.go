package checkpointlog

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/mod/sumdb/note"

	"payledger/eventstore/cache"
	"payledger/eventstore/checkpoint"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/streams"
)

// At least one in edgeEvery checkpoints, and one in edgeEvents events, contains the edge of the
// tree. So a start reads at most as many to compute the newest edge; of a log of an earlier build
// up to 256 checkpoints and 262,144 events.
const (
	edgeEvery  = 32
	edgeEvents = 1 << 14
)

// appendTimeout bounds the append of a checkpoint.
const appendTimeout = 15 * time.Second

// Shard is the shard of the checkpoints, as package engine keeps it.
type Shard interface {
	// CatchUp returns when this process has all groups that any process appended before the call.
	CatchUp(ctx context.Context) error
	// Newest returns the last acknowledged group, a channel that closes when there is another, and
	// the damage of the shard, after which there is none.
	Newest() (newest format.Head, grown <-chan struct{}, damage error)
	// Tip returns the newest record of a key that this process has; nil if there is none.
	Tip(key format.Key) (*format.Recorded, error)
	// Group returns an acknowledged group.
	Group(ctx context.Context, seq uint64) (*format.Group, error)
	// Append appends a record, and sets its place. ErrConflict: look up the tip again.
	Append(ctx context.Context, r *format.Recorded) error
}

// Config is the configuration of a Log.
type Config struct {
	Shard  Shard
	Shards int  // of events
	Sole   bool // no other process writes to the log
	Now    func() time.Time
	Log    zerolog.Logger
	// Groups calls each with the groups of a shard from one sequence through another.
	Groups func(ctx context.Context, shard int, from, through uint64, each func(*format.Group) error) error
	Room   func() error    // returns an error while the disk is full
	Gone   <-chan struct{} // closed with the store
	// Damaged returns the shards of which no further events can be read.
	Damaged func() []int
}

// Log is the checkpoints of a log. All methods may be called from many goroutines.
type Log struct {
	Config
	// By number, with their counts, last groups and places only; a checkpoint never changes.
	marks  *cache.Cache[uint64, checkpoint.Checkpoint]
	edgeAt atomic.Uint64 // size of the newest checkpoint of this process that contains its edge

	bounds
}

// New returns the log of a shard.
func New(c Config) *Log {
	marks := cache.New[uint64](marksKept, func(checkpoint.Checkpoint) int { return 1 }, nil)
	return &Log{Config: c, marks: marks, bounds: bounds{hurry: make(chan struct{}, 1), ending: make(chan struct{}, 1)}}
}

// Last returns the newest checkpoint that any process appended before the call; fault.ErrNotFound
// in a new log. If the shard is damaged, it is the newest one before the damage.
func (l *Log) Last(ctx context.Context) (checkpoint.Checkpoint, error) {
	err := l.Shard.CatchUp(ctx)
	if _, _, damage := l.Shard.Newest(); err != nil && damage == nil {
		return checkpoint.Checkpoint{}, err
	}
	return l.newest()
}

// newest is Last for the checkpoints that this process has.
func (l *Log) newest() (checkpoint.Checkpoint, error) {
	r, err := l.Shard.Tip(checkpoint.Key)
	switch {
	case err != nil:
		return checkpoint.Checkpoint{}, err
	case r == nil:
		return checkpoint.Checkpoint{}, fault.ErrNotFound
	}
	return l.parse(r)
}

// At returns a checkpoint by its number.
func (l *Log) At(ctx context.Context, number uint64) (checkpoint.Checkpoint, error) {
	r, err := l.find(ctx, number)
	if err != nil {
		return checkpoint.Checkpoint{}, err
	}
	return l.parse(r)
}

// parse returns the checkpoint in a record, and caches its mark: many readers look for the newest
// one next, and find looks beside it.
func (l *Log) parse(r *format.Recorded) (checkpoint.Checkpoint, error) {
	c, err := checkpoint.Of(r)
	if err != nil {
		return c, fmt.Errorf("%w: %s at sequence %d: %w", fault.ErrUnhealthy, streams.Shard(streams.CheckpointShard), format.GroupOf(r.Seq), err)
	}
	if err = c.CheckShards(l.Shards); err == nil {
		l.keep(c)
	}
	return c, err
}

// write signs and appends the checkpoint of a tree. ErrConflict: another node wrote a checkpoint
// first.
func (l *Log) write(ctx context.Context, signer note.Signer, before checkpoint.Checkpoint, t *checkpoint.Tree, lastSeq, events []uint64) (checkpoint.Checkpoint, error) {
	c, err := checkpoint.Sign(signer, t, lastSeq, events)
	if err != nil {
		return before, err
	}
	edge := before.Number%edgeEvery == 0 || c.Size-l.edgeAt.Load() >= edgeEvents
	if c, err = l.put(ctx, c, before.Number, edge); err == nil && edge {
		l.edgeAt.Store(c.Size)
	}
	return c, err
}

// put appends c after checkpoint `after`, with its edge or without, and returns it with its number
// and its place.
func (l *Log) put(ctx context.Context, c checkpoint.Checkpoint, after uint64, edge bool) (checkpoint.Checkpoint, error) {
	body, err := c.Encode(edge)
	if err == nil {
		err = l.Room()
	}
	if err != nil {
		return c, err
	}
	ctx, cancel := context.WithTimeout(ctx, appendTimeout)
	defer cancel()
	r, err := l.draft(after, body)
	if err == nil {
		err = l.Shard.Append(ctx, r)
	}
	if err != nil {
		return c, fmt.Errorf("eventstore: checkpoint: %w", err)
	}
	c.Number, c.Place = r.Revision, r.Seq
	return c, nil
}

// draft returns the record that follows checkpoint `after`.
func (l *Log) draft(after uint64, body []byte) (*format.Recorded, error) {
	tip, err := l.Shard.Tip(checkpoint.Key)
	if err != nil {
		return nil, err
	}
	r := &format.Recorded{
		Key: checkpoint.Key, Shard: streams.CheckpointShard, Type: checkpoint.RecordType, Schema: checkpoint.RecordSchema, Time: l.Now(), Body: body,
	}
	if r.Follow(tip); r.Revision != after+1 {
		return nil, fault.ErrConflict
	}
	return r, nil
}

// Await returns when the log has a checkpoint with a number above after, or when ctx ends.
func (l *Log) Await(ctx context.Context, after uint64) error {
	for {
		newest, grown, damage := l.Shard.Newest()
		switch {
		case newest.Events > after:
			return nil
		case damage != nil:
			return damage
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		case <-l.Gone:
			return fmt.Errorf("%w: the store was closed", fault.ErrUnhealthy)
		}
	}
}

// isNone reports whether there is no checkpoint yet.
func isNone(err error) bool { return errors.Is(err, fault.ErrNotFound) }
