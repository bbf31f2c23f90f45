package checkpointlog

import (
	"context"
	"errors"
	"fmt"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
)

// marksKept is the number of cached checkpoints, of some 300 bytes each. Positions are looked up
// together with their neighbours.
const marksKept = 8192

// Order is the order of the events that one checkpoint covers.
type Order struct {
	log  *Log
	last checkpoint.Checkpoint // the zero value covers no event
}

// Order returns the order that the newest checkpoint has fixed. It does not wait for a checkpoint.
// If the shard is damaged, the checkpoints before the damage count: their positions stay.
func (l *Log) Order(ctx context.Context) (Order, error) {
	o := Order{log: l}
	err := l.Shard.CatchUp(ctx)
	newest, _, damage := l.Shard.Newest()
	if damage != nil {
		err = nil
	}
	if err == nil && newest.Events > 0 {
		o.last, err = l.Mark(ctx, newest.Events)
	}
	return o, err
}

// Checkpoint returns the number of the checkpoint that fixed the order; 0 if there is none.
func (o Order) Checkpoint() uint64 { return o.last.Number }

// Size returns the number of events that have a position.
func (o Order) Size() uint64 { return o.last.Size }

// Position returns the event's place in the log, from 1; false while no checkpoint covers the
// event.
func (o Order) Position(ctx context.Context, r *format.Recorded) (uint64, bool, error) {
	if r.Shard < 0 || r.Shard >= o.log.Shards || r.Number > o.last.EventsOf(r.Shard) {
		return 0, false, nil
	}
	before, err := o.search(ctx, func(c checkpoint.Checkpoint) bool { return c.EventsOf(r.Shard) < r.Number })
	var covering checkpoint.Checkpoint // covers the event
	if err == nil {
		covering, err = o.log.Mark(ctx, before.Number+1)
	}
	if err != nil {
		return 0, false, fmt.Errorf("eventstore: position of %s revision %d: %w", r.Key, r.Revision, err)
	}
	position := before.Size + r.Number - before.EventsOf(r.Shard)
	for shard := range r.Shard {
		position += covering.EventsOf(shard) - before.EventsOf(shard)
	}
	return position, true, nil
}

func (o Order) search(ctx context.Context, before func(checkpoint.Checkpoint) bool) (checkpoint.Checkpoint, error) {
	return checkpoint.Search(o.last.Number, func(number uint64) (checkpoint.Checkpoint, error) { return o.log.Mark(ctx, number) }, before)
}

// Mark returns the counts, the last groups and the place of a checkpoint, by its number.
func (l *Log) Mark(ctx context.Context, number uint64) (checkpoint.Checkpoint, error) {
	if c, known := l.marks.Get(number); known {
		return c, nil
	}
	return l.At(ctx, number)
}

// keep caches what Mark returns of a checkpoint.
func (l *Log) keep(c checkpoint.Checkpoint) {
	l.marks.Put(c.Number, checkpoint.Checkpoint{Number: c.Number, Place: c.Place, Size: c.Size, LastSeq: c.LastSeq, Events: c.Events})
}

// leavesAtOnce is the largest number of events that several checkpoints of a batch cover. A batch
// reads each shard once.
const leavesAtOnce = 4096

var errLeavesRead = errors.New("eventstore: enough leaves")

// Leaves calls visit with the hashes of the events at the positions from+1 to through, in their
// order. These hashes are the leaves number from to through−1 of the Merkle tree.
func (o Order) Leaves(ctx context.Context, from, through uint64, visit func(format.Hash) error) error {
	if through > o.last.Size {
		return fmt.Errorf("%w: position %d", fault.ErrNotFound, through)
	}
	before, err := o.search(ctx, func(c checkpoint.Checkpoint) bool { return c.Size <= from })
	for err == nil && from < through {
		var path []checkpoint.Checkpoint
		if path, err = o.path(ctx, before, through); err != nil {
			return err
		}
		end, place := path[len(path)-1], before.Size
		err = o.batch(ctx, before, path, func(h format.Hash) error {
			switch place++; {
			case place <= from:
				return nil
			case place > through:
				return errLeavesRead
			}
			return visit(h)
		})
		if errors.Is(err, errLeavesRead) {
			return nil
		}
		before, from = end, max(from, end.Size)
	}
	return err
}

// path returns the checkpoints of the next batch after before: one of any size, or several that
// cover at most leavesAtOnce events.
func (o Order) path(ctx context.Context, before checkpoint.Checkpoint, through uint64) (path []checkpoint.Checkpoint, err error) {
	for last := before; last.Size < through; path = append(path, last) {
		if last, err = o.log.Mark(ctx, last.Number+1); err != nil {
			return nil, err
		}
		if len(path) > 0 && last.Size-before.Size > leavesAtOnce {
			break
		}
	}
	return path, nil
}

// batch visits the events of the checkpoints of a path that follows before. A single checkpoint can
// be large: its hashes are not kept.
func (o Order) batch(ctx context.Context, before checkpoint.Checkpoint, path []checkpoint.Checkpoint, visit func(format.Hash) error) error {
	end := path[len(path)-1]
	kept := make([][]format.Hash, o.log.Shards)
	for shard := range kept {
		keep := func(h format.Hash) error { kept[shard] = append(kept[shard], h); return nil }
		if len(path) == 1 {
			keep = visit
		}
		if err := o.log.hashes(ctx, shard, before, end, keep); err != nil {
			return err
		}
	}
	if len(path) == 1 {
		return nil
	}
	for _, to := range path {
		for shard := range kept {
			n := to.EventsOf(shard) - before.EventsOf(shard)
			if n > uint64(len(kept[shard])) {
				return fmt.Errorf("%w: checkpoint %d covers %d events of shard %d, and the log has %d", fault.ErrUnhealthy, to.Number, n, shard, len(kept[shard]))
			}
			for _, h := range kept[shard][:n] {
				if err := visit(h); err != nil {
					return err
				}
			}
			kept[shard] = kept[shard][n:]
		}
		before = to
	}
	return nil
}

func (l *Log) hashes(ctx context.Context, shard int, before, end checkpoint.Checkpoint, visit func(format.Hash) error) error {
	return l.Groups(ctx, shard, before.LastGroup(shard)+1, end.LastGroup(shard), func(g *format.Group) error {
		for _, r := range g.Frames {
			if err := visit(r.Hash); err != nil {
				return err
			}
		}
		return nil
	})
}
