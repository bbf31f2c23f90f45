package projections

import (
	"context"
	"fmt"
	"sync"
)

// turns lets calls that want the same thing at the same time share one reading of it. A reading that began before a call may
// lack what was acknowledged before the call, so a call never takes it: it joins the next reading, which begins when the one
// under way has ended. However many calls there are, one reading of a thing is under way, and one waits.
type turns[K comparable, V any] struct {
	mu  sync.Mutex
	now map[K]*turn[V] // the reading under way
}

// turn is one reading.
type turn[V any] struct {
	ctx     context.Context // ends when nobody waits for it any more
	stop    context.CancelFunc
	callers int
	next    *turn[V] // waits until this one has ended; nil: nobody wants it
	done    chan struct{}
	value   V
	err     error
}

func newTurn[V any]() *turn[V] {
	t := &turn[V]{done: make(chan struct{})}
	t.ctx, t.stop = context.WithCancel(context.Background()) //nolint:gosec // run stops it
	return t
}

// do returns the result of a reading that began after the call. read must give the same for the same key, whoever calls.
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
		t.stop() // one that has not begun may still get a caller
	}
	var none V
	return none, ctx.Err()
}

// run makes one reading after the other until nobody waits.
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

// guarded is read, whose panic is an error of those who wait for it, and not the end of the process.
func guarded[V any](ctx context.Context, read func(context.Context) (V, error)) (value V, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("projections: a reading panicked: %v", cause)
		}
	}()
	return read(ctx)
}
