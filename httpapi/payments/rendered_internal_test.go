package payments

import (
	"encoding/json"
	"testing"

	"payledger/domain/payment"
)

// TestRendered checks that a payment's JSON is cached for one form and revision, and until an
// erasure.
func TestRendered(t *testing.T) {
	t.Parallel()
	var r rendered
	key, other := renderedKey{account: "a", payment: "p"}, renderedKey{account: "b", payment: "p"}
	want := func(key renderedKey, revision, erasures uint64, body string) {
		t.Helper()
		if got := string(r.get(key, revision, erasures)); got != body {
			t.Errorf("revision %d after %d erasures: %q, expected %q", revision, erasures, got, body)
		}
	}
	put := func(revision, erasures uint64) { r.put(key, rendering{revision, json.RawMessage(`{}`)}, erasures) }
	want(key, 2, 7, "")
	put(2, 7)
	want(key, 2, 7, "{}")
	want(other, 2, 7, "")
	want(key, 3, 7, "")
	want(key, 2, 8, "") // erased
	want(key, 2, 7, "")
	put(2, 6) // opened before an erasure
	want(key, 2, 7, "")
	if len(r.newer)+len(r.older) > 0 {
		t.Error("erased data stays in memory")
	}
}

// TestCacheable checks that the JSON of a payment is not cached while a request has no outcome: at
// the same revision the payment may show a time-out later.
func TestCacheable(t *testing.T) {
	t.Parallel()
	for state, want := range map[payment.OperationState]bool{payment.StateRequested: false, payment.StateUnknown: true} {
		if got := cacheable(payment.State{Operations: []payment.Operation{{State: state}}}); got != want {
			t.Errorf("%s: %v", state, got)
		}
	}
}
