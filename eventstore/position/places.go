package position

import (
	"slices"
	"sync"

	"payledger/eventstore"
)

// Places are, for each shard, the address of the last event that something is done with. Create
// them with NewPlaces.
type Places struct {
	mu        sync.Mutex
	addresses []uint64
	count     int // events since restart
}

// NewPlaces returns places at addresses.
func NewPlaces(addresses []uint64) *Places { return &Places{addresses: slices.Clone(addresses)} }

// Advance moves the places past events.
func (p *Places) Advance(events []*eventstore.Recorded) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range events {
		p.addresses[r.Shard] = max(p.addresses[r.Shard], r.Seq)
	}
	p.count += len(events)
}

// Raise moves the places to later addresses. Places of shards without one stay.
func (p *Places) Raise(to []uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for shard := range min(len(p.addresses), len(to)) {
		p.addresses[shard] = max(p.addresses[shard], to[shard])
	}
}

// At returns the addresses.
func (p *Places) At() []uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.addresses)
}

func (p *Places) restart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count = 0
}

// events returns the number of events since restart.
func (p *Places) events() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}
