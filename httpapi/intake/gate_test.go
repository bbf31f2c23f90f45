package intake

import (
	"context"
	"testing"
)

// entering enters a gate in another goroutine and sends the result on the channel.
func entering(ctx context.Context, g *Gate, waiting int) chan *Place {
	out := make(chan *Place, 1)
	go func() {
		place, _ := g.Enter(ctx)
		out <- place
	}()
	for g.Waiting() < waiting { // until it waits
	}
	return out
}

func mustEnter(t *testing.T, g *Gate) *Place {
	t.Helper()
	place, ok := g.Enter(t.Context())
	if !ok {
		t.Fatal("no place")
	}
	return place
}

// TestGateOrder: requests get places in their order; a request beyond the room to wait is refused.
func TestGateOrder(t *testing.T) {
	g := NewGate(1, 2)
	if g.Full() {
		t.Error("an empty gate is full")
	}
	first := mustEnter(t, g)
	second := entering(t.Context(), g, 1)
	third := entering(t.Context(), g, 2)
	if !g.Full() {
		t.Error("a full gate is not full")
	}
	if _, ok := g.Enter(t.Context()); ok {
		t.Error("a fourth request found a place")
	}
	first.Leave()
	first.Leave() // does nothing
	held := <-second
	if len(third) > 0 {
		t.Error("two places were given for one")
	}
	held.Leave()
	(<-third).Leave()
	if mustEnter(t, g).Leave(); g.free != 1 {
		t.Errorf("%d places are free", g.free)
	}
}

// TestGateReturn checks that a request that returns from a wait passes before new requests, and needs no place in the queue.
func TestGateReturn(t *testing.T) {
	g := NewGate(1, 1)
	away := mustEnter(t, g)
	away.Leave()
	other := mustEnter(t, g)
	fresh := entering(t.Context(), g, 1)
	back := make(chan struct{})
	go func() {
		away.Return(t.Context())
		close(back)
	}()
	for waiting := 0; waiting == 0; { // until it waits
		g.mu.Lock()
		waiting = g.returning.Len()
		g.mu.Unlock()
	}
	other.Leave()
	<-back
	if len(fresh) > 0 {
		t.Error("a new request went first")
	}
	away.Leave()
	(<-fresh).Leave()
}

// TestGateLeft: a caller that goes away while it waits takes no place, and makes room.
func TestGateLeft(t *testing.T) {
	g := NewGate(1, 1)
	held := mustEnter(t, g)
	ctx, cancel := context.WithCancel(t.Context())
	gone := entering(ctx, g, 1)
	cancel()
	if <-gone != nil {
		t.Error("it got a place")
	}
	next := entering(t.Context(), g, 1)
	held.Leave()
	(<-next).Leave()
	if g.free != 1 || g.waiting.Len() != 0 {
		t.Errorf("%d places are free, %d wait", g.free, g.waiting.Len())
	}
	var none *Place
	none.Leave()
	none.Return(ctx)
}
