package position

import (
	"context"
	"slices"
	"sync"
	"time"

	"payledger/eventstore"
)

// Every is the time between two writes of a position.
const Every = 250 * time.Millisecond

// Stream is the part of sidelog.Positions that stores positions.
type Stream interface {
	Save(ctx context.Context, reader string, at []uint64) error
}

// Position is the position of one reader: for each shard, the address of the last event that the reader is done with.
type Position struct {
	reader string
	stream Stream

	mu sync.Mutex
	at []uint64

	saving  sync.Mutex
	durable []uint64
}

// New returns a reader's position, loaded from the stream.
func New(reader string, s Stream, loaded []uint64) *Position {
	return &Position{reader: reader, stream: s, at: slices.Clone(loaded), durable: loaded}
}

// Advance moves the position past events.
func (p *Position) Advance(events []*eventstore.Recorded) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range events {
		p.at[r.Shard] = max(p.at[r.Shard], r.Seq)
	}
}

// At returns the position.
func (p *Position) At() []uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.at)
}

// Save writes the position if it changed, and returns the durable position. A failure does no harm: the next call tries again.
func (p *Position) Save(ctx context.Context) ([]uint64, error) {
	p.saving.Lock()
	defer p.saving.Unlock()
	at := p.At()
	if !slices.Equal(at, p.durable) {
		if err := p.stream.Save(ctx, p.reader, at); err != nil {
			return p.durable, err
		}
		p.durable = at
	}
	return p.durable, nil
}

// Run calls save periodically until ctx ends. save calls Position.Save.
func Run(ctx context.Context, save func(context.Context)) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			save(ctx)
		}
	}
}
