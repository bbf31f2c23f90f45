package simulator

import (
	"sync"
	"time"
)

// schedule runs functions later on the injected clock. After close, none runs.
type schedule struct {
	afterFunc func(d time.Duration, f func()) (stop func() bool)

	mu      sync.Mutex
	next    uint64
	stops   map[uint64]func() bool
	closed  bool
	running sync.WaitGroup
}

// after runs f after d. cancel prevents that if f has not begun.
func (s *schedule) after(d time.Duration, f func()) (cancel func()) {
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

func (s *schedule) claim(id uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, waiting := s.stops[id]; !waiting || s.closed {
		return false
	}
	delete(s.stops, id)
	s.running.Add(1)
	return true
}

func (s *schedule) cancel(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stop, waiting := s.stops[id]; waiting {
		delete(s.stops, id)
		stop()
	}
}

func (s *schedule) close() {
	s.mu.Lock()
	s.closed = true
	for id, stop := range s.stops {
		delete(s.stops, id)
		stop()
	}
	s.mu.Unlock()
	s.running.Wait()
}
