package workflows

import "payledger/eventstore"

// recent remembers the newest event of the aggregates that were read last, by its place.
type recent struct {
	newer, older map[uint64]*eventstore.Recorded
	bytes        int // of newer
}

const (
	// recentSize is how many events are remembered, once or twice over, and recentBytes how much of them.
	recentSize  = 1024
	recentBytes = 4 << 20
	// recentHead is what an event takes beside its body.
	recentHead = 512
)

func newRecent() *recent { return &recent{newer: map[uint64]*eventstore.Recorded{}} }

func (b *recent) put(r *eventstore.Recorded) {
	if len(b.newer) >= recentSize || b.bytes >= recentBytes {
		b.newer, b.older, b.bytes = make(map[uint64]*eventstore.Recorded, recentSize), b.newer, 0
	}
	b.drop(r.PrevSeq)
	b.newer[r.Seq] = r
	b.bytes += len(r.Body) + recentHead
}

func (b *recent) drop(seq uint64) {
	if r := b.newer[seq]; r != nil {
		delete(b.newer, seq)
		b.bytes -= len(r.Body) + recentHead
	}
}

func (b *recent) get(seq uint64) *eventstore.Recorded {
	if r := b.newer[seq]; r != nil {
		return r
	}
	return b.older[seq]
}
