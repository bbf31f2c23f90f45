package checkpointlog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/sumdb/note"

	"payledger/eventstore/cache"
	"payledger/eventstore/checkpoint"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/sidelog"
	"payledger/eventstore/stored"
	"payledger/eventstore/tipstore"
)

// At least one in edgeEvery checkpoints, and one in edgeEvents events, contains the edge of the
// tree. So a start reads at most as many to compute the newest edge. Usually the tip store has the
// edge of a newer checkpoint.
const (
	edgeEvery  = 256
	edgeEvents = 1 << 18
)

const (
	root  = "checkpoints"
	topic = "c" // the last token of every subject; it is short because each message contains it
)

// Config is the configuration of a Log.
type Config struct {
	sidelog.Server
	Index  *sidelog.Index
	Tips   *tipstore.Store // stores the newest edge; Open and Stored need no tip store
	Shards int
	Stream func(name, subject string) jetstream.StreamConfig
	// Groups calls each with the groups of a shard from one sequence through another.
	Groups func(ctx context.Context, shard int, from, through uint64, each func(*format.Group) error) error
	Room   func() error    // returns an error while the disk is full
	Gone   <-chan struct{} // closed with the store
	// Damaged returns the shards of which no further events can be read.
	Damaged func() []int
}

// Log is the stream of checkpoints. All methods may be called from many goroutines.
type Log struct {
	Config
	stream *sidelog.Log
	marks  *cache.Cache[uint64, checkpoint.Checkpoint] // by number, with their counts and last groups only; a checkpoint never changes
	edgeAt atomic.Uint64                               // size of the newest checkpoint of this process that contains its edge

	fixing  sync.Mutex // locked while a checkpoint is appended
	doubted bool       // the outcome of the last append is unknown
	fixed   durability // of the stream

	bounds
}

// Open opens the stream. With create, it creates a missing stream.
func Open(ctx context.Context, c Config, create bool) (*Log, error) {
	marks := cache.New[uint64](marksKept, func(checkpoint.Checkpoint) int { return 1 }, nil)
	l := &Log{Config: c, marks: marks, fixed: durability{changed: make(chan struct{})}, bounds: bounds{hurry: make(chan struct{}, 1)}}
	l.stream = &sidelog.Log{Server: c.Server, Name: checkpoint.Stream, Root: root, Config: c.Stream}
	_, err := l.stream.Open(ctx, create)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = fmt.Errorf("%w: %w; copy the folder before anything else", fault.ErrUnhealthy, err)
	}
	return l, err
}

// EnterNewest adds the newest checkpoint to the index. Only the sole writer of a folder calls it,
// when it starts.
func (l *Log) EnterNewest(ctx context.Context) error { return l.Index.CatchUp(ctx, l.stream) }

// Last reads the newest checkpoint, once it is durable; fault.ErrNotFound in a new log.
func (l *Log) Last(ctx context.Context) (checkpoint.Checkpoint, error) {
	c, err := l.Stored(ctx)
	if err != nil {
		return c, err
	}
	if err = l.fix(ctx, c.Number); err == nil {
		l.keep(c) // many readers look for the newest one next
	}
	return c, err
}

// At reads a checkpoint by its number, once it is durable.
func (l *Log) At(ctx context.Context, number uint64) (checkpoint.Checkpoint, error) {
	c, err := l.read(ctx, jetapi.Get{Seq: number})
	if err != nil {
		return c, err
	}
	return c, l.fix(ctx, c.Number)
}

// Stored reads the newest checkpoint, durable or not. A writer may continue from it: the PubAck of
// the next checkpoint covers it.
func (l *Log) Stored(ctx context.Context) (checkpoint.Checkpoint, error) {
	return l.read(ctx, jetapi.Get{})
}

func (l *Log) read(ctx context.Context, request jetapi.Get) (checkpoint.Checkpoint, error) {
	var c checkpoint.Checkpoint
	var message stored.Message
	var err error
	stream, must := l.must()
	if request.Seq == 0 {
		message, err = l.stream.LastAtLeader(ctx)
	} else {
		message, err = l.API.AtLeader(ctx, l.streamOf(request.Seq), request)
	}
	switch {
	case errors.Is(err, fault.ErrNotFound):
		return c, l.missing(request.Seq, must.Seq)
	case err != nil:
		return c, err
	case request.Seq == 0:
		if err := l.Index.Older(stream, message.Seq, must); err != nil {
			return c, err
		}
	}
	if c, err = checkpoint.Parse(message.Body); err != nil {
		return c, fmt.Errorf("%w: %s at sequence %d: %w", fault.ErrUnhealthy, l.streamOf(message.Seq), message.Seq, err)
	}
	c.Number = message.Seq
	return c, c.CheckShards(l.Shards)
}

