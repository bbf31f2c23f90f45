package eventstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/note"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/format"
	"payledger/eventstore/jetapi"
)

const (
	// checkpointDelay is the wait after a new event before the next checkpoint is written: I2 allows 250 ms after quiet, the
	// write included.
	checkpointDelay = 100 * time.Millisecond
	// checkpointEvery is how often checkpoints are written under load.
	checkpointEvery = time.Second
)

// Checkpointer writes checkpoints. Every node runs one; the compare-and-swap on the stream decides
// whose checkpoint stands, and the others go on from it.
type Checkpointer struct {
	store   *Store
	signer  note.Signer
	reader  *Reader
	newest  checkpoint.Checkpoint
	pending [][]leaf // per shard, in order, after newest

	// Covered, if set, is called after each checkpoint that this process wrote, with the hashes of the events after the first
	// `before` ones. It must not wait. Set it before Run.
	Covered func(before uint64, hashes []Hash)
}

// leaf is what a checkpoint needs of an event.
type leaf struct {
	seq    uint64 // of its group
	number uint64
	ends   bool // it is the last of its group
	hash   Hash
}

// NewCheckpointer prepares to go on from the newest checkpoint. Register it before the fan-out runs.
func NewCheckpointer(ctx context.Context, store *Store, fanout *Fanout, signer note.Signer) (*Checkpointer, error) {
	newest, err := store.LastCheckpoint(ctx)
	if err == nil {
		newest, err = store.withEdge(ctx, newest)
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	return &Checkpointer{
		store: store, signer: signer, newest: newest,
		reader: fanout.Reader("checkpoints", newest.Covered()), pending: make([][]leaf, store.shards),
	}, nil
}

// Run writes a checkpoint soon after every new event, until ctx ends, and then a last one for the events that it has
// received. The next start covers the others. Run returns an error only if the existing checkpoints are damaged.
func (c *Checkpointer) Run(ctx context.Context) error {
	defer c.reader.Stop()
	var due <-chan time.Time
	var written time.Time
	for {
		select {
		case e := <-c.reader.events:
			c.take(e)
			if due == nil {
				due = time.After(max(checkpointDelay, checkpointEvery-time.Since(written)))
			}
		case <-due:
			due, written = nil, time.Now()
			err := c.write(ctx)
			if errors.Is(err, ErrUnhealthy) {
				return err
			}
			if err != nil && ctx.Err() == nil {
				c.store.log.Warn().Err(err).Msg("checkpoint not written; trying again")
				due = time.After(checkpointDelay)
			}
		case <-ctx.Done():
			return c.last(context.WithoutCancel(ctx))
		}
	}
}

// take notes an event, unless another node's checkpoint covers it already.
func (c *Checkpointer) take(e *Recorded) {
	if seq := format.GroupOf(e.Seq); seq > c.newest.LastGroup(e.Shard) {
		c.pending[e.Shard] = append(c.pending[e.Shard], leaf{seq, e.Number, e.EndsGroup(), e.Hash})
	}
}

func (c *Checkpointer) last(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, jetapi.PublishTimeout)
	defer cancel()
	for {
		select {
		case e := <-c.reader.events:
			c.take(e)
		default:
			return c.write(ctx)
		}
	}
}

// write covers everything that is pending.
func (c *Checkpointer) write(ctx context.Context) error {
	for {
		lastSeq, events, leaves := c.cover()
		if len(leaves) == 0 {
			return nil
		}
		t := c.newest.Tree()
		for _, hash := range leaves {
			if err := t.Add(hash); err != nil {
				return fmt.Errorf("%w: checkpoint %d: %w", ErrUnhealthy, c.newest.Number, err)
			}
		}
		written, err := c.store.writeCheckpoint(ctx, c.signer, c.newest, t, lastSeq, events)
		if err != nil {
			// Another node's came first, or ours did and its answer was lost: go on from what stands there.
			newest, readErr := c.store.newestCheckpoint(ctx)
			if readErr == nil {
				newest, readErr = c.store.withEdge(ctx, newest)
			}
			if readErr != nil || newest.Number <= c.newest.Number { // less: from a leader that was cut off
				return errors.Join(err, readErr)
			}
			written = newest
		} else if c.Covered != nil {
			c.Covered(c.newest.Size, leaves)
		}
		c.dropCovered(written)
	}
}

// cover lists the hashes of the pending events in the order of the next checkpoint, whole groups only.
func (c *Checkpointer) cover() (lastSeq, events []uint64, leaves []Hash) {
	lastSeq, events = make([]uint64, len(c.pending)), make([]uint64, len(c.pending))
	for shard, pending := range c.pending {
		lastSeq[shard], events[shard] = c.newest.LastGroup(shard), c.newest.EventsOf(shard)
		whole := len(pending)
		for whole > 0 && !pending[whole-1].ends {
			whole--
		}
		for _, e := range pending[:whole] {
			lastSeq[shard], events[shard] = e.seq, e.number
			leaves = append(leaves, e.hash)
		}
	}
	return lastSeq, events, leaves
}

// dropCovered goes on from the newest checkpoint, and drops the events that it covers.
func (c *Checkpointer) dropCovered(newest checkpoint.Checkpoint) {
	c.newest = newest
	for shard, events := range c.pending {
		c.pending[shard] = slices.DeleteFunc(events, func(e leaf) bool { return e.seq <= newest.LastSeq[shard] })
	}
}
