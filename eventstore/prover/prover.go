package prover

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"payledger/eventstore"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/due"
	"payledger/eventstore/ordered"
)

// Config has the parts of a prover.
type Config struct {
	Store    ordered.Store
	Signer   note.Signer // signs checkpoints
	Key      string      // the verifier key of Signer
	File     string      // of the stored hashes
	ReadOnly bool        // nothing is written
	Wait     time.Duration
	Logger   zerolog.Logger
}

// Prover makes proofs. All methods may be called from many goroutines.
type Prover struct {
	Config
	hashes *tree
	behind chan struct{} // hashes are missing
}

// New prepares a prover. A file that cannot be opened is logged, and replaced by memory.
func New(c Config) *Prover {
	t, err := openTree(c.File, !c.ReadOnly)
	if err != nil {
		c.Logger.Warn().Err(err).Msg("the hashes for proofs stay in memory")
	}
	return &Prover{Config: c, hashes: t, behind: make(chan struct{}, 1)}
}

// VerifierKey returns the key that checks proofs and checkpoints.
func (p *Prover) VerifierKey() string { return p.Key }

// Close writes the hashes to the file. A failure is logged: the next start reads missing hashes
// from the log.
func (p *Prover) Close() {
	if err := p.hashes.close(); err != nil {
		p.Logger.Warn().Err(err).Msg("the hashes for proofs were not written")
	}
}

// Run reads missing hashes from the log until ctx ends.
func (p *Prover) Run(ctx context.Context) error {
	p.behind <- struct{}{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.behind:
			order, err := p.Store.Checkpoints().Order(ctx)
			if err == nil {
				err = p.extend(ctx, order)
			}
			if err != nil && ctx.Err() == nil {
				p.Logger.Warn().Err(err).Msg("the hashes for proofs are not complete; the next checkpoint tries again")
			}
		}
	}
}

// Covered takes the hashes of a checkpoint that was written: of the events after the first `before`
// ones. It never waits.
func (p *Prover) Covered(before uint64, hashes []eventstore.Hash) {
	t := p.hashes
	if t.mu.TryLock() {
		defer t.mu.Unlock()
		if t.size() == int64(before) {
			for _, h := range hashes {
				if err := p.add(h); err != nil {
					p.Logger.Warn().Err(err).Msg("a hash for proofs was not added")
					break
				}
			}
			return
		}
	}
	due.Signal(p.behind)
}

func (p *Prover) extend(ctx context.Context, order checkpointlog.Order) error {
	p.hashes.mu.Lock()
	defer p.hashes.mu.Unlock()
	return p.extendLocked(ctx, order)
}

// extendLocked is extend with the tree's lock held.
func (p *Prover) extendLocked(ctx context.Context, order checkpointlog.Order) error {
	t := p.hashes
	if t.tiles*tile > int64(order.Size()) { // a checkpoint since then, or another log
		newest, err := p.Store.Checkpoints().Order(ctx)
		if err != nil {
			return err
		}
		if t.tiles*tile > int64(newest.Size()) {
			if err := t.reset(); err != nil {
				return err
			}
		}
	}
	if t.size() >= int64(order.Size()) {
		return nil
	}
	err := order.Leaves(ctx, uint64(t.size()), order.Size(), p.add)
	p.flush()
	return err
}

// add appends the leaf of an event. The tree's lock is held.
func (p *Prover) add(h eventstore.Hash) error {
	err := p.hashes.add(leafOf(h))
	if len(p.hashes.memory) >= flushAt {
		p.flush()
	}
	return err
}

// flush writes hashes to the file; after an error they stay in memory.
func (p *Prover) flush() {
	if err := p.hashes.flush(); err != nil {
		p.Logger.Warn().Err(err).Msg("the hashes for proofs were not written; they are in memory")
	}
}

// reader serves the hashes of the tree over the first events of an order. The tree's lock is held.
type reader struct {
	ctx   context.Context
	p     *Prover
	order checkpointlog.Order
	tiles map[int64][]tlog.Hash // leaves that were read, by subtree
}

// ReadHashes returns nodes by their tlog numbers.
func (r *reader) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		level, n := tlog.SplitStoredHashIndex(index)
		var err error
		if level >= tileLevel {
			var found []tlog.Hash
			if found, err = r.p.hashes.stored([]int64{tlog.StoredHashIndex(level-tileLevel, n)}); err == nil {
				hashes[i] = found[0]
			}
		} else {
			hashes[i], err = r.belowTile(level, n)
		}
		if err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

// belowTile returns a node below the stored ones, from the leaves of its subtree.
func (r *reader) belowTile(level int, n int64) (tlog.Hash, error) {
	first := n << level // leaf
	number := first / tile
	leaves, read := r.tiles[number]
	if !read {
		from, through := number*tile, min((number+1)*tile, int64(r.order.Size()))
		err := r.order.Leaves(r.ctx, uint64(from), uint64(through), func(h eventstore.Hash) error {
			leaves = append(leaves, leafOf(h))
			return nil
		})
		if err != nil {
			return tlog.Hash{}, err
		}
		r.tiles[number] = leaves
	}
	start := first - number*tile
	if start+1<<level > int64(len(leaves)) {
		return tlog.Hash{}, fmt.Errorf("%w: the log has no event at position %d", eventstore.ErrUnhealthy, number*tile+int64(len(leaves))+1)
	}
	return rootOf(leaves[start : start+1<<level]), nil
}
