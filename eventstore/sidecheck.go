package eventstore

import (
	"encoding/binary"
	"errors"
	"fmt"

	"payledger/eventstore/blocks"
	"payledger/eventstore/sidelog"
	"payledger/eventstore/tipstore"
)

// sideChunk is how many records are compared at once.
const sideChunk = 4096

// errDestroyed means that a stream holds a record that was destroyed before.
var errDestroyed = errors.New("a record stands there that was destroyed")

// sideCheck compares the records in the files of a stream beside the log with the index as of the beginning of the check.
// Its memory grows only with the names whose records are replaced, and with deleted records that are still in a file.
type sideCheck struct {
	stream  string
	view    tipstore.View
	through uint64 // records after it are not compared
	safe    uint64 // a record up to it that is not in the index was destroyed
	part    bool   // only the newest block is read: earlier records are not compared
	began   bool   // see has had its first record

	replaced map[string]*replacedName
	dying    map[uint64]bool
	chunk    []sidelog.Entry
	done     uint64          // everything up to it was compared
	extra    map[uint64]bool // destroyed records that are in a file
	dead     map[uint64]bool // records with a tombstone
	fault    error           // the first
	at       uint64          // its sequence
}

// replacedName is a name of which only the newest record counts.
type replacedName struct{ must, there sidelog.Entry }

// newSideCheck returns a check, or nil if there is no index of the stream.
func newSideCheck(view tipstore.View, stream string) (*sideCheck, error) {
	value, err := view.Get(sidelog.WitnessKey(stream))
	if err != nil {
		return nil, nil //nolint:nilerror // no index is no damage: a start makes it from the stream
	}
	c := &sideCheck{stream: stream, view: view, replaced: map[string]*replacedName{}, dying: map[uint64]bool{}, extra: map[uint64]bool{}, dead: map[uint64]bool{}}
	c.through, c.safe = sidelog.ParseWitness(value)
	start := len(sidelog.Key(sidelog.ReplacePrefix, stream, ""))
	err = view.Each(sidelog.Key(sidelog.ReplacePrefix, stream, ""), func(key, value []byte) error {
		c.replaced[string(key[start:])] = &replacedName{must: sidelog.ParseEntry(value)}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, view.Each(sidelog.Key(sidelog.DyingPrefix, stream, ""), func(_, value []byte) error {
		if len(value) >= 8 {
			c.dying[binary.BigEndian.Uint64(value)] = true
		}
		return nil
	})
}

func (c *sideCheck) failed(seq uint64, format string, args ...any) {
	if c.fault == nil {
		c.fault, c.at = fmt.Errorf(format, args...), seq
	}
}

// see takes one record. Records come in their order; some come twice, and tombstones come in between.
func (c *sideCheck) see(r blocks.Record) error {
	if r.Tombstone {
		c.dead[r.Seq] = true
		return nil
	}
	if c.part && !c.began {
		c.began, c.done = true, max(r.Seq, 1)-1
	}
	if r.Erased || r.Seq > c.through || r.Seq <= c.done {
		return nil
	}
	name := sidelog.RecordName(c.stream, r.Subject)
	e := sidelog.Entry{Seq: r.Seq, Digest: sidelog.DigestOf(name, r.Body)}
	if known := c.replaced[name]; known != nil {
		if e.Seq >= known.there.Seq {
			known.there = e
		}
		return nil
	}
	if len(c.chunk) > 0 && r.Seq <= c.chunk[len(c.chunk)-1].Seq { // the file is read again
		c.chunk = c.chunk[:0]
		return nil
	}
	if c.chunk = append(c.chunk, e); len(c.chunk) == sideChunk {
		return c.compare(r.Seq)
	}
	return nil
}

// compare compares the chunk with the index up to a sequence.
func (c *sideCheck) compare(through uint64) error {
	chunk := c.chunk
	surplus := func(before uint64) {
		for len(chunk) > 0 && chunk[0].Seq < before {
			if sidelog.IsSecrets(c.stream) && chunk[0].Seq <= c.safe && !c.dying[chunk[0].Seq] {
				c.extra[chunk[0].Seq] = true
			}
			chunk = chunk[1:]
		}
	}
	err := c.view.Range(sidelog.RecordKey(c.stream, c.done+1), sidelog.RecordKey(c.stream, through+1), func(key, value []byte) error {
		seq := binary.BigEndian.Uint64(key[len(key)-8:])
		surplus(seq)
		switch {
		case len(chunk) > 0 && chunk[0].Seq == seq:
			if string(chunk[0].Digest[:]) != string(value[:len(chunk[0].Digest)]) {
				c.failed(seq, "it is another record than the one that was acknowledged")
			}
			chunk = chunk[1:]
		case !c.dying[seq]:
			c.failed(seq, "the record is missing")
		}
		return nil
	})
	surplus(through + 1)
	c.chunk, c.done = c.chunk[:0], through
	return err
}

// end returns the first difference and its sequence.
func (c *sideCheck) end() (uint64, error) {
	if c.through > c.done && (!c.part || c.began) {
		if err := c.compare(c.through); err != nil {
			return 0, err
		}
	}
	for name, r := range c.replaced {
		switch {
		case r.must.Seq > c.through || r.there.Seq > r.must.Seq:
		case r.there.Seq < r.must.Seq:
			c.failed(r.must.Seq, "the record of %q is missing", name)
		case r.there.Digest != r.must.Digest:
			c.failed(r.must.Seq, "the record of %q is another one than the one that was acknowledged", name)
		}
	}
	for seq := range c.dead {
		if _, err := c.view.Get(sidelog.RecordKey(c.stream, seq)); err == nil && !c.dying[seq] && seq <= c.through {
			c.failed(seq, "the record was deleted")
		}
	}
	for seq := range c.extra {
		if !c.dead[seq] {
			c.failed(seq, "%w", errDestroyed)
		}
	}
	return c.at, c.fault
}
