package secretlog

import (
	"encoding/binary"
	"errors"
	"fmt"

	"payledger/eventstore/folder"
	"payledger/eventstore/stored"
	"payledger/eventstore/tipstore"
)

// ErrTips means that the tip store could not be read for a comparison. It says nothing about the
// segment.
var ErrTips = errors.New("the tip store cannot be read")

// unreadable marks an error of the tip store.
func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrTips, err)
}

const checkChunk = 4096 // how many records are compared at once

// errDestroyed means that a segment holds a record that was destroyed before.
var errDestroyed = errors.New("the file has a record that was destroyed, by the tip store")

// comparison compares the records in the files of a segment with the index as of its beginning. Its
// memory grows only with deleted records that are still in a file.
type comparison struct {
	stream  string
	view    tipstore.View
	through uint64 // records after it are not compared; one up to it that is not in the index was destroyed
	part    bool   // only the newest block is read: earlier records are not compared
	began   bool   // see has had its first record

	dying   map[uint64]bool
	chunk   []entry
	done    uint64          // everything up to it was compared
	extra   map[uint64]bool // destroyed records that are in a file
	dead    map[uint64]bool // records with a tombstone
	fault   error           // the first
	faultAt uint64          // its sequence
}

// compare returns the comparison of a segment with its index, which has every record up to acked,
// or to a later one. It compares nothing with an index that is missing, because a start makes it
// from the stream, or is of a dropped segment: that is removed in several writes, and the segment
// later still.
func compare(view tipstore.View, stream string, acked uint64) (*comparison, error) {
	c := &comparison{stream: stream, view: view, dying: map[uint64]bool{}, extra: map[uint64]bool{}, dead: map[uint64]bool{}}
	if dropped, err := wasDropped(view.Get, stream); dropped || err != nil {
		return c, err
	}
	stored, err := WitnessIn(view)
	if err != nil {
		return c, unreadable(err)
	}
	c.through = max(stored, acked)
	return c, unreadable(view.Each(key(dyingPrefix, stream, ""), func(_, value []byte) error {
		if len(value) >= 8 {
			c.dying[binary.BigEndian.Uint64(value)] = true
		}
		return nil
	}))
}

func (c *comparison) failed(seq uint64, format string, args ...any) {
	if c.fault == nil {
		c.fault, c.faultAt = fmt.Errorf(format, args...), seq
	}
}

// see takes one record. Records come in their order; some come twice, and tombstones come in
// between.
func (c *comparison) see(r stored.Message) error {
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
	if len(c.chunk) > 0 && r.Seq <= c.chunk[len(c.chunk)-1].seq { // the file is read again
		c.chunk = c.chunk[:0]
		return nil
	}
	if c.chunk = append(c.chunk, entry{r.Seq, digestOf(r.Body)}); len(c.chunk) == checkChunk {
		return c.compare(r.Seq)
	}
	return nil
}

func (c *comparison) compare(through uint64) error {
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
	return unreadable(err)
}

// end compares the rest. Then fault and faultAt are the first difference. The error is that of the
// tip store.
func (c *comparison) end() error {
	if c.through > c.done && (!c.part || c.began) {
		if err := c.compare(c.through); err != nil {
			return err
		}
	}
	for seq := range c.dead {
		there, err := has(c.view.Get, sequenceKey(recordPrefix, c.stream, seq))
		if err != nil {
			return err
		}
		if there && !c.dying[seq] && seq <= c.through {
			c.failed(seq, "the record was deleted, but the tip store has it")
		}
	}
	for seq := range c.extra {
		if !c.dead[seq] {
			c.failed(seq, "%w", errDestroyed)
		}
	}
	return nil
}

// wasDropped reports whether a segment was dropped, by the tip store. The server deletes its files
// later. ErrTips means that the tip store could not be read.
func wasDropped(get func(key []byte) ([]byte, error), stream string) (bool, error) {
	floor, err := FloorIn(get)
	return numberOf(stream) <= floor.Segment, unreadable(err)
}

// has reports whether a key is in the tip store.
func has(get func(key []byte) ([]byte, error), key []byte) (bool, error) {
	_, err := get(key)
	return err == nil, unreadable(unlessNone(err))
}

// unlessNone returns an error of the tip store; nil if only the key is missing.
func unlessNone(err error) error {
	if errors.Is(err, tipstore.ErrNotFound) {
		return nil
	}
	return err
}

// ReadSegment reads a segment in a folder, and compares its records with the index in the tip
// store, as of the beginning. The index has every record up to acked. Without a tip store nothing
// is compared. ErrTips means that the tip store could not be read.
func ReadSegment(dir, name string, tips *tipstore.Store, acked uint64, r folder.Reading) (folder.Found, error) {
	if tips == nil {
		return folder.Read(dir, name, r)
	}
	view := tips.Snapshot()
	defer view.Close()
	c, err := compare(view, name, acked)
	if err != nil {
		return folder.Found{}, err
	}
	handle := r.Handle
	c.part, r.Handle = r.Newest, func(m stored.Message) error {
		if handle != nil {
			if err := handle(m); err != nil {
				return err
			}
		}
		return c.see(m)
	}
	found, err := folder.Read(dir, name, r)
	if err != nil || len(found.Faults) > 0 {
		return found, err
	}
	if err := c.end(); err != nil || c.fault == nil {
		return found, err
	}
	meanwhile := false
	if !errors.Is(c.fault, errDestroyed) {
		meanwhile, err = ending(tips, name, c.faultAt)
	}
	if err == nil && !meanwhile {
		found.Faults = append(found.Faults, folder.Fault{Seq: c.faultAt, Reason: c.fault.Error()})
	}
	return found, err
}

// ending reports whether a message of a segment is destroyed, or must be.
func ending(tips *tipstore.Store, stream string, seq uint64) (bool, error) {
	there, err := has(tips.Get, sequenceKey(recordPrefix, stream, seq))
	if err != nil || !there {
		return !there, err
	}
	return has(tips.Get, sequenceKey(dyingPrefix, stream, seq))
}
