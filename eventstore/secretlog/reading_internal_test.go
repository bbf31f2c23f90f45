package secretlog

import (
	"context"
	"errors"
	"testing"
)

// TestReadingWaits: a caller that waits for the read of another one returns when its own time is
// over, and takes nothing from the reader.
func TestReadingWaits(t *testing.T) {
	t.Parallel()
	x := newIndex(Config{}, nil)
	x.reading <- struct{}{} // another caller reads
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- x.catchUp(ctx, 1) }()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller got %v", err)
	}
	if len(x.reading) != 1 {
		t.Error("nobody reads any more")
	}
	<-x.reading
	x.applied = 1
	if err := x.catchUp(t.Context(), 1); err != nil {
		t.Errorf("the next caller got %v", err)
	}
}
