package eventstore

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestTailOutOfOrder: of two appends the later one's goroutine may run first; the reader waits for the
// earlier one instead of having the server send it.
func TestTailOutOfOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held tail
		held.put(&Recorded{Seq: 2})
		time.AfterFunc(tailPatience/4, func() { held.put(&Recorded{Seq: 3}) })
		time.AfterFunc(tailPatience/2, func() { held.put(&Recorded{Seq: 1}) })
		start := time.Now()
		if r := held.soon(t.Context(), 1); r == nil || r.Seq != 1 || time.Since(start) != tailPatience/2 {
			t.Errorf("event 1: %+v after %s", r, time.Since(start))
		}
	})
}

// TestTailDoesNotHold: what the tail cannot get any more, or nobody appends here, is left to the stream.
func TestTailDoesNotHold(t *testing.T) {
	for _, row := range []struct {
		name     string
		held     []uint64
		seq      uint64
		patience time.Duration
	}{
		{"an empty tail", nil, 1, 0},
		{"the end of the tail", []uint64{1, 2}, 3, 0},
		{"overwritten", []uint64{tailSize + 1}, 1, 0},
		{"a gap that nobody fills", []uint64{1, 3}, 2, tailPatience},
	} {
		synctest.Test(t, func(t *testing.T) {
			var held tail
			for _, seq := range row.held {
				held.put(&Recorded{Seq: seq})
			}
			start := time.Now()
			if r := held.soon(t.Context(), row.seq); r != nil || time.Since(start) != row.patience {
				t.Errorf("%s: %+v after %s", row.name, r, time.Since(start))
			}
		})
	}
}
