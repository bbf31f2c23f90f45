package checkpointlog_test

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestCover: a stop waits until the newest event has its position, however long the interval of
// checkpoints is; without a writer, until its time is over.
func TestCover(t *testing.T) {
	t.Parallel()
	s := open(t, 2)
	log := s.Checkpoints()
	if err := log.Cover(t.Context(), s.Events); err != nil {
		t.Errorf("of a log without events: %v", err)
	}
	appendTo(t, s)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := log.Cover(over, s.Events); !errors.Is(err, context.Canceled) {
		t.Errorf("without a writer: %v", err)
	}
	checkpoints(t, s, time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for size := uint64(1); size < 4; size++ {
		if err := log.Cover(ctx, s.Events); err != nil {
			t.Fatal(err)
		}
		if newest, err := log.Last(ctx); err != nil || newest.Size != size {
			t.Errorf("covered are %d of %d events, %v", newest.Size, size, err)
		}
		appendTo(t, s)
	}
}
