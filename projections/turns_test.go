package projections

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurns: calls during a reading share the one after it, and none of them takes a result that may be older than itself.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sharedReads[string, int64]
		var begun, truth atomic.Int64
		release := make(chan struct{})
		read := func(context.Context) (int64, error) {
			begun.Add(1)
			seen := truth.Load() // as it is when the reading begins
			<-release
			return seen, nil
		}
		var callers sync.WaitGroup
		call := func(want int64) {
			callers.Go(func() {
				if got, err := s.do(t.Context(), "a", read); got != want || err != nil {
					t.Errorf("a call got %d, %v, not %d", got, err, want)
				}
			})
		}
		call(0)
		synctest.Wait()
		truth.Store(1)
		for range 1000 {
			call(1)
		}
		synctest.Wait()
		if n := begun.Load(); n != 1 {
			t.Errorf("%d readings are under way", n)
		}
		release <- struct{}{}
		synctest.Wait()
		truth.Store(2)
		call(2)
		synctest.Wait()
		if n := begun.Load(); n != 2 {
			t.Errorf("a thousand calls led to %d readings", n-1)
		}
		close(release)
		callers.Wait()
		synctest.Wait()
		if n := begun.Load(); n != 3 || s.len() != 0 {
			t.Errorf("%d readings in all; %d are remembered", n, s.len())
		}
	})
}

// TestTurnsLeft checks that a caller who leaves does not end a read that others wait for. A read without callers is ended. Each key has
// separate reads.
func TestTurnsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sharedReads[string, string]
		var begun, ended atomic.Int64
		release := make(chan struct{})
		read := func(ctx context.Context) (string, error) {
			begun.Add(1)
			select {
			case <-release:
				return "read", nil
			case <-ctx.Done():
				ended.Add(1)
				return "", ctx.Err()
			}
		}
		var callers sync.WaitGroup
		call := func(ctx context.Context, key string, want error) {
			callers.Go(func() {
				if _, err := s.do(ctx, key, read); !errors.Is(err, want) {
					t.Errorf("%s: %v, not %v", key, err, want)
				}
			})
		}
		leaving, leave := context.WithCancel(t.Context())
		call(leaving, "a", context.Canceled) // its reading is ended
		call(leaving, "b", context.Canceled)
		synctest.Wait()
		call(t.Context(), "b", nil) // after that one
		call(leaving, "b", context.Canceled)
		synctest.Wait()
		leave()
		synctest.Wait()
		if begun.Load() != 3 || ended.Load() != 2 {
			t.Errorf("%d readings began, %d were ended", begun.Load(), ended.Load())
		}
		call(t.Context(), "a", nil)
		synctest.Wait()
		close(release)
		callers.Wait()
		synctest.Wait()
		if begun.Load() != 4 || ended.Load() != 2 || s.len() != 0 {
			t.Errorf("%d readings began, %d were ended; %d are remembered", begun.Load(), ended.Load(), s.len())
		}
	})
}

// TestTurnsLimit: a call that comes while a read has no answer waits no longer than a call before the read.
func TestTurnsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sharedReads[string, int]{within: 5 * time.Second}
		read := func(ctx context.Context) (int, error) { // a read of a log whose servers do not answer
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			<-ctx.Done()
			return 0, ctx.Err()
		}
		var callers sync.WaitGroup
		for range 10 {
			callers.Go(func() {
				began := time.Now()
				if _, err := s.do(t.Context(), "key", read); !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				if waited := time.Since(began); waited != 5*time.Second {
					t.Errorf("a call waited %s", waited)
				}
			})
			<-time.After(time.Second) // of the test's clock
		}
		callers.Wait()
		synctest.Wait()
		if s.len() != 0 {
			t.Errorf("%d readings are remembered", s.len())
		}
	})
}

// len is how many readings are under way.
func (s *sharedReads[K, V]) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.now)
}

// TestTurnsPanic: a reading that panics is an error of its callers.
func TestTurnsPanic(t *testing.T) {
	var s sharedReads[string, int]
	if _, err := s.do(t.Context(), "key", func(context.Context) (int, error) { panic("no such row") }); err == nil {
		t.Error("no error")
	}
	if n, err := s.do(t.Context(), "key", func(context.Context) (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Error(n, err)
	}
}
