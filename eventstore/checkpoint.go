package eventstore

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"payledger/eventstore/format"
)

// Checkpoint fixes one order over all shards (I2): checkpoint k covers the events after checkpoint k−1 up
// to its LastSeq of shard 0, then of shard 1, and so on. An event's position is its number in that
// order, from 1; leaf position−1 of the Merkle tree (RFC 6962) holds its hash.
type Checkpoint struct {
	Size      uint64       `json:"size"`    // events covered by this and all earlier ones
	LastSeq   []uint64     `json:"lastSeq"` // per shard: the last group
	Events    []uint64     `json:"events"`  // per shard: the number of events up to it
	Root      []byte       `json:"root"`
	Signature string       `json:"signature"` // signed note over Text
	Edge      []StoredHash `json:"edge"`      // the right edge of the tree: what the next checkpoint needs
	Number    uint64       `json:"-"`         // sequence in the stream CHECKPOINTS, from 1
}

// StoredHash is an inner node of the tree by its tlog index.
type StoredHash struct {
	Index int64  `json:"index"`
	Hash  []byte `json:"hash"`
}

// checkpointOrigin is the first line of the signed text.
const checkpointOrigin = "payledger"

// Text is what is signed: origin, size and root as in a C2SP checkpoint, then the last group and the number of events per
// shard.
func (c Checkpoint) Text() string {
	return fmt.Sprintf("%s\n%d\n%s\nshards %s\nevents %s\n", checkpointOrigin, c.Size,
		base64.StdEncoding.EncodeToString(c.Root), joined(c.LastSeq), joined(c.Events))
}

func joined(numbers []uint64) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.FormatUint(n, 10)
	}
	return strings.Join(texts, " ")
}

// LastCheckpoint reads the newest checkpoint, once it is durable; ErrNotFound in a new log.
func (s *Store) LastCheckpoint(ctx context.Context) (Checkpoint, error) {
	c, err := s.newestCheckpoint(ctx)
	if err != nil {
		return c, err
	}
	return c, s.fixCheckpoint(ctx, c.Number)
}

// CheckpointAt reads a checkpoint by its number, once it is durable.
func (s *Store) CheckpointAt(ctx context.Context, number uint64) (Checkpoint, error) {
	c, err := s.checkpoint(ctx, getRequest{Seq: number})
	if err != nil {
		return c, err
	}
	return c, s.fixCheckpoint(ctx, c.Number)
}

// openCheckpoints finds the stream, or makes it.
func (s *Store) openCheckpoints(ctx context.Context, create bool) error {
	s.checkpoints = &sideLog{s: s, name: checkpointStream, root: checkpointRoot, config: s.streamConfig}
	_, err := s.checkpoints.open(ctx, create)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = fmt.Errorf("%w: %w; copy the folder before anything else", ErrUnhealthy, err)
	}
	return err
}

// newestCheckpoint is what stands at the end of the stream, durable or not: enough to go on from, since
// the PubAck of the next one covers it.
func (s *Store) newestCheckpoint(ctx context.Context) (Checkpoint, error) {
	return s.checkpoint(ctx, getRequest{})
}

func (s *Store) checkpoint(ctx context.Context, request getRequest) (Checkpoint, error) {
	var c Checkpoint
	var message storedMessage
	var err error
	stream, must := s.mustCheckpoint()
	if request.Seq == 0 {
		message, err = s.checkpoints.lastAtLeader(ctx)
	} else {
		message, err = s.checkpoints.atLeader(ctx, s.checkpoints.of(request.Seq), request)
	}
	switch {
	case errors.Is(err, ErrNotFound):
		return c, s.missingCheckpoint(request.Seq, must.seq)
	case err != nil:
		return c, err
	case request.Seq == 0:
		if err := s.older(stream, message.Seq, must); err != nil {
			return c, err
		}
	}
	if c, err = decodeCheckpoint(message.Data); err != nil {
		return c, fmt.Errorf("%w: %s at sequence %d: %w", ErrUnhealthy, s.checkpointsAt(message.Seq), message.Seq, err)
	}
	c.Number = message.Seq
	return c, c.check(s.shards)
}

// mustCheckpoint returns what the index has of the newest checkpoint, and its stream.
func (s *Store) mustCheckpoint() (stream string, must sideEntry) {
	all := s.checkpoints.all()
	for i := len(all) - 1; i >= 0 && must.seq == 0; i-- {
		stream = s.checkpoints.stream(all[i])
		must = s.must(stream, "")
	}
	return stream, must
}

// checkpointsAt names the stream that holds the checkpoint of a number.
func (s *Store) checkpointsAt(number uint64) string {
	return s.checkpoints.stream(s.checkpoints.of(number))
}

