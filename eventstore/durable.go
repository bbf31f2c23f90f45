package eventstore

import "sync"

// durability is the highest sequence of a stream that is known to be on the disk. It is the highest acknowledged sequence,
// because a stream of one replica syncs in order.
type durability struct {
	mu      sync.Mutex
	acked   uint64
	changed chan struct{} // closed and replaced whenever acked grows
}

func newDurability() *durability { return &durability{changed: make(chan struct{})} }

func (d *durability) raise(seq uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if seq <= d.acked {
		return
	}
	d.acked = seq
	close(d.changed)
	d.changed = make(chan struct{})
}

// newest returns the highest sequence that is known to be durable.
func (d *durability) newest() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.acked
}

// reached reports whether seq is durable. The channel closes at the next change.
func (d *durability) reached(seq uint64) (bool, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return seq <= d.acked, d.changed
}
