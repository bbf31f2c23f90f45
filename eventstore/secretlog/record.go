package secretlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
)

// The layout of a message of SECRETS. Numbers are big-endian; "varints" are unsigned varints:
//
//	4 bytes  "PLS1"
//	1        kind: 0 a value, 1 a destruction, 2 a drop of segments, 3 a value of a generation, 4 a value sealed anew, 5 a generation
//
// of a value:
//
//	2        length of the name
//	…        the name, the bytes
//
// of a destruction:
//
//	2        length of the name
//	…        the name, whose earlier values are all destroyed; may be empty
//	2        length of the group
//	…        the group, if all of it is purged; "removed" for values whose encryption key is destroyed; may be empty
//	varints  the number of destroyed sequences; then each sequence as its distance from the sequence before, the first from 0
//
// of a drop: 2 zeroes; varints: the number of the newest dropped segment, its last sequence, and
// the generation in force there. It destroys all messages up to that sequence (drop.go).
//
// of a value of a generation, and of a value sealed anew:
//
//	2        length of the name
//	…        the name
//	varints  the generation; of a value sealed anew also the sequence of the value that it replaces
//	…        the bytes
//
// of a generation: 2 zeroes; the generation before as a varint; the proof (generation.go).
//
// A value's subject is secrets.<segment>.value, or secrets.<segment>.group.<group>. A destruction's
// subject is secrets.<segment>.destroyed. A destruction is only deleted with its segment, so it
// explains each missing sequence. The same holds for a generation, with the subject
// secrets.<segment>.generation, and for a drop, secrets.<segment>.dropped.
const (
	magic           = "PLS1"
	kindValue       = 0
	kindDestruction = 1
	kindDropped     = 2
	kindLater       = 3
	kindResealed    = 4
	kindGeneration  = 5
)

var errRecord = errors.New("eventstore: it is not the message that was stored")

type record struct {
	seq   uint64
	kind  byte
	name  string
	value []byte // of a value; of a generation, its proof
	group string // of a destruction
	ended []uint64
	body  []byte // the whole message

	generation uint64 // of a value; of a generation, the one before it; of a drop, the one in force at the end of the dropped segments
	replaced   uint64 // by a value sealed anew
	through    uint64 // of a drop: the last sequence of the dropped segments
	dropped    uint32 // of a drop: the number of the newest dropped segment
}

func (r record) isValue() bool {
	return r.kind == kindValue || r.kind == kindLater || r.kind == kindResealed
}

func (r record) digest() digest { return digestOf(r.body) }

func newValue(name string, value []byte) record {
	b := appendText([]byte(magic+"\x00"), name)
	return record{kind: kindValue, name: name, value: value, body: append(b, value...)}
}

func newValueOf(generation uint64, name string, value []byte) record {
	if generation == 0 {
		return newValue(name, value)
	}
	b := binary.AppendUvarint(appendText([]byte(magic+"\x03"), name), generation)
	return record{kind: kindLater, name: name, generation: generation, value: value, body: append(b, value...)}
}

func newResealed(generation uint64, name string, replaced uint64, value []byte) record {
	b := binary.AppendUvarint(appendText([]byte(magic+"\x04"), name), generation)
	b = append(binary.AppendUvarint(b, replaced), value...)
	return record{kind: kindResealed, name: name, generation: generation, replaced: replaced, value: value, body: b}
}

func newGeneration(before uint64, proof []byte) record {
	b := binary.AppendUvarint(appendText([]byte(magic+"\x05"), ""), before)
	return record{kind: kindGeneration, generation: before, value: proof, body: append(b, proof...)}
}

func newDestruction(name, group string, ended []uint64) record {
	b := appendText(appendText([]byte(magic+"\x01"), name), group)
	b = binary.AppendUvarint(b, uint64(len(ended)))
	before := uint64(0)
	for _, seq := range ended {
		b, before = binary.AppendUvarint(b, seq-before), seq
	}
	return record{kind: kindDestruction, name: name, group: group, ended: ended, body: b}
}

func newDropped(segment uint32, through, generation uint64) record {
	b := binary.AppendUvarint(appendText([]byte(magic+"\x02"), ""), uint64(segment))
	b = binary.AppendUvarint(binary.AppendUvarint(b, through), generation)
	return record{kind: kindDropped, dropped: segment, through: through, generation: generation, body: b}
}

// destroyed returns the sequences that the message destroys, without those of an earlier value of
// its name.
func (r record) destroyed() iter.Seq[uint64] {
	if r.kind != kindDropped {
		return slices.Values(r.ended)
	}
	return func(yield func(uint64) bool) {
		for seq := uint64(1); seq <= r.through; seq++ {
			if !yield(seq) {
				return
			}
		}
	}
}

func appendText(b []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(text))), text...)
}

// parse decodes a message. The record shares the memory of body.
func parse(seq uint64, body []byte) (record, error) {
	r, c := record{seq: seq, body: body}, cursor{rest: body}
	if head := string(c.cut(len(magic) + 1)); strings.HasPrefix(head, magic) {
		r.kind, r.name = head[len(magic)], c.text()
		if r.parseRest(&c) && !c.bad {
			return r, nil
		}
	}
	return record{seq: seq}, fmt.Errorf("%w: sequence %d", errRecord, seq)
}

// parseRest decodes what follows the name, and reports whether it is right, unless c is bad.
func (r *record) parseRest(c *cursor) bool {
	switch r.kind {
	case kindValue:
		r.value = c.rest
	case kindDestruction:
		r.group, r.ended = c.text(), c.sequences(r.seq)
		return len(c.rest) == 0
	case kindDropped:
		r.dropped = uint32(min(c.number(), math.MaxUint32))
		r.through, r.generation = c.number(), c.number()
		return r.name == "" && len(c.rest) == 0 && r.dropped > 0 && r.through < r.seq && r.generation <= r.through
	case kindLater, kindResealed:
		if r.generation = c.number(); r.kind == kindResealed {
			if r.replaced = c.number(); r.replaced == 0 || r.replaced >= r.generation {
				return false
			}
		}
		r.value = c.rest
		return r.generation > 0 && r.generation < r.seq
	case kindGeneration:
		r.generation = c.number()
		r.value = c.rest
		return r.name == "" && r.generation < r.seq
	default:
		return false
	}
	return true
}

// cursor decodes the fields of a message.
type cursor struct {
	rest []byte
	bad  bool // a field was not there, or is wrong
}

func (c *cursor) cut(n int) (b []byte) {
	if c.bad = c.bad || n > len(c.rest); !c.bad {
		b, c.rest = c.rest[:n], c.rest[n:]
	}
	return b
}

func (c *cursor) text() string {
	n := 0
	for _, b := range c.cut(2) {
		n = n<<8 | int(b)
	}
	return string(c.cut(n))
}

func (c *cursor) number() uint64 {
	v, n := binary.Uvarint(c.rest)
	c.bad = c.bad || n <= 0
	c.cut(n)
	return v
}

// sequences decodes increasing sequences that are all below a limit.
func (c *cursor) sequences(below uint64) (all []uint64) {
	before := uint64(0)
	for n := c.number(); n > 0 && !c.bad; n-- {
		step := c.number()
		c.bad = c.bad || step == 0 || step >= below-before
		before += step
		all = append(all, before)
	}
	return all
}
