package engine

import (
	"slices"
	"time"

	"payledger/eventstore/format"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/ownership"
	"payledger/eventstore/streams"
)

// flight is a group beyond head: it may be in the log, and is not known to be durable. This process
// sent it, or read it from the log.
type flight struct {
	g       *format.Group
	drafts  []*entry // the callers of its events; none in a group of another process
	readers []*entry
	awaited bool // it was found in the log; its callers wait for the acknowledgement of a later group

	// The rest is of a group that this process made.
	seg   segment
	data  []byte            // nil: not encoded yet
	began time.Time         // when it was made; after a look at its block: when that ended
	asOf  ownership.Reading // before the first publish
	sent  time.Time         // of the newest publish
	reply *jetapi.Reply

	result    outcome // of the newest publish
	err       error
	uncertain bool // the server may have stored a publish without an answer
	repeated  bool // published more than once, or found in the log
	silent    bool // a publish had no answer at all
	orphan    bool // an earlier group in flight was not stored
	taken     bool // a caller took its draft back before the group was sent
}

// endAwaited ends the callers of a group that was found in the log.
func (f *flight) endAwaited(err error) {
	if f.awaited {
		f.awaited = false
		endAll(f.drafts, err)
	}
}

// outcome is what became of a publish.
type outcome int

const (
	unanswered   outcome = iota
	acknowledged         // durable as soon as all groups before it are acknowledged
	refused              // the server stored nothing
	unknown              // everything else, "wrong last sequence" included (eventstore/doc.go)
)

// beyond has the groups of a shard beyond head, in the order of their places: first those that were
// read from the log, then those that were sent. A later acknowledgement covers the groups that were
// read. In a cluster a group that is read is durable, and is applied at once.
type beyond struct {
	front     format.Head // the end of the shard if all of them are stored
	read      []*flight
	sent      []*flight
	events    map[format.Key]int   // the number of groups that have an event of the aggregate, the group that is being made included
	doubted   map[format.Hash]bool // groups of this process whose outcome stayed unknown
	stored    time.Time            // when the newest acknowledged group was sent; zero: there is none
	lookAgain bool                 // the newest look at the block before a group came too late
	building  *flight              // it is made, and being encoded: it is sent next; nil: none
	resolving bool                 // a goroutine resolves the outcome of the first group sent
}

func newBeyond() beyond {
	return beyond{events: map[format.Key]int{}, doubted: map[format.Hash]bool{}}
}

// busy reports whether a group of this process is under way.
func (b *beyond) busy() bool { return len(b.sent) > 0 || b.building != nil }

// holds reports whether a group has an event of the aggregate.
func (b *beyond) holds(key format.Key) bool { return b.events[key] > 0 }

// reserve notes that the group that is being made has an event of the aggregate.
func (b *beyond) reserve(key format.Key) { b.events[key]++ }

// forget takes out the aggregates of a group that leaves.
func (b *beyond) forget(g *format.Group) {
	for _, r := range g.Frames {
		if b.events[r.Key]--; b.events[r.Key] == 0 {
			delete(b.events, r.Key)
		}
	}
}

// encoded adds the group that was being made: it is sent next. Its aggregates were reserved.
func (b *beyond) encoded(f *flight) {
	b.building = nil
	b.front = f.g.After(b.front)
	b.sent = append(b.sent, f)
}

// take takes a draft out of the group that is being made, which is then not sent, and reports
// whether the draft was there.
func (b *beyond) take(d *entry) bool {
	f := b.building
	if f == nil || !slices.Contains(f.drafts, d) {
		return false
	}
	f.taken, f.drafts = true, slices.DeleteFunc(f.drafts, func(other *entry) bool { return other == d })
	return true
}

// unmade removes the group that was being made: it is not sent.
func (b *beyond) unmade() {
	b.forget(b.building.g)
	b.building = nil
}

// saw notes that the next group was read from the log.
func (b *beyond) saw(g *format.Group) {
	delete(b.doubted, g.Hash)
	b.front = g.After(b.front)
}

// addRead adds a group without callers, which was read from the log.
func (b *beyond) addRead(g *format.Group) {
	b.read = append(b.read, &flight{g: g})
	for _, r := range g.Frames {
		b.reserve(r.Key)
	}
}

// found makes the first group sent one that was read from the log. Its callers wait for the
// acknowledgement of a later group.
func (b *beyond) found() {
	f := b.sent[0]
	f.awaited = true
	b.read, b.sent = append(b.read, f), b.sent[1:]
}

// takeRead removes and returns the first group that was read, if it is at seq or before; else it
// returns nil.
func (b *beyond) takeRead(seq uint64) *flight {
	if len(b.read) == 0 || b.read[0].g.Seq > seq {
		return nil
	}
	f := b.read[0]
	b.read = b.read[1:]
	b.forget(f.g)
	return f
}

// acknowledged returns the first group sent if it is acknowledged and follows the groups before it;
// else nil.
func (b *beyond) acknowledged() *flight {
	if len(b.sent) == 0 || b.sent[0].result != acknowledged || b.sent[0].orphan {
		return nil
	}
	return b.sent[0]
}

// unclear returns the first group sent if it has an answer; else nil.
func (b *beyond) unclear() *flight {
	if len(b.sent) == 0 || b.sent[0].result == unanswered {
		return nil
	}
	return b.sent[0]
}

// takeSent removes the first group sent.
func (b *beyond) takeSent() {
	b.forget(b.sent[0].g)
	b.sent = b.sent[1:]
}

// drop removes the first group sent, which is not known to be stored. Groups behind it become
// orphans.
func (b *beyond) drop(head format.Head) {
	b.takeSent()
	b.front = head
	for _, f := range b.read {
		b.front = f.g.After(b.front)
	}
	for _, later := range b.sent {
		later.orphan = true
		b.front = later.g.After(b.front)
	}
	if b.building != nil {
		b.building.orphan = true
	}
}

// tip returns the newest event of an aggregate in the groups that were read; nil: none.
func (b *beyond) tip(key format.Key) *format.Recorded {
	for i := len(b.read) - 1; i >= 0 && b.holds(key); i-- {
		frames := b.read[i].g.Frames
		for j := len(frames) - 1; j >= 0; j-- {
			if frames[j].Key == key {
				return frames[j]
			}
		}
	}
	return nil
}

// floor returns the last dropped group, by the newest applied floor and those in the groups that
// were read.
func (b *beyond) floor(kind *streams.Kind, applied streams.Floor) uint64 {
	through := applied.Seq
	if !b.holds(kind.Floor) {
		return through
	}
	for _, f := range b.read {
		for _, r := range f.g.Frames {
			if floor, err := kind.FloorIn(r); err == nil {
				through = max(through, floor.Seq)
			}
		}
	}
	return through
}
