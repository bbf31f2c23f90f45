package eventstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// checkpointDelay is the wait after a new event before the next checkpoint is written: I2 allows 250 ms,
// the write included.
const checkpointDelay = 100 * time.Millisecond

// Checkpointer writes checkpoints. Every node runs one; the compare-and-swap on the stream decides
// whose checkpoint stands, and the others go on from it.
type Checkpointer struct {
	store   *Store
	signer  note.Signer
	reader  *Reader
	newest  Checkpoint
	pending [][]*Recorded // per shard, in order, after newest
}

// NewCheckpointer prepares to go on from the newest checkpoint. Register it before the fan-out runs.
func NewCheckpointer(ctx context.Context, store *Store, fanout *Fanout, signer note.Signer) (*Checkpointer, error) {
	newest, err := store.LastCheckpoint(ctx)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	return &Checkpointer{
		store: store, signer: signer, newest: newest,
		reader: fanout.Reader("checkpoints", newest.LastSeq), pending: make([][]*Recorded, store.shards),
	}, nil
}

// Run writes a checkpoint soon after every new event, until ctx ends; then once more, so that an orderly
// stop leaves every event covered.
func (c *Checkpointer) Run(ctx context.Context) error {
	defer c.reader.Stop()
	var due <-chan time.Time
	for {
		select {
		case e := <-c.reader.events:
			c.pending[e.Shard] = append(c.pending[e.Shard], e)
			if due == nil {
				due = time.After(checkpointDelay)
			}
		case <-due:
			due = nil
			if err := c.write(ctx); err != nil && ctx.Err() == nil {
				c.store.log.Warn().Err(err).Msg("checkpoint not written; trying again")
				due = time.After(checkpointDelay)
			}
		case <-ctx.Done():
			return c.last(context.WithoutCancel(ctx))
		}
	}
}

func (c *Checkpointer) last(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	for {
		select {
		case e := <-c.reader.events:
			c.pending[e.Shard] = append(c.pending[e.Shard], e)
		default:
			return c.write(ctx)
		}
	}
}

// write covers everything that is pending.
func (c *Checkpointer) write(ctx context.Context) error {
	for {
		lastSeq, leaves := c.cover()
		if len(leaves) == 0 {
			return nil
		}
		t := newTree(c.newest)
		for _, leaf := range leaves {
			if err := t.add(leaf); err != nil {
				return fmt.Errorf("eventstore: checkpoint: %w", err)
			}
		}
		written, err := c.store.writeCheckpoint(ctx, c.signer, c.newest, t, lastSeq)
		if err != nil {
			// Another node's came first, or ours did and its answer was lost: go on from what stands there.
			newest, readErr := c.store.LastCheckpoint(ctx)
			if readErr != nil || newest.Number == c.newest.Number {
				return errors.Join(err, readErr)
			}
			written = newest
		}
		c.advance(written)
	}
}

// cover lists the hashes of the pending events in the order of the next checkpoint.
func (c *Checkpointer) cover() (lastSeq []uint64, leaves []Hash) {
	lastSeq = make([]uint64, len(c.pending))
	for shard, events := range c.pending {
		lastSeq[shard] = c.newest.lastSeq(shard)
		for _, e := range events {
			lastSeq[shard] = e.Seq
			leaves = append(leaves, e.Hash)
		}
	}
	return lastSeq, leaves
}

// advance drops what the newest checkpoint covers.
func (c *Checkpointer) advance(newest Checkpoint) {
	c.newest = newest
	for shard, events := range c.pending {
		c.pending[shard] = slices.DeleteFunc(events, func(e *Recorded) bool { return e.Seq <= newest.LastSeq[shard] })
	}
}
