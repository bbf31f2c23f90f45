package notifier

import (
	"context"
	"payledger/notifier/health"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// TestLanesEnd checks that a lane that is made after the end of all lanes starts no goroutine that would stay.
func TestLanesEnd(t *testing.T) {
	t.Parallel()
	ls := newLanes(newMemory(), &health.Health{}, zerolog.Nop(), time.Now)
	ctx, cancel := context.WithCancel(context.Background())
	ls.run(ctx, nil)
	ls.of("acct1.end1")
	cancel()
	ls.wait()
	ls.of("acct1.end2")
	if ls.start != nil {
		t.Error("lanes still start")
	}
}
