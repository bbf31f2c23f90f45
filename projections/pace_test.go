package projections

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestPace checks how long events gather into the next batch, depending on the callers that wait
// for them.
func TestPace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		reader time.Duration // when a reader begins to wait; negative: never
		ends   time.Duration // when the caller ends; never, when 0
		want   time.Duration
	}{
		{"nobody waits", -1, 0, batchIdle},
		{"somebody waits already", 0, 0, batchEvery},
		{"somebody comes meanwhile", batchIdle / 2, 0, batchIdle / 2},
		{"somebody comes at once", batchEvery / 2, 0, batchEvery},
		{"the end, at once", -1, batchEvery / 2, batchEvery / 2},
		{"the end, later", -1, batchIdle / 2, batchIdle / 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &Projections{progress: newProgress([]uint64{0})}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.ends > 0 {
					ctx, cancel = context.WithTimeout(ctx, c.ends)
					defer cancel()
				}
				if c.reader >= 0 {
					waiting, done := context.WithCancel(t.Context())
					defer done()
					time.AfterFunc(c.reader, func() { _ = p.WaitFor(waiting, 0, 1) })
					synctest.Wait()
				}
				start := time.Now()
				err := p.pace(ctx)
				if took := time.Since(start); took != c.want || errors.Is(err, context.DeadlineExceeded) != (c.ends > 0) {
					t.Errorf("%s, %v; want %s", took, err, c.want)
				}
				if c.reader >= 0 { // the reader still waits: its event was not in that batch
					start = time.Now()
					if err := p.pace(ctx); err != nil || time.Since(start) != batchEvery {
						t.Errorf("then %s, %v", time.Since(start), err)
					}
				}
			})
		})
	}
}
