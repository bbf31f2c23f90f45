package connector

import (
	"sync"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// TestUsedUp: after the vendor said that it did nothing and never will under a key, a repeat has
// another key, and is done.
func TestUsedUp(t *testing.T) {
	r := newRig(t, time.Hour)
	op := authorization("01p.1", "4242424242424242")
	r.vendor.next = late
	if _, err := r.k.Send(t.Context(), op); err == nil {
		t.Fatal("an answer")
	}
	if l := r.lookup(op.Key); l.State != processor.Unseen {
		t.Fatalf("%+v", l)
	}
	r.vendor.flush() // the first request arrives, and is refused
	if a := r.sent(op); a.State != processor.Succeeded {
		t.Errorf("%+v", a)
	}
	if n, _ := r.vendor.count(op.Key); n != 1 {
		t.Errorf("done %d times", n)
	}
}

// TestLateRepeat: a repeat just before the end of the key's life may still be on its way when the
// key has ended: the vendor gets the time of the newest try.
func TestLateRepeat(t *testing.T) {
	r := newRig(t, time.Hour)
	op := following(processor.Capture, "01p.1", "tx_0", 100)
	r.vendor.next = lostBefore
	if _, err := r.k.Send(t.Context(), op); err == nil {
		t.Fatal("an answer")
	}
	r.now = r.now.Add(59 * time.Minute)
	r.vendor.next = late
	if l := r.lookup(op.Key); l.State != processor.Running {
		t.Fatalf("%+v", l)
	}
	r.now = r.now.Add(2 * time.Minute)
	if l := r.lookup(op.Key); l.State != processor.Running {
		t.Fatalf("a request is on its way: %+v", l)
	}
	r.vendor.flush()
	if l := r.lookup(op.Key); l.State != processor.Known {
		t.Fatalf("%+v", l)
	}
	if n, _ := r.vendor.count(op.Key); n != 1 {
		t.Errorf("done %d times", n)
	}
}

// TestFenceRace: of a request and a fence that come at once, one wins.
func TestFenceRace(t *testing.T) {
	r := newRig(t, time.Hour)
	won := map[processor.LookupState]int{}
	for i := range 200 {
		op := following(processor.Capture, "01p."+time.Duration(i).String(), "tx_0", 100)
		var answer processor.Answer
		var l processor.Lookup
		var group sync.WaitGroup
		group.Go(func() { answer, _ = r.k.Send(t.Context(), op) })
		group.Go(func() { l, _ = r.k.Fence(t.Context(), op.Processor, op.Key) })
		group.Wait()
		r.k.calls.Wait()
		n, _ := r.vendor.count(op.Key)
		won[l.State]++
		if (l.State == processor.Fenced) == (n != 0) || (answer.Code == protocol.CodeFenced) == (n != 0) {
			t.Fatalf("the fence says %s, the answer is %+v, and it was done %d times", l.State, answer, n)
		}
	}
	if won[processor.Fenced]+won[processor.Known]+won[processor.Running] != 200 {
		t.Errorf("%v", won)
	}
}

// TestFenceBehind: a request that is done between the fence's look-up and its record is not fenced.
func TestFenceBehind(t *testing.T) {
	r := newRig(t, time.Hour)
	op := following(processor.Capture, "01p.1", "tx_0", 100)
	r.k.crash = func(step string) error {
		if step == "before the key is fenced" {
			r.sent(op)
		}
		return nil
	}
	if l := r.fence(op.Key); l.State != processor.Known {
		t.Errorf("%+v", l)
	}
}
