package intake

import (
	"container/list"
	"context"
	"sync"
)

// Gate bounds the requests that are processed at once and those that wait for a place. Both are
// shared by owners, an account or an address: one owner may have at most as many waiting requests
// as others could still have, and owners with waiting requests get places in turn. So the requests
// of one owner, however many and however dear, neither displace the requests of another nor go
// before them. All addresses together have the room of one owner, and every second place: strangers
// with many addresses displace no account.
type Gate struct {
	mu        sync.Mutex
	free      int       // places
	room      int       // for waiting requests
	waiting   int       // new requests
	returning list.List // of chan struct{}: requests that return from a wait; they go first
	kinds     [2]kind   // accounts, addresses
	last      int       // the kind that got the last place
}

// kind has the waiting requests of all owners of a kind.
type kind struct {
	waiting int
	owners  list.List                // of *ownQueue: those with new requests, the next one first
	by      map[string]*list.Element // in owners
}

// ownQueue has an owner's waiting requests.
type ownQueue struct {
	Owner
	requests list.List // of chan struct{}, the oldest first
}

// Owner is the one whose share of the places a request takes.
type Owner struct {
	Name    string
	Address bool // the account is not known yet
}

func (o Owner) kind() int {
	if o.Address {
		return 1
	}
	return 0
}

// NewGate makes a gate with places for requests, and room for requests that wait for a place. One
// owner alone can take half of the room.
func NewGate(places, room int) *Gate {
	return &Gate{free: places, room: room, kinds: [2]kind{{by: map[string]*list.Element{}}, {by: map[string]*list.Element{}}}}
}

// Full reports whether every new request would be refused now.
func (g *Gate) Full() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.free <= 0 && g.waiting >= g.room
}

// Enter waits for a place, false when there is no room for the owner to wait or ctx ended. The
// caller must leave the place.
func (g *Gate) Enter(ctx context.Context, who Owner) (*Place, bool) {
	g.mu.Lock()
	k := &g.kinds[who.kind()]
	held := 0
	if own, waits := k.by[who.Name]; waits {
		held = own.Value.(*ownQueue).requests.Len()
	}
	if who.Address { // of the half of the room that all addresses can have, and of the whole
		held = max(k.waiting, 2*held)
	}
	if g.free <= 0 && held+1 > g.room-g.waiting {
		g.mu.Unlock()
		return nil, false
	}
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return &Place{gate: g, held: true}, true
	}
	granted := make(chan struct{})
	at := g.add(who, granted)
	if !g.await(ctx, granted, func() { g.remove(who, at) }) {
		return nil, false
	}
	return &Place{gate: g, held: true}, true
}

// add puts a new request behind those of its owner. The caller holds the lock.
func (g *Gate) add(who Owner, granted chan struct{}) *list.Element {
	k := &g.kinds[who.kind()]
	own, waits := k.by[who.Name]
	if !waits {
		own = k.owners.PushBack(&ownQueue{Owner: who})
		k.by[who.Name] = own
	}
	g.waiting++
	k.waiting++
	return own.Value.(*ownQueue).requests.PushBack(granted)
}

// remove takes a new request out of the queue of its owner. The caller holds the lock.
func (g *Gate) remove(who Owner, at *list.Element) {
	k := &g.kinds[who.kind()]
	own := k.by[who.Name]
	requests := &own.Value.(*ownQueue).requests
	requests.Remove(at)
	g.waiting--
	k.waiting--
	if requests.Len() == 0 {
		k.owners.Remove(own)
		delete(k.by, who.Name)
	}
}

// await waits until granted is closed, false when ctx ended before. Then it calls leave, which
// takes the request out of its queue. The caller holds the lock, which await releases.
func (g *Gate) await(ctx context.Context, granted chan struct{}, leave func()) bool {
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
		leave()
	}
	return false
}

// release gives a place to the next request: one that returns, or the oldest of the owner whose
// turn it is. Accounts and addresses take turns. The caller holds the lock.
func (g *Gate) release() {
	if next := g.returning.Front(); next != nil {
		close(g.returning.Remove(next).(chan struct{}))
		return
	}
	if g.waiting == 0 {
		g.free++
		return
	}
	if g.last = 1 - g.last; g.kinds[g.last].waiting == 0 {
		g.last = 1 - g.last
	}
	k := &g.kinds[g.last]
	own := k.owners.Front()
	queue := own.Value.(*ownQueue)
	k.owners.MoveToBack(own)
	next := queue.requests.Front()
	g.remove(queue.Owner, next)
	close(next.Value.(chan struct{}))
}

// Waiting returns the number of new requests that wait for a place.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
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

// Return waits for a place again, before all new requests. When ctx ends first, the request has no
// place; it is about to end.
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
	if p.gate.free > 0 {
		p.gate.free--
		p.held = true
		p.gate.mu.Unlock()
		return
	}
	granted := make(chan struct{})
	at := p.gate.returning.PushBack(granted)
	p.held = p.gate.await(ctx, granted, func() { p.gate.returning.Remove(at) })
}
