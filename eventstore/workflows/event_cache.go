package workflows

import "payledger/eventstore"

// eventCache holds the newest events of the aggregates that were read last, by sequence. It has two generations: when newer
// is full, newer replaces older.
type eventCache struct {
	newer, older map[uint64]*eventstore.Recorded
	bytes        int // of newer
}

const (
	// cacheEvents and cacheBytes limit the events, and their bytes, in newer.
	cacheEvents = 1024
	cacheBytes  = 4 << 20
	// cacheOverhead is the size of an event without its body.
	cacheOverhead = 512
)

func newEventCache() *eventCache { return &eventCache{newer: map[uint64]*eventstore.Recorded{}} }

func (b *eventCache) put(r *eventstore.Recorded) {
	if len(b.newer) >= cacheEvents || b.bytes >= cacheBytes {
		b.newer, b.older, b.bytes = make(map[uint64]*eventstore.Recorded, cacheEvents), b.newer, 0
	}
	b.drop(r.PrevSeq)
	b.newer[r.Seq] = r
	b.bytes += len(r.Body) + cacheOverhead
}

func (b *eventCache) drop(seq uint64) {
	if r := b.newer[seq]; r != nil {
		delete(b.newer, seq)
		b.bytes -= len(r.Body) + cacheOverhead
	}
}

func (b *eventCache) get(seq uint64) *eventstore.Recorded {
	if r := b.newer[seq]; r != nil {
		return r
	}
	return b.older[seq]
}
