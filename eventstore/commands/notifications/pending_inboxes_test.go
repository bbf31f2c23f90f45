package notifications

import (
	"fmt"
	"testing"

	"payledger/domain"
)

// TestEarly checks that of too many waiting payments only the newest are remembered, and that a
// payment that waits no longer is forgotten.
func TestEarly(t *testing.T) {
	var e pendingInboxes
	name := func(i int) domain.PaymentID { return domain.PaymentID(fmt.Sprint("p-", i)) }
	for i := range 3 * maxPendingInboxes {
		e.set(name(i), true)
		if !e.has(name(i)) || i >= maxPendingInboxes/2 && !e.has(name(i-maxPendingInboxes/2+1)) {
			t.Fatalf("a new one is not remembered after %d", i)
		}
		if n := len(e.young) + len(e.old); n > maxPendingInboxes {
			t.Fatalf("%d are remembered", n)
		}
	}
	if e.has(name(0)) {
		t.Error("the oldest is remembered")
	}
	e.set(name(3*maxPendingInboxes-1), false)
	e.set(name(3*maxPendingInboxes-maxPendingInboxes/2-1), false)
	if e.has(name(3*maxPendingInboxes-1)) || e.has(name(3*maxPendingInboxes-maxPendingInboxes/2-1)) {
		t.Error("one that waits no longer is remembered")
	}
	kept := name(3*maxPendingInboxes - maxPendingInboxes/2 - 2)
	for range maxPendingInboxes { // the same payment is added again and again
		e.set(kept, true)
	}
	if !e.has(kept) {
		t.Error("the same again pushes itself out")
	}
}