// must returns the index entry of the newest checkpoint, and the checkpoint's stream.
func (l *Log) must() (stream string, must sidelog.Entry) {
	all := l.stream.All()
	for i := len(all) - 1; i >= 0 && must.Seq == 0; i-- {
		stream = all[i].Stream
		must = l.Index.Must(stream)
	}
	return stream, must
}

func (l *Log) streamOf(number uint64) string {
	return l.stream.Of(number).Stream
}

// missing returns the error for a missing checkpoint with a number; 0 means the newest.
func (l *Log) missing(number, newest uint64) error {
	if newest > 0 && number <= newest {
		number = max(number, 1)
		return l.Index.Damage(l.streamOf(number), number, "the checkpoint is missing")
	}
	return fault.ErrNotFound
}

// write signs and appends the checkpoint of a tree. ErrConflict: another node wrote a checkpoint
// first.
func (l *Log) write(ctx context.Context, signer note.Signer, before checkpoint.Checkpoint, t *checkpoint.Tree, lastSeq, events []uint64) (checkpoint.Checkpoint, error) {
	c, err := checkpoint.Sign(signer, t, lastSeq, events)
	if err != nil {
		return before, err
	}
	edge := before.Number%edgeEvery == 0 || c.Size-l.edgeAt.Load() >= edgeEvents
	if c.Number, err = l.put(ctx, c, before.Number, edge); err == nil {
		l.keepEdge(c)
		if edge {
			l.edgeAt.Store(c.Size)
		}
	}
	return c, err
}

// put publishes c after checkpoint `after`, with its edge or without, and returns its number.
func (l *Log) put(ctx context.Context, c checkpoint.Checkpoint, after uint64, edge bool) (uint64, error) {
	data, err := c.Encode(edge)
	if err != nil {
		return 0, err
	}
	if err := l.Room(); err != nil {
		return 0, err
	}
	l.fixing.Lock()
	defer l.fixing.Unlock()
	if after > 0 && l.Sole && !l.doubted && l.fixed.newest() == after { // nothing is under way
		if err := l.stream.Next(ctx, after); err != nil {
			return 0, err
		}
	}
	g := l.stream.Newest()
	m := nats.NewMsg(g.Subject(topic))
	m.Data = data
	if known := l.fixed.newest(); !l.Sole || l.doubted || after == 0 || known != after { // else no other writer can have appended
		expected := after
		if after < g.First { // of the segment before
			expected = 0
		}
		m.Header.Set(nats.ExpectedLastSubjSeqHdr, strconv.FormatUint(expected, 10))
	}
	ack, err := l.API.Publish(ctx, m)
	l.doubted = err != nil
	l.Index.Answered(g.Stream, err)
	switch {
	case err != nil:
		return 0, fmt.Errorf("eventstore: checkpoint: %w", err)
	case ack.Error != nil && ack.Error.Taken():
		return 0, errors.Join(fault.ErrConflict, ack.Error)
	case ack.Error != nil:
		return 0, fmt.Errorf("eventstore: checkpoint: %w", ack.Error)
	case ack.Seq == 0:
		return 0, errors.New("eventstore: checkpoint: the answer names no sequence")
	case ack.Seq != after+1:
		err := fmt.Errorf("%w: %s at sequence %d: the message after %d was stored there", fault.ErrUnhealthy, g.Stream, ack.Seq, after)
		l.Index.Fail(err, false)
		return 0, err
	}
	l.fixed.raise(ack.Seq)
	l.stream.Stored(len(data) + len(m.Subject))
	l.Index.Newest(g.Stream, ack.Seq, data)
	return ack.Seq, nil
}

// fix returns once the checkpoint is durable. Without a PubAck on one replica it publishes an exact
// copy of the newest, which covers no event.
func (l *Log) fix(ctx context.Context, number uint64) error {
	if l.API.Replicas > 1 || l.ReadOnly {
		return nil
	}
	for {
		if durable, _ := l.fixed.reached(number); durable {
			return nil
		}
		newest, err := l.Stored(ctx)
		if err != nil {
			return err
		}
		if _, err := l.put(ctx, newest, newest.Number, true); err != nil && !errors.Is(err, fault.ErrConflict) {
			return err
		}
	}
}

// poll is the time between two reads of the newest checkpoint while a reader waits for another
// node's checkpoint.
const poll = 200 * time.Millisecond

// Await returns when the log has a durable checkpoint with a number above after, or when ctx ends.
func (l *Log) Await(ctx context.Context, after uint64) error {
	for {
		durable, changed := l.fixed.reached(after + 1)
		if durable {
			return nil
		}
		var again <-chan time.Time
		if !l.Sole {
			newest, err := l.Stored(ctx)
			if err == nil && newest.Number > after {
				return nil
			}
			again = time.After(poll)
		}
		select {
		case <-changed:
		case <-again:
		case <-ctx.Done():
			return ctx.Err()
		case <-l.Gone:
			return fmt.Errorf("%w: the store was closed", fault.ErrUnhealthy)
		}
	}
}
