package applied

import (
	"bytes"
	"fmt"

	"payledger/eventstore/format"
	"payledger/eventstore/tiprow"
	"payledger/eventstore/tipstore"
)

const (
	maxAbsent   = 1024 // aggregates that are known to be absent
	leftRowSize = 120  // roughly the memory of a row without its data, in bytes
)

// Tips are the changes of a shard that the tip store does not have yet. A change waits; Take makes
// all that wait the batch that is being written; Written forgets the batch. Between the two, a
// look-up finds the batch, too.
type Tips struct {
	waiting changes
	bytes   int     // of waiting, roughly
	taken   changes // being written to the tip store; empty: nothing is
	end     format.Head
	synced  format.Head // the end that the tip store has on the disk
	absent  map[format.Key]bool
	timed   bool
	times   times
	index   Index
}

// changes are what one batch writes.
type changes struct {
	tips     map[format.Key]*format.Recorded // the newest event of each aggregate
	left     map[format.Key][]format.LeftRow // the parts moved out of states, oldest first
	replaced [][]byte                        // rows of the index that are of earlier events
	times    timeRows
}

// Index is the rows that the tip store of a shard has beside the newest events.
type Index interface {
	// Replaced returns the key of the row that the event before r may have; nil if it has none.
	Replaced(r *format.Recorded) []byte
	// Write adds the rows of new tips to a batch, and deletes those that were replaced.
	Write(batch tipstore.Batch, tips map[format.Key]*format.Recorded, replaced [][]byte) error
}

// NewTips returns the tips of a shard with nothing that waits. timed: the shard has times. index is
// nil for a shard without one.
func NewTips(timed bool, index Index) Tips {
	return Tips{waiting: changes{tips: map[format.Key]*format.Recorded{}}, absent: map[format.Key]bool{}, timed: timed, index: index}
}

// Restore sets the end that the tip store has on the disk, and reads the times. It returns
// tipstore.ErrDamaged if these are not those of all groups up to the end.
func (t *Tips) Restore(end format.Head, store *tipstore.Store, shard int) error {
	t.synced = end
	if !t.timed {
		return nil
	}
	if err := t.times.restore(store, shard); err != nil {
		return err
	}
	if last := format.GroupOf(end.Last); t.times.last != last {
		return fmt.Errorf("%w: the times of shard %d end at group %d, its events at group %d", tipstore.ErrDamaged, shard, t.times.last, last)
	}
	return nil
}

// Near returns the stretches up to a group, oldest first, that hold all applied events from a time
// to another one, both included, in microseconds since 1970. The events' order does not matter.
func (t *Tips) Near(through uint64, from, to int64) []format.Stretch {
	return t.times.near(through, span{from, to})
}

// Apply takes the next event. Its bytes must not be those of its group (Recorded.Owned).
func (t *Tips) Apply(r *format.Recorded) {
	delete(t.absent, r.Key)
	if replaced := t.waiting.tips[r.Key]; replaced != nil {
		t.bytes -= replaced.Size()
	} else if t.index != nil {
		if key := t.index.Replaced(r); key != nil {
			t.waiting.replaced = append(t.waiting.replaced, key)
		}
	}
	if t.timed {
		t.times.add(format.GroupOf(r.Seq), r.Time.UnixMicro())
	}
	light := r.Light()
	t.waiting.tips[r.Key] = light
	t.bytes += light.Size() + t.waiting.addLeft(r)
}

// addLeft adds the part that r moved out of the state, and returns its size in memory.
func (c *changes) addLeft(r *format.Recorded) int {
	if !r.HasMore() {
		return 0
	}
	_, left, err := r.Parts()
	if err != nil || left == nil {
		return 0
	}
	if c.left == nil {
		c.left = map[format.Key][]format.LeftRow{}
	}
	c.left[r.Key] = append(c.left[r.Key], format.LeftRow{Revision: r.Revision, Data: bytes.Clone(left)})
	return len(left) + leftRowSize
}

// Tip returns the newest event of an aggregate; nil if the tip store has it, or if there is none.
func (t *Tips) Tip(key format.Key) *format.Recorded {
	if r := t.waiting.tips[key]; r != nil {
		return r
	}
	return t.taken.tips[key]
}

// CopyTo adds the newest event of every aggregate to a map.
func (t *Tips) CopyTo(all map[format.Key]*format.Recorded, want func(*format.Recorded) bool) {
	for _, c := range []changes{t.taken, t.waiting} {
		for key, r := range c.tips {
			if want(r) {
				all[key] = r
			}
		}
	}
}

// Left returns the parts moved out of an aggregate's state, oldest first.
func (t *Tips) Left(key format.Key) []format.LeftRow {
	taken := t.taken.left[key]
	return append(taken[:len(taken):len(taken)], t.waiting.left[key]...)
}

// Bytes returns the memory of the changes that wait, roughly.
func (t *Tips) Bytes() int { return t.bytes }

// Absent reports whether an aggregate is known to have no event.
func (t *Tips) Absent(key format.Key) bool { return t.absent[key] }

// NoteAbsent notes that an aggregate has no event. Its first event ends the note; a full memory
// forgets all of them.
func (t *Tips) NoteAbsent(key format.Key) {
	if len(t.absent) == maxAbsent {
		clear(t.absent)
	}
	t.absent[key] = true
}

// Batch is what a write to the tip store must contain.
type Batch struct {
	changes
	index Index
	end   format.Head // of the shard, with the changes
	news  bool        // the tip store does not have this end yet
}

// Take returns all that waits, of a shard that ends at head. If the last batch was not written,
// Take returns that one again.
func (t *Tips) Take(head format.Head) Batch {
	if len(t.taken.tips) == 0 && len(t.taken.times.rows) == 0 {
		t.taken, t.waiting, t.bytes = t.waiting, changes{tips: map[format.Key]*format.Recorded{}}, 0
		t.taken.times = t.times.take()
		t.end = head
	}
	return Batch{t.taken, t.index, t.end, t.end.Seq != t.synced.Seq || len(t.taken.times.rows) > 0}
}

// Written notes that the tip store has a batch of Take on the disk.
func (t *Tips) Written(b Batch) { t.taken, t.synced = changes{}, b.end }

// New reports whether the tip store does not have the batch yet.
func (b Batch) New() bool { return b.news }

// AddTo adds the batch of a shard to a write. The caller needs no lock. row is memory for a row,
// which the write copies; AddTo returns it.
func (b Batch) AddTo(write tipstore.Batch, shard int, row []byte) ([]byte, error) {
	for key, r := range b.tips {
		row = tiprow.Append(row[:0], r)
		if err := write.Set(tiprow.Key(key), row); err != nil {
			return row, err
		}
	}
	for key, rows := range b.left {
		for _, left := range rows {
			if err := write.Set(tiprow.LeftKey(key, left.Revision), left.Data); err != nil {
				return row, err
			}
		}
	}
	if b.index != nil {
		if err := b.index.Write(write, b.tips, b.replaced); err != nil {
			return row, err
		}
	}
	if err := b.times.addTo(write, shard); err != nil {
		return row, err
	}
	return row, write.Set(tiprow.EndKey(shard), tiprow.EncodeEnd(b.end))
}
