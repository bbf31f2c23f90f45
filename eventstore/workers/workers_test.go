package workers

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestWorkers: every job runs, however many wait for each other; at most maxIdle goroutines stay
// and do the next jobs, and none is left at the end.
func TestWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := New()
		var done atomic.Int64
		for _, n := range []int{1, maxIdle / 2, maxIdle + 1, 3 * maxIdle} {
			done.Store(0)
			all := make(chan struct{})
			for range n {
				w.Start(func() {
					if done.Add(1) == int64(n) {
						close(all)
					}
					<-all
				})
			}
			synctest.Wait()
			if done.Load() != int64(n) || w.idle.Load() != int64(min(n, maxIdle)) {
				t.Errorf("%d of %d are done, %d goroutines wait", done.Load(), n, w.idle.Load())
			}
		}
		w.Close()
		if w.idle.Load() != 0 {
			t.Errorf("%d goroutines wait after the end", w.idle.Load())
		}
		late := make(chan struct{})
		w.Start(func() { close(late) })
		<-late
	})
}
