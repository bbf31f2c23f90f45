package notifier

import (
	"maps"
	"payledger/notifier/delivery"
	"sync"
)

// Tally counts what became of webhooks since the start, for operators.
type Tally struct {
	// Attempts are those that were recorded, manual ones included, by why they failed; "" for those that succeeded.
	Attempts map[delivery.Failure]uint64
	// Ended are the deliveries that came to their end, by how: SUCCEEDED, EXHAUSTED or CANCELLED.
	Ended map[delivery.Status]uint64
}

// tally counts as it happens.
type tally struct {
	mu       sync.Mutex
	attempts map[delivery.Failure]uint64
	ended    map[delivery.Status]uint64
}

func newTally() *tally {
	return &tally{attempts: map[delivery.Failure]uint64{}, ended: map[delivery.Status]uint64{}}
}

// record counts what stands in a delivery's record now that it is durable; before is the status that it had.
func (t *tally) record(before delivery.Status, d delivery.Delivery) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d.Status != delivery.Cancelled || before == delivery.Cancelled {
		t.attempts[d.Attempts[len(d.Attempts)-1].Failure]++
	}
	if d.Status != before && !d.Status.Open() {
		t.ended[d.Status]++
	}
}

// Tally gives the counts as they are now.
func (n *Notifier) Tally() Tally {
	n.tally.mu.Lock()
	defer n.tally.mu.Unlock()
	return Tally{Attempts: maps.Clone(n.tally.attempts), Ended: maps.Clone(n.tally.ended)}
}
