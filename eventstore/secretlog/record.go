package secretlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
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
	r := record{seq: seq, body: body}
	b, ok := bytes.CutPrefix(body, []byte(magic))
	if ok = ok && len(b) > 0; ok {
		r.kind = b[0]
		r.name, b, ok = cutText(b[1:])
	}
	if !ok || !r.parseRest(b) {
		return r, fmt.Errorf("%w: sequence %d", errRecord, seq)
	}
	return r, nil
}

func (r *record) parseRest(b []byte) (ok bool) {
	switch r.kind {
	case kindValue:
		r.value, ok = b, true
	case kindDestruction:
		if r.group, b, ok = cutText(b); ok {
			r.ended, ok = cutSequences(b, r.seq)
		}
	case kindDropped:
		ok = r.parseDropped(b)
	case kindLater, kindResealed, kindGeneration:
		ok = r.parseGeneration(b)
	}
	return ok
}

// parseDropped decodes the rest of a drop.
func (r *record) parseDropped(b []byte) bool {
	var fields [3]uint64
	for i := range fields {
		var n int
		if fields[i], n = binary.Uvarint(b); n <= 0 {
			return false
		}
		b = b[n:]
	}
	r.dropped, r.through, r.generation = uint32(min(fields[0], math.MaxUint32)), fields[1], fields[2]
	return r.name == "" && len(b) == 0 && r.dropped > 0 && r.through < r.seq && r.generation <= r.through
}

// parseGeneration decodes the rest of a message that names a generation.
func (r *record) parseGeneration(b []byte) bool {
	var n int
	if r.generation, n = binary.Uvarint(b); n <= 0 || r.generation >= r.seq || r.generation == 0 && r.kind != kindGeneration {
		return false
	}
	b = b[n:]
	if r.kind == kindResealed {
		if r.replaced, n = binary.Uvarint(b); n <= 0 || r.replaced == 0 || r.replaced >= r.generation {
			return false
		}
		b = b[n:]
	}
	r.value = b
	return r.kind != kindGeneration || r.name == ""
}

func cutText(b []byte) (text string, rest []byte, ok bool) {
	if len(b) < 2 || len(b)-2 < int(binary.BigEndian.Uint16(b)) {
		return "", nil, false
	}
	n := 2 + int(binary.BigEndian.Uint16(b))
	return string(b[2:n]), b[n:], true
}

// cutSequences decodes increasing sequences that are all below a limit.
func cutSequences(b []byte, below uint64) (all []uint64, ok bool) {
	count, n := binary.Uvarint(b)
	if n <= 0 || count > uint64(len(b)-n) {
		return nil, false
	}
	b = b[n:]
	before := uint64(0)
	for range count {
		step, n := binary.Uvarint(b)
		if n <= 0 || step == 0 || step >= below-before {
			return nil, false
		}
		before, b = before+step, b[n:]
		all = append(all, before)
	}
	return all, len(b) == 0
}
