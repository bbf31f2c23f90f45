package message

import (
	"context"
	"testing"

	"payledger/eventstore"
)

// TestContentsBounds checks that the cache of events is bounded by number and size, and has the
// newest events.
func TestContentsBounds(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small": 1 << 10, "large": 256 << 10} {
		c := newEventCache(nil)
		const n = 3 * cachedEvents
		for seq := range uint64(n) {
			c.put(&eventstore.Recorded{Seq: seq + 1, Body: make([]byte, size)})
			c.put(&eventstore.Recorded{Seq: seq + 1, Body: make([]byte, size)}) // known
		}
		kept := min(cachedEvents, cachedBytes/size)
		if len(c.byPosition) != kept || c.bytes != kept*size {
			t.Errorf("%s: %d events of %d bytes are kept", name, len(c.byPosition), c.bytes)
		}
		for seq := uint64(n); seq > uint64(n-kept); seq-- {
			if e, err := c.read(context.Background(), 0, seq); err != nil || e.Seq != seq {
				t.Fatalf("%s: event %d: %v", name, seq, err)
			}
		}
	}
}
