package payments

import (
	"testing"

	"payledger/eventstore"
)

// TestTurns: those who want to change a payment come in the order in which they asked, no more than maxWaiting wait, and
// nothing is remembered of a payment for which nobody waits.
func TestTurns(t *testing.T) {
	t.Parallel()
	all, key := newTurns(), eventstore.Payments.Key("account", "payment")
	held, ok := all.take(key)
	if _, again := all.take(key); !ok || again {
		t.Fatal("the turn was taken twice, or never")
	}
	if other, ok := all.take(eventstore.Payments.Key("account", "another")); !ok {
		t.Error("another payment's turn is taken")
	} else {
		other.pass()
	}
	var queue []chan struct{}
	for range maxWaiting {
		_, next, ok := all.join(key)
		if !ok || next == nil {
			t.Fatal("no place in the queue")
		}
		queue = append(queue, next)
	}
	if _, _, ok := all.join(key); ok {
		t.Error("the queue has no end")
	}
	held.leave(queue[1]) // its caller went away
	for i, next := range queue {
		if i == 1 {
			continue
		}
		held.pass()
		select {
		case <-next:
		default:
			t.Fatalf("place %d was passed over", i)
		}
	}
	_, late, _ := all.join(key)
	held.leave(queue[len(queue)-1]) // it went away when the turn was its own: the next has it
	select {
	case <-late:
	default:
		t.Error("the turn was lost")
	}
	held.pass()
	if len(all.by) != 0 {
		t.Errorf("%d payments are remembered", len(all.by))
	}
}
