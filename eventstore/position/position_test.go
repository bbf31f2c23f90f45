package position

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"payledger/eventstore"
)

// saves counts writes of the position.
type saves struct {
	n int
}

func (s *saves) Save(context.Context, string, []uint64) error { s.n++; return nil }

// TestPositionEvery: the position is written at most every 250 ms while events flow, and not at all while
// nothing changes.
func TestPositionEvery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &saves{}
		p := New("reader", s, make([]uint64, 1))
		var running sync.WaitGroup
		running.Go(func() { Run(ctx, func(ctx context.Context) { _, _ = p.Save(ctx) }) })
		for seq := range uint64(200) { // two seconds of events
			p.Advance([]*eventstore.Recorded{{Seq: seq + 1}})
			<-time.After(10 * time.Millisecond)
		}
		<-time.After(Every)
		synctest.Wait()
		if s.n != 8 {
			t.Errorf("written %d times in 2 s", s.n)
		}
		<-time.After(time.Hour)
		synctest.Wait()
		if s.n != 8 {
			t.Errorf("written %d times although nothing changed", s.n)
		}
		cancel()
		running.Wait()
	})
}
