package timers

import (
	"sync"
	"time"
)

// AfterFunc calls f in its own goroutine after d. stop prevents the call and reports whether it
// did.
type AfterFunc = func(d time.Duration, f func()) (stop func() bool)

// Set runs functions later. After Close, none runs.
type Set struct {
	afterFunc AfterFunc

	mu      sync.Mutex
	next    uint64
	stops   map[uint64]func() bool
	closed  bool
	running sync.WaitGroup
}

// New returns a set on the clock of afterFunc; nil means time.AfterFunc.
func New(afterFunc AfterFunc) *Set {
	if afterFunc == nil {
		afterFunc = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	return &Set{afterFunc: afterFunc, stops: map[uint64]func() bool{}}
}

// After runs f after d. cancel prevents that if f has not begun.
func (s *Set) After(d time.Duration, f func()) (cancel func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return func() {}
	}
	s.next++
	id := s.next
	s.stops[id] = s.afterFunc(d, func() {
		if !s.claim(id) {
			return
		}
		defer s.running.Done()
		f()
	})
	return func() { s.cancel(id) }
}

func (s *Set) claim(id uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, waiting := s.stops[id]; !waiting || s.closed {
		return false
	}
	delete(s.stops, id)
	s.running.Add(1)
	return true
}

func (s *Set) cancel(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stop, waiting := s.stops[id]; waiting {
		delete(s.stops, id)
		stop()
	}
}

// Close stops all timers and waits for the functions that run.
func (s *Set) Close() {
	s.mu.Lock()
	s.closed = true
	for id, stop := range s.stops {
		delete(s.stops, id)
		stop()
	}
	s.mu.Unlock()
	s.running.Wait()
}
