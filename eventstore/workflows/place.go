package workflows

import (
	"slices"
	"sync"

	"payledger/eventstore"
)

// place is the planner's position: the present one (log) and the durable one (kept).
type place struct {
	mu   sync.Mutex
	log  []uint64
	kept []uint64
}

// pass moves the position past events whose runs are durable.
func (p *place) pass(events []*eventstore.Recorded) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.kept = slices.Clone(p.log)
	}
	for _, r := range events {
		p.log[r.Shard] = max(p.log[r.Shard], r.Seq)
	}
}

func (p *place) changed() ([]uint64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log), p.kept != nil && !slices.Equal(p.log, p.kept)
}

func (p *place) written(at []uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = at
}
