package nodes_test

import (
	"testing"
	"time"

	"payledger/eventstore/clustertest"
)

// TestAhead: a node knows how far its time of day is ahead of that of the NATS servers, or behind
// it, and its monotonic clock changes nothing. It knows the servers' time without its own time of
// day.
func TestAhead(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, 3, nil).Formed(t)
	n := newNode(t, c, "a", 40*time.Hour)
	for _, ahead := range []time.Duration{0, 3 * time.Hour, -3 * time.Hour, 0} {
		n.day.Store(int64(ahead))
		eventually(t, ahead.String(), func() bool {
			got, known := n.Ahead()
			return known && (got-ahead).Abs() < time.Hour // a busy machine delays a beat
		})
		there, known := n.ServerTime()
		if now := time.Now(); !known || there.After(now) || now.Sub(there) > time.Hour {
			t.Errorf("%s ahead: the servers' time is %s, %t, and it is %s", ahead, there, known, now)
		}
	}
}
