package secretlog

import (
	"encoding/binary"
	"errors"
	"fmt"

	"payledger/eventstore/stored"
	"payledger/eventstore/tipstore"
)

const checkChunk = 4096 // how many records are compared at once

// ErrDestroyed means that a stream holds a record that was destroyed before.
var ErrDestroyed = errors.New("the file has a record that was destroyed, by the tip store")

// Comparison compares the records in the files of a segment with the index as of its beginning. Its
// memory grows only with deleted records that are still in a file.
type Comparison struct {
	stream  string
	view    tipstore.View
	Through uint64 // records after it are not compared; one up to it that is not in the index was destroyed
	Part    bool   // only the newest block is read: earlier records are not compared
	began   bool   // See has had its first record

	dying map[uint64]bool
	chunk []entry
	done  uint64          // everything up to it was compared
	extra map[uint64]bool // destroyed records that are in a file
	dead  map[uint64]bool // records with a tombstone
	fault error           // the first
	at    uint64          // its sequence
}

// Compare returns the comparison of a segment, or nil if there is no index of it.
func Compare(view tipstore.View, stream string) (*Comparison, error) {
	value, err := view.Get(witnessKey(stream))
	if err != nil {
		return nil, nil //nolint:nilerror // no index is no damage: a start makes it from the stream
	}
	c := &Comparison{stream: stream, view: view, dying: map[uint64]bool{}, extra: map[uint64]bool{}, dead: map[uint64]bool{}}
	c.Through = parseWitness(value)
	return c, view.Each(key(dyingPrefix, stream, ""), func(_, value []byte) error {
		if len(value) >= 8 {
			c.dying[binary.BigEndian.Uint64(value)] = true
		}
		return nil
	})
}

func (c *Comparison) failed(seq uint64, format string, args ...any) {
	if c.fault == nil {
		c.fault, c.at = fmt.Errorf(format, args...), seq
	}
}

// See takes one record. Records come in their order; some come twice, and tombstones come in
// between.
func (c *Comparison) See(r stored.Message) error {
	if r.Tombstone {
		c.dead[r.Seq] = true
		return nil
	}
	if c.Part && !c.began {
		c.began, c.done = true, max(r.Seq, 1)-1
	}
	if r.Erased || r.Seq > c.Through || r.Seq <= c.done {
		return nil
	}
	if len(c.chunk) > 0 && r.Seq <= c.chunk[len(c.chunk)-1].seq { // the file is read again
		c.chunk = c.chunk[:0]
		return nil
	}
	if c.chunk = append(c.chunk, entry{r.Seq, digestOf(r.Body)}); len(c.chunk) == checkChunk {
		return c.compare(r.Seq)
	}
	return nil
}

func (c *Comparison) compare(through uint64) error {
	chunk := c.chunk
	surplus := func(before uint64) {
		for len(chunk) > 0 && chunk[0].seq < before {
			if !c.dying[chunk[0].seq] {
				c.extra[chunk[0].seq] = true
			}
			chunk = chunk[1:]
		}
	}
	err := c.view.Range(sequenceKey(recordPrefix, c.stream, c.done+1), sequenceKey(recordPrefix, c.stream, through+1), func(key, value []byte) error {
		seq := binary.BigEndian.Uint64(key[len(key)-8:])
		surplus(seq)
		switch {
		case len(chunk) > 0 && chunk[0].seq == seq:
			if string(chunk[0].digest[:]) != string(value[:len(chunk[0].digest)]) {
				c.failed(seq, "it differs from the acknowledged record in the tip store")
			}
			chunk = chunk[1:]
		case !c.dying[seq]:
			c.failed(seq, "the record is missing, but the tip store has it")
		}
		return nil
	})
	surplus(through + 1)
	c.chunk, c.done = c.chunk[:0], through
	return err
}

// End returns the first difference and its sequence.
func (c *Comparison) End() (uint64, error) {
	if c.Through > c.done && (!c.Part || c.began) {
		if err := c.compare(c.Through); err != nil {
			return 0, err
		}
	}
	for seq := range c.dead {
		if _, err := c.view.Get(sequenceKey(recordPrefix, c.stream, seq)); err == nil && !c.dying[seq] && seq <= c.Through {
			c.failed(seq, "the record was deleted, but the tip store has it")
		}
	}
	for seq := range c.extra {
		if !c.dead[seq] {
			c.failed(seq, "%w", ErrDestroyed)
		}
	}
	return c.at, c.fault
}

// Ending reports whether a message of a segment is destroyed, or must be.
func Ending(tips *tipstore.Store, stream string, seq uint64) bool {
	_, err := tips.Get(sequenceKey(recordPrefix, stream, seq))
	_, dying := tips.Get(sequenceKey(dyingPrefix, stream, seq))
	return err != nil || dying == nil
}
