package notifier

import (
	"context"
	"testing"
)

// TestLanesEnd checks that a lane that is made after the end of all lanes starts no goroutine that would stay.
func TestLanesEnd(t *testing.T) {
	t.Parallel()
	ls := newLanes(sharedOf(newMemory(), limits{}))
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
