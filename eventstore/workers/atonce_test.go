package workers

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var errJob = errors.New("a job failed")

// most counts jobs under way, and remembers their largest number.
type most struct{ running, largest atomic.Int64 }

func (m *most) job() {
	if n := m.running.Add(1); n > m.largest.Load() {
		m.largest.Store(n)
	}
	<-time.After(time.Second)
	m.running.Add(-1)
}

// TestEach: every number gets its error, and no more than the limit run at the same time.
func TestEach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m most
		errs := Each(10, 3, func(i int) error {
			m.job()
			if i == 7 {
				return errJob
			}
			return nil
		})
		if len(errs) != 10 || slices.IndexFunc(errs, func(err error) bool { return err != nil }) != 7 || m.largest.Load() != 3 {
			t.Errorf("errors %v, %d at once", errs, m.largest.Load())
		}
	})
}

// TestPool: all values are worked on, within the limit; the first error of a job, of produce or of
// the caller's context ends it.
func TestPool(t *testing.T) {
	t.Parallel()
	produce := func(n int, end error) func(context.Context, func(int) error) error {
		return func(_ context.Context, submit func(int) error) error {
			for i := range n {
				if err := submit(i); err != nil {
					return err
				}
			}
			return end
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var m most
		var sum atomic.Int64
		work := func(_ context.Context, i int) error {
			m.job()
			sum.Add(int64(i))
			if i == 50 {
				return errJob
			}
			return nil
		}
		if err := Pool(t.Context(), 4, produce(10, nil), work); err != nil || sum.Load() != 45 || m.largest.Load() != 4 {
			t.Errorf("%v, sum %d, %d at once", err, sum.Load(), m.largest.Load())
		}
		if err := Pool(t.Context(), 4, produce(10, errJob), work); !errors.Is(err, errJob) || sum.Load() != 90 {
			t.Errorf("an error of produce: %v, sum %d", err, sum.Load())
		}
		if err := Pool(t.Context(), 4, produce(100, nil), work); !errors.Is(err, errJob) {
			t.Errorf("an error of a job: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		if err := Pool(ctx, 1, produce(1_000, nil), func(context.Context, int) error { m.job(); return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the end of the context: %v", err)
		}
	})
}

// TestRepeat: calls come at the interval, and none runs after the end.
func TestRepeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		end := Repeat(time.Second, func() { calls.Add(1); <-time.After(time.Second / 4) })
		<-time.After(3*time.Second + time.Second/8)
		end()
		<-time.After(time.Minute)
		if calls.Load() != 3 {
			t.Errorf("%d calls", calls.Load())
		}
	})
}
