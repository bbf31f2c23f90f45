package eventstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/sumdb/note"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/sidelog"
)

// A checkpoint carries the edge of the tree at least once in edgeEvery checkpoints and once in edgeEvents events: to find the
// edge again, a start reads no more than that. The tip store has the edge of a newer one.
const (
	edgeEvery  = 256
	edgeEvents = 1 << 18
)

// LastCheckpoint reads the newest checkpoint, once it is durable; ErrNotFound in a new log.
func (s *Store) LastCheckpoint(ctx context.Context) (checkpoint.Checkpoint, error) {
	c, err := s.newestCheckpoint(ctx)
	if err != nil {
		return c, err
	}
	return c, s.fixCheckpoint(ctx, c.Number)
}

// CheckpointAt reads a checkpoint by its number, once it is durable.
func (s *Store) CheckpointAt(ctx context.Context, number uint64) (checkpoint.Checkpoint, error) {
	c, err := s.readCheckpoint(ctx, jetapi.Get{Seq: number})
	if err != nil {
		return c, err
	}
	return c, s.fixCheckpoint(ctx, c.Number)
}

// openCheckpoints finds the stream, or makes it.
func (s *Store) openCheckpoints(ctx context.Context, create bool) error {
	s.checkpoints = &sidelog.Log{Server: s.beside, Name: checkpoint.Stream, Root: checkpointRoot, Config: s.streamConfig}
	_, err := s.checkpoints.Open(ctx, create)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = fmt.Errorf("%w: %w; copy the folder before anything else", ErrUnhealthy, err)
	}
	return err
}

// newestCheckpoint is what stands at the end of the stream, durable or not: enough to go on from, since
// the PubAck of the next one covers it.
func (s *Store) newestCheckpoint(ctx context.Context) (checkpoint.Checkpoint, error) {
	return s.readCheckpoint(ctx, jetapi.Get{})
}

func (s *Store) readCheckpoint(ctx context.Context, request jetapi.Get) (checkpoint.Checkpoint, error) {
	var c checkpoint.Checkpoint
	var message jetapi.Message
	var err error
	stream, must := s.mustCheckpoint()
	if request.Seq == 0 {
		message, err = s.checkpoints.LastAtLeader(ctx)
	} else {
		message, err = s.api.AtLeader(ctx, s.checkpointsAt(request.Seq), request)
	}
	switch {
	case errors.Is(err, ErrNotFound):
		return c, s.missingCheckpoint(request.Seq, must.Seq)
	case err != nil:
		return c, err
	case request.Seq == 0:
		if err := s.side.Older(stream, message.Seq, must); err != nil {
			return c, err
		}
	}
	if c, err = checkpoint.Parse(message.Data); err != nil {
		return c, fmt.Errorf("%w: %s at sequence %d: %w", ErrUnhealthy, s.checkpointsAt(message.Seq), message.Seq, err)
	}
	c.Number = message.Seq
	return c, c.CheckShards(s.shards)
}

// mustCheckpoint returns what the index has of the newest checkpoint, and its stream.
func (s *Store) mustCheckpoint() (stream string, must sidelog.Entry) {
	all := s.checkpoints.All()
	for i := len(all) - 1; i >= 0 && must.Seq == 0; i-- {
		stream = all[i].Stream
		must = s.side.Must(stream, "")
	}
	return stream, must
}

// checkpointsAt names the stream that holds the checkpoint of a number.
func (s *Store) checkpointsAt(number uint64) string {
	return s.checkpoints.Of(number).Stream
}

// missingCheckpoint is missing for the checkpoint of a number, or for the newest, 0.
func (s *Store) missingCheckpoint(number, newest uint64) error {
	if newest > 0 && number <= newest {
		number = max(number, 1)
		return s.side.Damage(s.checkpointsAt(number), number, "the checkpoint is missing")
	}
	return ErrNotFound
}

// Position returns the place in the log of the event at an address of shard, from 1; ErrNotFound while no checkpoint
// covers it. Use Order for many events.
func (s *Store) Position(ctx context.Context, shard int, address uint64) (uint64, error) {
	r, err := s.Read(ctx, shard, address)
	if err != nil {
		return 0, err
	}
	order, err := s.Order(ctx)
	if err != nil {
		return 0, err
	}
	position, covered, err := order.Position(ctx, r)
	if err == nil && !covered {
		err = ErrNotFound
	}
	return position, err
}

