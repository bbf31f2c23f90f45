package projections

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// ErrStopped means that the projection applies nothing any more: it was stopped, or it failed (Healthy returns the
// failure).
var ErrStopped = errors.New("projections: stopped")

// progress has the positions of the read model, and lets callers wait for them.
type progress struct {
	mu      sync.Mutex
	seqs    []uint64
	changed []chan struct{} // per shard: closed and replaced whenever its sequence grows
	stopped chan struct{}   // closed when the projection ends
	hurry   chan struct{}   // holds a signal when a caller has begun to wait
	waiting atomic.Int64    // callers
	ended   bool
	failure error
}

func newProgress(seqs []uint64) *progress {
	p := &progress{seqs: seqs, stopped: make(chan struct{}), hurry: make(chan struct{}, 1)}
	for range seqs {
		p.changed = append(p.changed, make(chan struct{}))
	}
	return p
}

// publish sets the committed positions, and wakes the callers that wait for them.
func (p *progress) publish(seqs []uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for shard, seq := range seqs {
		if seq > p.seqs[shard] {
			p.seqs[shard] = seq
			close(p.changed[shard])
			p.changed[shard] = make(chan struct{})
		}
	}
}

// stop ends the projection; failure is the reason, or nil for an orderly end.
func (p *progress) stop(failure error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.ended, p.failure = true, failure
		close(p.stopped)
	}
}

func (p *progress) err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failure
}

func (p *progress) at(shard int) (uint64, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seqs[shard], p.changed[shard]
}

// wait returns when shard has been applied up to seq.
func (p *progress) wait(ctx context.Context, shard int, seq uint64) error {
	if shard < 0 || shard >= len(p.changed) {
		return fmt.Errorf("projections: there is no shard %d", shard)
	}
	if at, _ := p.at(shard); at >= seq {
		return nil
	}
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	select {
	case p.hurry <- struct{}{}:
	default: // another caller has sent the signal
	}
	for {
		at, changed := p.at(shard)
		if at >= seq {
			return nil
		}
		select {
		case <-changed:
		case <-p.stopped:
			if at, _ = p.at(shard); at >= seq {
				return nil
			}
			if failure := p.err(); failure != nil {
				return fmt.Errorf("%w: %w", ErrStopped, failure)
			}
			return ErrStopped
		case <-ctx.Done():
			return fmt.Errorf("projections: shard %d is at %d, waiting for %d: %w", shard, at, seq, ctx.Err())
		}
	}
}

// WaitFor returns when this node's read model shows the event at seq of shard and every event before it. It fails with
// ctx's error, or with ErrStopped if the event will not be applied.
func (p *Projections) WaitFor(ctx context.Context, shard int, seq uint64) error {
	return p.progress.wait(ctx, shard, seq)
}

// CaughtUp returns when the read model shows every event that was in the log at the call. It fails as WaitFor does.
func (p *Projections) CaughtUp(ctx context.Context) error {
	for shard := range p.Store.Shards() {
		if err := p.shardCaughtUp(ctx, shard); err != nil {
			return err
		}
	}
	return nil
}

func (p *Projections) shardCaughtUp(ctx context.Context, shard int) error {
	last, err := p.Store.LastSeq(ctx, shard)
	if err != nil {
		return fmt.Errorf("projections: the end of the log: %w", err)
	}
	return p.progress.wait(ctx, shard, last)
}
