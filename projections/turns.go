package projections

import (
	"context"
	"fmt"
	"sync"
)

// turns shares reads between concurrent calls with the same key. A read that began before a call may lack events that were
// acknowledged before the call. The call therefore joins the next read, which begins when the current one has ended. At any
// time one read of a key runs, and at most one waits.
type turns[K comparable, V any] struct {
	mu  sync.Mutex
	now map[K]*turn[V] // the running read
}

// turn is one read.
type turn[V any] struct {
	ctx     context.Context // ends when no caller waits for the read
	stop    context.CancelFunc
	callers int
	next    *turn[V] // begins when this one has ended; nil: no call waits for it
	done    chan struct{}
	value   V
	err     error
}

func newTurn[V any]() *turn[V] {
	t := &turn[V]{done: make(chan struct{})}
	t.ctx, t.stop = context.WithCancel(context.Background()) //nolint:gosec // run stops it
	return t
}

// do returns the result of a read that began after the call. All calls with the same key must read the same thing.
func (s *turns[K, V]) do(ctx context.Context, key K, read func(context.Context) (V, error)) (V, error) {
	s.mu.Lock()
	t := s.now[key]
	switch {
	case t == nil:
		if s.now == nil {
			s.now = map[K]*turn[V]{}
		}
		t = newTurn[V]()
		s.now[key] = t
		go s.run(key, t, read)
	case t.next == nil:
		t.next = newTurn[V]()
		t = t.next
	default:
		t = t.next
	}
	t.callers++
	s.mu.Unlock()
	select {
	case <-t.done:
		return t.value, t.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.callers--; t.callers == 0 && s.now[key] == t {
		t.stop() // a read that has not begun may still get a caller
	}
	var none V
	return none, ctx.Err()
}

// run performs one read after the other until no call waits.
func (s *turns[K, V]) run(key K, t *turn[V], read func(context.Context) (V, error)) {
	for t != nil {
		t.value, t.err = guarded(t.ctx, read)
		t.stop()
		s.mu.Lock()
		close(t.done)
		if t = t.next; t != nil && t.callers == 0 {
			t = nil
		}
		if s.now[key] = t; t == nil {
			delete(s.now, key)
		}
		s.mu.Unlock()
	}
}

// guarded calls read and returns a panic as an error.
func guarded[V any](ctx context.Context, read func(context.Context) (V, error)) (value V, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("projections: a read panicked: %v", cause)
		}
	}()
	return read(ctx)
}
