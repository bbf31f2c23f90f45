package intake

import (
	"context"
	"fmt"
	"testing"
)

// entering enters a gate in another goroutine and sends the result on the channel.
func entering(ctx context.Context, g *Gate, who string, waiting int) chan *Place {
	out := make(chan *Place, 1)
	go func() {
		place, _ := g.Enter(ctx, Owner{Name: who})
		out <- place
	}()
	for g.Waiting() < waiting { // until it waits
	}
	return out
}

func mustEnter(t *testing.T, g *Gate) *Place {
	t.Helper()
	place, ok := g.Enter(t.Context(), Owner{Name: "first"})
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
	second := entering(t.Context(), g, "second", 1)
	third := entering(t.Context(), g, "third", 2)
	if !g.Full() {
		t.Error("a full gate is not full")
	}
	if _, ok := g.Enter(t.Context(), Owner{Name: "fourth"}); ok {
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

// TestGateOwners: one owner's requests leave room for those of others, which get places in turn
// with them.
func TestGateOwners(t *testing.T) {
	const room = 8
	g := NewGate(1, room)
	held := mustEnter(t, g)
	var greedy []chan *Place
	for n := range room / 2 {
		greedy = append(greedy, entering(t.Context(), g, "greedy", n+1))
	}
	if _, ok := g.Enter(t.Context(), Owner{Name: "greedy"}); ok || g.Full() {
		t.Error("one owner takes more than half of the room")
	}
	other, third := entering(t.Context(), g, "other", room/2+1), entering(t.Context(), g, "third", room/2+2)
	held.Leave()
	place := <-greedy[0]
	if place.Leave(); len(greedy[1]) > 0 {
		t.Error("the first owner was served twice")
	}
	place = <-other
	place.Leave()
	place = <-third
	if place.Leave(); len(greedy[2]) > 0 {
		t.Error("the first owner was served more than once in a turn")
	}
	for _, one := range greedy[1:] {
		(<-one).Leave()
	}
	if g.free != 1 || g.waiting != 0 || g.kinds[0].owners.Len() != 0 || len(g.kinds[0].by) != 0 {
		t.Errorf("%d places are free, %d wait", g.free, g.waiting)
	}
}

// TestGateStrangers: however many addresses have waiting requests, an account gets every second
// place, and room.
func TestGateStrangers(t *testing.T) {
	const room = 40
	g := NewGate(1, room)
	held := mustEnter(t, g)
	strangers := make(chan *Place, room)
	taken := 0
	for n := range room {
		granted := make(chan bool, 1)
		go func() {
			place, ok := g.Enter(t.Context(), Owner{Name: fmt.Sprint(n), Address: true})
			if granted <- ok; ok {
				strangers <- place
			}
		}()
		for g.Waiting() == taken && len(granted) == 0 { // until it waits, or is refused
		}
		taken = g.Waiting()
	}
	if taken > room/2 {
		t.Fatalf("%d addresses wait", taken)
	}
	const requests = 6
	var account []chan *Place
	for n := range requests {
		account = append(account, entering(t.Context(), g, "account", taken+n+1))
	}
	held.Leave()
	got := 0
	for range 2 * requests { // places
		select {
		case place := <-strangers:
			place.Leave()
		case place := <-account[got]:
			if got++; got == requests {
				return
			}
			place.Leave()
		}
	}
	t.Errorf("%d of %d places", got, 2*requests)
}

// TestGateReturn checks that a request that returns from a wait passes before new requests, and
// needs no place in the queue.
func TestGateReturn(t *testing.T) {
	g := NewGate(1, 1)
	away := mustEnter(t, g)
	away.Leave()
	other := mustEnter(t, g)
	fresh := entering(t.Context(), g, "other", 1)
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
	gone := entering(ctx, g, "gone", 1)
	cancel()
	if <-gone != nil {
		t.Error("it got a place")
	}
	next := entering(t.Context(), g, "other", 1)
	held.Leave()
	(<-next).Leave()
	if g.free != 1 || g.waiting != 0 || g.kinds[0].owners.Len() != 0 || len(g.kinds[0].by) != 0 {
		t.Errorf("%d places are free, %d wait", g.free, g.waiting)
	}
	var none *Place
	none.Leave()
	none.Return(ctx)
}
