package checkpoint

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/proof"
)

const (
	// RecordType is the type of a checkpoint's record.
	RecordType = "signed"
	// RecordSchema is the schema of its frame; the message has a format of its own.
	RecordSchema = 1
)

// Key is the key of all checkpoints. The revision of a record is its checkpoint's number.
var Key = format.Key{Account: format.SystemAccount, Aggregate: format.BesideAggregate, ID: "checkpoint"}

// Checkpoint fixes the order of the events up to its last groups (I2). An event's position is its
// number in that order, from 1; leaf position−1 of the Merkle tree (RFC 6962) holds its hash.
type Checkpoint struct {
	Origin    string   // the ledger's: the first line of the signed text, and the name of the key; "" is proof.FirstOrigin
	Size      uint64   // events covered by this and all earlier ones
	LastSeq   []uint64 // per shard: the last group
	Events    []uint64 // per shard: the number of events up to it
	Root      []byte
	Signature string // signed note over Text
	Edge      []Node // the right edge of the tree: the next checkpoint needs it
	Number    uint64 // from 1, without a gap
	Place     uint64 // address of its record; 0: it has none yet
}

// Node is an inner node of the tree by its tlog index.
type Node struct {
	Index int64
	Hash  []byte
}

// Text is the signed text: origin, size and root as in a C2SP checkpoint, then the last group and
// the number of events per shard.
func (c Checkpoint) Text() string {
	return fmt.Sprintf("%s\n%d\n%s\nshards %s\nevents %s\n", c.origin(), c.Size,
		base64.StdEncoding.EncodeToString(c.Root), joined(c.LastSeq), joined(c.Events))
}

func (c Checkpoint) origin() string { return cmp.Or(c.Origin, proof.FirstOrigin) }

func joined(numbers []uint64) string { return strings.Trim(fmt.Sprint(numbers), "[]") }

// Sign returns the checkpoint of a tree, signed. Its origin is the signer's name. lastSeq and
// events are per shard.
func Sign(signer note.Signer, t *Tree, lastSeq, events []uint64) (Checkpoint, error) {
	root, err := t.Root()
	if err != nil {
		return Checkpoint{}, fmt.Errorf("eventstore: checkpoint: %w", err)
	}
	c := Checkpoint{Origin: signer.Name(), Size: t.size, LastSeq: lastSeq, Events: events, Root: root[:], Edge: t.Edge()}
	signed, err := note.Sign(&note.Note{Text: c.Text()}, signer)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("eventstore: sign checkpoint: %w", err)
	}
	c.Signature = strings.TrimPrefix(string(signed), c.Text()+"\n")
	return c, nil
}

// LastGroup returns the last group of a shard that is covered; 0 for the zero checkpoint.
func (c Checkpoint) LastGroup(shard int) uint64 { return of(c.LastSeq, shard) }

// EventsOf returns how many events of a shard are covered.
func (c Checkpoint) EventsOf(shard int) uint64 { return of(c.Events, shard) }

func of(counts []uint64, shard int) uint64 {
	if counts == nil {
		return 0
	}
	return counts[shard]
}

// Covered returns, per shard, the address up to which all events are covered.
func (c Checkpoint) Covered() []uint64 {
	var all []uint64
	for _, seq := range c.LastSeq {
		all = append(all, format.At(seq, format.MaxFrames-1))
	}
	return all
}

// Search returns the last checkpoint up to a number that is before some place; the zero checkpoint
// covers nothing. get reads a checkpoint. If a checkpoint is before the place, so are all earlier
// ones. The search halves powers of two from the first checkpoint on, so every search first reads
// the same checkpoints, which are cached.
func Search(through uint64, get func(number uint64) (Checkpoint, error), before func(Checkpoint) bool) (last Checkpoint, err error) {
	for step := uint64(1) << bits.Len64(through); step > 0; step >>= 1 {
		if last.Number+step > through {
			continue
		}
		c, err := get(last.Number + step)
		if err != nil {
			return last, err
		}
		if before(c) {
			last = c
		}
	}
	return last, nil
}

// Locate returns the record of a checkpoint, which stands between two groups of a stream. group
// reads a group; first is the first one to read. Groups without a checkpoint stand in between, but
// each group counts the records before it, and has one record at most. So a checkpoint stands not
// before the place that an earlier one's would give it without such groups, nor behind that of a
// later one.
func Locate(stream string, number, first, low, high uint64, group func(seq uint64) (*format.Group, error)) (*format.Recorded, error) {
	seq := first
	for low <= high {
		g, err := group(seq)
		if err != nil {
			return nil, err
		}
		through := g.Events + uint64(len(g.Frames))
		switch {
		case g.Events >= g.Seq: // each group before it has one record at most
			return nil, fault.Damage(stream, seq, errors.New("the group counts more records than there are groups before it"))
		case through < number:
			low = seq + number - through
		case g.Events >= number:
			high = seq - 1 - (g.Events - number)
		default:
			return g.Frames[number-1-g.Events], nil
		}
		seq = low + (high-low)/2
	}
	return nil, fault.Damage(stream, low, errors.New("the counts of the groups do not fit each other"))
}

// Of returns the checkpoint in a record of the shard.
func Of(r *format.Recorded) (Checkpoint, error) {
	c, err := Parse(r.Body)
	if err == nil && r.Key != Key {
		err = fmt.Errorf("%w: its record is one of %s", errMalformed, r.Key)
	}
	c.Number, c.Place = r.Revision, r.Seq
	return c, err
}

// CheckShards refuses a checkpoint of a log with another number of shards.
func (c Checkpoint) CheckShards(shards int) error {
	if len(c.LastSeq) != shards || len(c.Events) != shards || c.Size >= 1<<62 {
		return fmt.Errorf("%w: checkpoint %d does not fit the log", fault.ErrUnhealthy, c.Number)
	}
	return nil
}

// CheckEdge refuses a checkpoint whose edge is not that of its root.
func (c Checkpoint) CheckEdge() error {
	root, err := c.Tree().Root()
	if err == nil && string(c.Root) != string(root[:]) {
		err = errors.New("the events it covers have another root")
	}
	if err != nil {
		return fmt.Errorf("%w: checkpoint %d: %w", fault.ErrUnhealthy, c.Number, err)
	}
	return nil
}
