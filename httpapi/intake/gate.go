package intake

import (
	"container/list"
	"context"
	"sync"
)

// Gate bounds the requests that are processed at once and those that wait for a place.
type Gate struct {
	mu        sync.Mutex
	free      int       // places
	room      int       // for waiting requests
	returning list.List // of chan struct{}: requests that return from a wait; they go first
	waiting   list.List // of chan struct{}: new requests, the oldest first
}

// NewGate makes a gate with places for requests, and room for requests that wait for a place.
func NewGate(places, room int) *Gate { return &Gate{free: places, room: room} }

// Full reports whether a new request would be refused now.
func (g *Gate) Full() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.full()
}

func (g *Gate) full() bool { return g.free <= 0 && g.waiting.Len() >= g.room }

// Enter waits for a place, false when there is no room to wait or ctx ended. The caller must leave the place.
func (g *Gate) Enter(ctx context.Context) (*Place, bool) {
	g.mu.Lock()
	if g.full() {
		g.mu.Unlock()
		return nil, false
	}
	if !g.await(ctx, &g.waiting) {
		return nil, false
	}
	return &Place{gate: g, held: true}, true
}

// await takes a place, or waits in the queue for one, false when ctx ended. The caller holds the lock, which await releases.
func (g *Gate) await(ctx context.Context, queue *list.List) bool {
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return true
	}
	granted := make(chan struct{})
	at := queue.PushBack(granted)
	g.mu.Unlock()
	select {
	case <-granted:
		return true
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-granted: // the place was granted at the same moment; the next request gets it
		g.release()
	default:
		queue.Remove(at)
	}
	return false
}

// release gives a place to the next request. The caller holds the lock.
func (g *Gate) release() {
	for _, queue := range []*list.List{&g.returning, &g.waiting} {
		if next := queue.Front(); next != nil {
			close(queue.Remove(next).(chan struct{}))
			return
		}
	}
	g.free++
}

// Waiting returns the number of new requests that wait for a place.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting.Len()
}

// Place is a request's place in a gate. The methods of a nil Place do nothing.
type Place struct {
	gate *Gate
	mu   sync.Mutex
	held bool
}

// Leave gives the place to the next request. Repeated calls do nothing.
func (p *Place) Leave() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.held {
		return
	}
	p.held = false
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	p.gate.release()
}

// Return waits for a place again, before all new requests. When ctx ends first, the request has no place; it is about to end.
func (p *Place) Return(ctx context.Context) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held {
		return
	}
	p.gate.mu.Lock()
	p.held = p.gate.await(ctx, &p.gate.returning)
}
