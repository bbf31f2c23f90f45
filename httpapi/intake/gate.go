package intake

import (
	"container/list"
	"context"
	"sync"
)

// Gate bounds the requests that are worked on at once and those that wait for a place.
type Gate struct {
	mu        sync.Mutex
	free      int       // places
	room      int       // how many may wait
	returning list.List // of chan struct{}: requests that come back from a wait; they go first
	waiting   list.List // of chan struct{}: new requests, in the order in which they came
}

// NewGate makes a gate with places for work, and room for others that wait for one.
func NewGate(places, room int) *Gate { return &Gate{free: places, room: room} }

// Full reports whether a new request would be refused now.
func (g *Gate) Full() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.full()
}

// full is Full; the caller holds the lock.
func (g *Gate) full() bool { return g.free <= 0 && g.waiting.Len() >= g.room }

// Enter waits for a place. False: there is no room to wait, or ctx ended. A place must be left.
func (g *Gate) Enter(ctx context.Context) (*Place, bool) {
	g.mu.Lock()
	if g.free <= 0 && g.waiting.Len() >= g.room {
		g.mu.Unlock()
		return nil, false
	}
	if !g.await(ctx, &g.waiting) {
		return nil, false
	}
	return &Place{gate: g, held: true}, true
}

// await takes a place, or waits in the queue for one. The caller holds the lock, which is released. False: ctx ended.
func (g *Gate) await(ctx context.Context, queue *list.List) bool {
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return true
	}
	turn := make(chan struct{})
	at := queue.PushBack(turn)
	g.mu.Unlock()
	select {
	case <-turn:
		return true
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-turn: // at the same moment: it goes to the next
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

// Waiting returns how many requests wait for a place, those that come back from a wait aside.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting.Len()
}

// Place is a request's place at work. A nil Place is one without a gate: its methods do nothing.
type Place struct {
	gate *Gate
	mu   sync.Mutex
	held bool
}

// Leave gives the place to the next request. Again, it does nothing.
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

// Return waits for a place again, before all new requests. When ctx ends first the request goes on without one: it is
// about to end.
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
