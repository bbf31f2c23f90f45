package notifier

import (
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain/processor"
)

// TestReplayOrder: the webhooks of one payment come one after the other, although the receiver is
// slow.
func TestReplayOrder(t *testing.T) {
	t.Parallel()
	var underWay atomic.Int64
	inbox := newReceiver(t, map[string]http.HandlerFunc{"/": func(http.ResponseWriter, *http.Request) {
		if underWay.Add(1) > 1 {
			t.Error("two webhooks of a payment at the same time")
		}
		<-time.After(20 * time.Millisecond) // long enough for another worker
		underWay.Add(-1)
	}})
	r := newLogRig(t)
	r.start()
	s := r.pay(processor.Succeeded)
	r.lead(s.ID, capture(2500, true), answer(succeeded))
	r.isDone(r.replay(all(r.endpoint(inbox.url+"/")), 2), 2)
	hooks := inbox.waitFor(2)
	if !slices.IsSortedFunc(hooks, func(a, b received) int { return int(a.Sequence) - int(b.Sequence) }) {
		t.Errorf("%s came before %s", hooks[0].body, hooks[1].body)
	}
}