// missingCheckpoint is missing for the checkpoint of a number, or for the newest, 0.
func (s *Store) missingCheckpoint(number, newest uint64) error {
	if newest > 0 && number <= newest {
		number = max(number, 1)
		return s.sideDamage(s.checkpointsAt(number), number, "the checkpoint is missing")
	}
	return ErrNotFound
}

// check refuses a checkpoint that does not have the shape of this log.
func (c Checkpoint) check(shards int) error {
	fits := len(c.LastSeq) == shards && len(c.Events) == shards && c.Size < 1<<62
	for _, h := range c.Edge {
		fits = fits && len(h.Hash) == tlog.HashSize
	}
	if !fits {
		return fmt.Errorf("%w: checkpoint %d does not fit the log", ErrUnhealthy, c.Number)
	}
	return nil
}

// Position returns the place in the log of the event at an address of shard, from 1; ErrNotFound while no checkpoint
// covers it. Use Checkpoints for many events.
func (s *Store) Position(ctx context.Context, shard int, address uint64) (uint64, error) {
	r, err := s.Read(ctx, shard, address)
	if err != nil {
		return 0, err
	}
	var known Checkpoints
	order, err := known.Order(ctx, s)
	if err != nil {
		return 0, err
	}
	position, covered, err := order.Position(ctx, r)
	if err == nil && !covered {
		err = ErrNotFound
	}
	return position, err
}

func (c Checkpoint) lastSeq(shard int) uint64 {
	if c.LastSeq == nil {
		return 0
	}
	return c.LastSeq[shard]
}

// covered returns, per shard, the address up to which all events are covered.
func (c Checkpoint) covered() []uint64 {
	var all []uint64
	for _, seq := range c.LastSeq {
		all = append(all, format.At(seq, format.MaxFrames-1))
	}
	return all
}

func (c Checkpoint) events(shard int) uint64 {
	if c.Events == nil {
		return 0
	}
	return c.Events[shard]
}

// writeCheckpoint signs and appends one checkpoint. ErrConflict: another node wrote one first.
func (s *Store) writeCheckpoint(ctx context.Context, signer note.Signer, before Checkpoint, t *tree, lastSeq, events []uint64) (Checkpoint, error) {
	root, err := t.root()
	if err != nil {
		return before, fmt.Errorf("eventstore: checkpoint: %w", err)
	}
	c := Checkpoint{Size: uint64(t.size), LastSeq: slices.Clone(lastSeq), Events: slices.Clone(events), Root: root[:], Edge: t.edge()}
	signed, err := note.Sign(&note.Note{Text: c.Text()}, signer)
	if err != nil {
		return before, fmt.Errorf("eventstore: sign checkpoint: %w", err)
	}
	c.Signature = strings.TrimPrefix(string(signed), c.Text()+"\n")
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
func (s *Store) putCheckpoint(ctx context.Context, c Checkpoint, after uint64, edge bool) (uint64, error) {
	data, err := c.encode(edge)
	if err != nil {
		return 0, err
	}
	if err := s.room(); err != nil {
		return 0, err
	}
	s.fixing.Lock()
	defer s.fixing.Unlock()
	if after > 0 && s.sole && !s.fixDoubted && s.fixed.newest() == after { // nothing is under way
		if err := s.checkpoints.next(ctx, after); err != nil {
			return 0, err
		}
	}
	g := s.checkpoints.newest()
	stream := s.checkpoints.stream(g)
	m := nats.NewMsg(s.checkpoints.subject(g, checkpointTopic))
	m.Data = data
	if known := s.fixed.newest(); !s.sole || s.fixDoubted || after == 0 || known != after { // else it is known what stands there
		expected := after
		if after < g.first { // of the segment before
			expected = 0
		}
		m.Header.Set(nats.ExpectedLastSubjSeqHdr, strconv.FormatUint(expected, 10))
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	answer, err := s.nc.RequestMsgWithContext(ctx, m)
	s.fixDoubted = err != nil
	s.answered(stream, err)
	if err != nil {
		return 0, fmt.Errorf("eventstore: checkpoint: %w", err)
	}
	var ack struct {
		Error *apiError `json:"error"`
		Seq   uint64    `json:"seq"`
	}
	switch err := json.Unmarshal(answer.Data, &ack); {
	case err != nil:
		return 0, fmt.Errorf("eventstore: checkpoint: %w", err)
	case ack.Error != nil:
		return 0, errors.Join(ErrConflict, ack.Error)
	case ack.Seq == 0:
		return 0, errors.New("eventstore: checkpoint: the answer names no sequence")
	case ack.Seq != after+1:
		err := fmt.Errorf("%w: %s at sequence %d: the message after %d was stored there", ErrUnhealthy, stream, ack.Seq, after)
		s.fail(err, false)
		return 0, err
	}
	s.fixed.raise(ack.Seq)
	s.checkpoints.stored(len(data) + len(m.Subject))
	s.witnessedNewest(stream, ack.Seq, "", data)
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
