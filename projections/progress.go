package projections

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"payledger/eventstore"
)

// ErrStopped means that the projection applies nothing any more: it was stopped, or it failed as
// Healthy says.
var ErrStopped = errors.New("projections: stopped")

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

// WaitFor returns when this node's read model shows the events of shard up to seq; with ErrStopped
// if it never will.
func (p *Projections) WaitFor(ctx context.Context, shard int, seq uint64) error {
	return p.progress.wait(ctx, shard, seq)
}

// Reach is WaitFor for an address of each shard.
func (p *Projections) Reach(ctx context.Context, position []uint64) error {
	for shard, seq := range position {
		if err := p.WaitFor(ctx, shard, seq); err != nil {
			return err
		}
	}
	return nil
}

// Shown returns when GET shows the event at seq of shard, which this node has read from the log
// (D17). GET reads payments and disputes from the store, and lists wait for themselves, so that
// only the events of other aggregates must reach the read model first.
func (p *Projections) Shown(ctx context.Context, aggregate string, shard int, seq uint64) error {
	switch aggregate {
	case eventstore.Payments.Name, eventstore.Disputes.Name:
		return nil
	}
	return p.WaitFor(ctx, shard, seq)
}

// Positions returns the address of the newest event that this node's read model shows, for each
// shard.
func (p *Projections) Positions() []uint64 {
	p.progress.mu.Lock()
	defer p.progress.mu.Unlock()
	return slices.Clone(p.progress.seqs)
}

// CaughtUp returns when the read model shows every event that any node acknowledged before the
// call. It fails as WaitFor does.
func (p *Projections) CaughtUp(ctx context.Context) error {
	_, err := p.caughtUp(ctx, true)
	return err
}

// KeepUp is CaughtUp without haste: with several nodes it asks them after the next beat
// (nodes.Registry.Ends). The read model shows every event that any node acknowledged more than age
// before the return.
func (p *Projections) KeepUp(ctx context.Context) (age time.Duration, err error) {
	at, err := p.caughtUp(ctx, false)
	return p.Now().Sub(at), err
}

func (p *Projections) caughtUp(ctx context.Context, hurry bool) (at time.Time, err error) {
	ends := p.ends.Load()
	if ends == nil {
		return p.barrier(ctx)
	}
	position, age, err := (*ends)(ctx, hurry)
	if err != nil {
		return at, fmt.Errorf("projections: the end of the log: %w", err)
	}
	at = p.Now().Add(-age)
	for shard, seq := range position {
		if err := p.progress.wait(ctx, shard, seq); err != nil {
			return at, err
		}
	}
	p.freshness.shown(at)
	return at, nil
}

// Ends returns an address for each shard: a node that has applied the log up to there has every
// event that any node acknowledged more than age ago. hurry: age is less than the time of the call.
type Ends func(ctx context.Context, hurry bool) (position []uint64, age time.Duration, err error)

// AskNodes makes CaughtUp ask the other nodes. Before, and without other nodes, it waits for the
// end of the log as Barrier does.
func (p *Projections) AskNodes(ends Ends) { p.ends.Store(&ends) }

// Barrier is CaughtUp by the log itself: with several nodes, it appends an empty group to each
// shard.
func (p *Projections) Barrier(ctx context.Context) error {
	_, err := p.barrier(ctx)
	return err
}

func (p *Projections) barrier(ctx context.Context) (at time.Time, err error) {
	at = p.Now()
	for shard := range p.Store.Shards() {
		if err := p.shardCaughtUp(ctx, shard); err != nil {
			return at, err
		}
	}
	p.freshness.shown(at)
	return at, nil
}

// Lag is how far the read model may be behind the log (D11).
type Lag struct {
	Events uint64        // number that this node knows to be durable and the read model does not show
	Age    time.Duration // the read model shows every event that any node acknowledged earlier than Age before the call
}

// Lag waits until the read model shows the events that this node knows, and returns how far a list
// after the call may be behind. Age is 0 on a log with one writer; on a replicated log it is the
// time since the moment that the newest CaughtUp or KeepUp proved.
func (p *Projections) Lag(ctx context.Context) (Lag, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	now := p.Now()
	at, err := p.Fresh(ctx)
	if err != nil {
		return Lag{}, err
	}
	if err := p.appendedHere(ctx); err != nil {
		return Lag{}, unavailable(err)
	}
	lag := Lag{Age: max(0, now.Sub(at))}
	if done, of := p.Progress(); of > done {
		lag.Events = of - done
	}
	return lag, nil
}

// Fresh returns a time up to which the read model shows every event that any node acknowledged:
// with one writer, that of the call.
func (p *Projections) Fresh(ctx context.Context) (time.Time, error) {
	if p.Store.Sole() {
		return p.Now(), nil
	}
	if p.freshness.at.Load() == nil { // nobody has called CaughtUp yet
		if err := p.CaughtUp(ctx); err != nil {
			return time.Time{}, unavailable(err)
		}
	}
	return *p.freshness.at.Load(), nil
}

// freshness has the newest time of which it is known that the read model shows every event
// acknowledged before it.
type freshness struct{ at atomic.Pointer[time.Time] }

func (f *freshness) shown(t time.Time) {
	for {
		now := f.at.Load()
		if now != nil && !t.After(*now) || f.at.CompareAndSwap(now, &t) {
			return
		}
	}
}

func (p *Projections) shardCaughtUp(ctx context.Context, shard int) error {
	last, err := p.Store.LastSeq(ctx, shard)
	if err != nil {
		return fmt.Errorf("projections: the end of the log: %w", err)
	}
	return p.progress.wait(ctx, shard, last)
}
