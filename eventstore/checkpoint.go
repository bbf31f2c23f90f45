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
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint fixes one order over all shards (I2): checkpoint k covers the events after checkpoint k−1 up
// to its LastSeq of shard 0, then of shard 1, and so on. An event's position is its number in that
// order, from 1; leaf position−1 of the Merkle tree (RFC 6962) holds its hash.
type Checkpoint struct {
	Size      uint64       `json:"size"`    // events covered by this and all earlier ones
	LastSeq   []uint64     `json:"lastSeq"` // per shard
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

// Text is what is signed: origin, size and root as in a C2SP checkpoint, then the last sequence per shard.
func (c Checkpoint) Text() string {
	seqs := make([]string, len(c.LastSeq))
	for i, seq := range c.LastSeq {
		seqs[i] = strconv.FormatUint(seq, 10)
	}
	return fmt.Sprintf("%s\n%d\n%s\nshards %s\n", checkpointOrigin, c.Size,
		base64.StdEncoding.EncodeToString(c.Root), strings.Join(seqs, " "))
}

// LastCheckpoint reads the newest checkpoint; ErrNotFound in a new log.
func (s *Store) LastCheckpoint(ctx context.Context) (Checkpoint, error) {
	return s.checkpoint(ctx, `{"last_by_subj":"`+checkpointTopic+`"}`)
}

// CheckpointAt reads a checkpoint by its number.
func (s *Store) CheckpointAt(ctx context.Context, number uint64) (Checkpoint, error) {
	return s.checkpoint(ctx, `{"seq":`+strconv.FormatUint(number, 10)+`}`)
}

func (s *Store) checkpoint(ctx context.Context, request string) (Checkpoint, error) {
	var c Checkpoint
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	m, err := s.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+checkpointStream, []byte(request))
	if err != nil {
		return c, fmt.Errorf("eventstore: checkpoint: %w", err)
	}
	var answer getResponse
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return c, fmt.Errorf("eventstore: checkpoint: %w", err)
	}
	if answer.Error != nil {
		if answer.Error.ErrCode == codeNoMessageFound {
			return c, ErrNotFound
		}
		return c, fmt.Errorf("eventstore: checkpoint: %w", answer.Error)
	}
	if err := unmarshal(answer.Message.Data, &c); err != nil {
		return c, fmt.Errorf("eventstore: checkpoint %d: %w", answer.Message.Seq, err)
	}
	c.Number = answer.Message.Seq
	return c, nil
}

// Position gives the place in the log of the event at seq of shard, from 1; ErrNotFound while no
// checkpoint covers it.
func (s *Store) Position(ctx context.Context, shard int, seq uint64) (uint64, error) {
	last, err := s.LastCheckpoint(ctx)
	if err != nil {
		return 0, err
	}
	if last.LastSeq[shard] < seq {
		return 0, ErrNotFound
	}
	at, before, err := s.covering(ctx, last, shard, seq)
	if err != nil {
		return 0, err
	}
	position := before.Size
	for i := range shard {
		position += at.LastSeq[i] - before.lastSeq(i)
	}
	return position + seq - before.lastSeq(shard), nil
}

// covering finds the checkpoint that covers the event, and the one before it, by bisection.
func (s *Store) covering(ctx context.Context, last Checkpoint, shard int, seq uint64) (at, before Checkpoint, err error) {
	low, high := uint64(0), last.Number // low does not cover it, high does
	at = last
	for high-low > 1 {
		middle, err := s.CheckpointAt(ctx, (low+high)/2)
		if err != nil {
			return at, before, err
		}
		if middle.LastSeq[shard] >= seq {
			high, at = middle.Number, middle
		} else {
			low, before = middle.Number, middle
		}
	}
	return at, before, nil
}

func (c Checkpoint) lastSeq(shard int) uint64 {
	if c.LastSeq == nil {
		return 0
	}
	return c.LastSeq[shard]
}

// tree is the Merkle tree as far as the next leaf needs it: its right edge.
type tree struct {
	size  int64
	nodes map[int64]tlog.Hash
}

func newTree(c Checkpoint) *tree {
	t := &tree{size: int64(c.Size), nodes: map[int64]tlog.Hash{}}
	for _, h := range c.Edge {
		t.nodes[h.Index] = tlog.Hash(h.Hash)
	}
	return t
}

// ReadHashes serves tlog from the nodes at hand.
func (t *tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		h, ok := t.nodes[index]
		if !ok {
			return nil, fmt.Errorf("eventstore: checkpoint lacks tree node %d", index)
		}
		hashes[i] = h
	}
	return hashes, nil
}

func (t *tree) add(leaf Hash) error {
	hashes, err := tlog.StoredHashes(t.size, leaf[:], t)
	if err != nil {
		return err
	}
	first := tlog.StoredHashIndex(0, t.size)
	for i, h := range hashes {
		t.nodes[first+int64(i)] = h
	}
	t.size++
	return nil
}

// edge lists the roots of the complete subtrees that make up the tree, left to right.
func (t *tree) edge() []StoredHash {
	var edge []StoredHash
	for level, start := 62, int64(0); level >= 0; level-- {
		if t.size&(1<<level) == 0 {
			continue
		}
		index := tlog.StoredHashIndex(level, start>>level)
		h := t.nodes[index]
		edge = append(edge, StoredHash{Index: index, Hash: h[:]})
		start += 1 << level
	}
	return edge
}

// writeCheckpoint signs and appends one checkpoint. ErrConflict: another node wrote one first.
func (s *Store) writeCheckpoint(ctx context.Context, signer note.Signer, before Checkpoint, t *tree, lastSeq []uint64) (Checkpoint, error) {
	root, err := tlog.TreeHash(t.size, t)
	if err != nil {
		return before, fmt.Errorf("eventstore: checkpoint: %w", err)
	}
	c := Checkpoint{Size: uint64(t.size), LastSeq: slices.Clone(lastSeq), Root: root[:], Edge: t.edge()}
	signed, err := note.Sign(&note.Note{Text: c.Text()}, signer)
	if err != nil {
		return before, fmt.Errorf("eventstore: sign checkpoint: %w", err)
	}
	c.Signature = strings.TrimPrefix(string(signed), c.Text()+"\n")
	data, err := marshal(c)
	if err != nil {
		return before, fmt.Errorf("eventstore: checkpoint: %w", err)
	}
	m := nats.NewMsg(checkpointTopic)
	m.Data = data
	m.Header.Set(nats.ExpectedLastSubjSeqHdr, strconv.FormatUint(before.Number, 10))
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	answer, err := s.nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return before, fmt.Errorf("eventstore: checkpoint: %w", err)
	}
	var ack struct {
		Error *apiError `json:"error"`
		Seq   uint64    `json:"seq"`
	}
	if err := json.Unmarshal(answer.Data, &ack); err != nil {
		return before, fmt.Errorf("eventstore: checkpoint: %w", err)
	}
	if ack.Error != nil {
		return before, errors.Join(ErrConflict, ack.Error)
	}
	c.Number = ack.Seq
	return c, nil
}