// writeCheckpoint signs and appends the checkpoint of a tree. ErrConflict: another node wrote one first.
func (s *Store) writeCheckpoint(ctx context.Context, signer note.Signer, before checkpoint.Checkpoint, t *checkpoint.Tree, lastSeq, events []uint64) (checkpoint.Checkpoint, error) {
	c, err := checkpoint.Sign(signer, t, lastSeq, events)
	if err != nil {
		return before, err
	}
	edge := before.Number%edgeEvery == 0 || c.Size-s.edgeAt.Load() >= edgeEvents
	if c.Number, err = s.putCheckpoint(ctx, c, before.Number, edge); err == nil {
		s.keepEdge(c)
		if edge {
			s.edgeAt.Store(c.Size)
		}
	}
	return c, err
}

// putCheckpoint publishes c behind checkpoint `after`, with its edge or without, and gives its number.
func (s *Store) putCheckpoint(ctx context.Context, c checkpoint.Checkpoint, after uint64, edge bool) (uint64, error) {
	data, err := c.Encode(edge)
	if err != nil {
		return 0, err
	}
	if err := s.room(); err != nil {
		return 0, err
	}
	s.fixing.Lock()
	defer s.fixing.Unlock()
	if after > 0 && s.sole && !s.fixDoubted && s.fixed.newest() == after { // nothing is under way
		if err := s.checkpoints.Next(ctx, after); err != nil {
			return 0, err
		}
	}
	g := s.checkpoints.Newest()
	m := nats.NewMsg(g.Subject(checkpointTopic))
	m.Data = data
	if known := s.fixed.newest(); !s.sole || s.fixDoubted || after == 0 || known != after { // else it is known what stands there
		expected := after
		if after < g.First { // of the segment before
			expected = 0
		}
		m.Header.Set(nats.ExpectedLastSubjSeqHdr, strconv.FormatUint(expected, 10))
	}
	ack, err := s.api.Publish(ctx, m)
	s.fixDoubted = err != nil
	s.side.Answered(g.Stream, err)
	switch {
	case err != nil:
		return 0, fmt.Errorf("eventstore: checkpoint: %w", err)
	case ack.Error != nil:
		return 0, errors.Join(ErrConflict, ack.Error)
	case ack.Seq == 0:
		return 0, errors.New("eventstore: checkpoint: the answer names no sequence")
	case ack.Seq != after+1:
		err := fmt.Errorf("%w: %s at sequence %d: the message after %d was stored there", ErrUnhealthy, g.Stream, ack.Seq, after)
		s.fail(err, false)
		return 0, err
	}
	s.fixed.raise(ack.Seq)
	s.checkpoints.Stored(len(data) + len(m.Subject))
	s.side.Replace(g.Stream, ack.Seq, "", data)
	return ack.Seq, nil
}

// fixCheckpoint returns once the checkpoint is durable: a position that was handed out must be the same
// after a power failure. On a one-replica log only a PubAck tells; where this store saw none, it publishes
// the newest checkpoint again, word for word: such a copy covers no event.
func (s *Store) fixCheckpoint(ctx context.Context, number uint64) error {
	if s.replicas > 1 || s.readOnly {
		return nil
	}
	for {
		if durable, _ := s.fixed.reached(number); durable {
			return nil
		}
		newest, err := s.newestCheckpoint(ctx)
		if err != nil {
			return err
		}
		if _, err := s.putCheckpoint(ctx, newest, newest.Number, true); err != nil && !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

// fenceCheckpoints makes the newest checkpoint durable; part of every start.
func (s *Store) fenceCheckpoints(ctx context.Context) error {
	if _, err := s.LastCheckpoint(ctx); !errors.Is(err, ErrNotFound) {
		return err
	}
	return nil
}

// checkpointPoll is the time between two reads of the newest checkpoint while a reader waits for one of another node.
const checkpointPoll = 200 * time.Millisecond

// AwaitCheckpoint returns when the log has a durable checkpoint with a number above after, or when ctx ends.
func (s *Store) AwaitCheckpoint(ctx context.Context, after uint64) error {
	for {
		durable, changed := s.fixed.reached(after + 1)
		if durable {
			return nil
		}
		var again <-chan time.Time
		if !s.sole {
			newest, err := s.newestCheckpoint(ctx)
			if err == nil && newest.Number > after {
				return nil
			}
			again = time.After(checkpointPoll)
		}
		select {
		case <-changed:
		case <-again:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.gone:
			return fmt.Errorf("%w: the store was closed", ErrUnhealthy)
		}
	}
}
