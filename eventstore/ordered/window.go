package ordered

import (
	"context"
	"fmt"
	"slices"

	"payledger/eventstore"
	"payledger/eventstore/checkpoint"
	"payledger/eventstore/format"
)

// ReadNear is Read that leaves out checkpoints without an event of a window. So handle is called
// with every event of the window, whatever the clocks of the nodes said, and with some around it.
func (l *Log) ReadNear(ctx context.Context, w eventstore.Window, after uint64, handle func(Event) error) (uint64, error) {
	newest, err := l.newest(ctx, after)
	if err != nil {
		return after, err
	}
	near, err := l.near(ctx, w, newest)
	if err != nil {
		return after, err
	}
	return l.readTo(ctx, after, newest, near, handle)
}

// parts are stretches of each shard, oldest first. nil stands for all groups.
type parts [][]format.Stretch

// near returns the parts of the log up to a checkpoint that hold all events of a window.
func (l *Log) near(ctx context.Context, w eventstore.Window, newest checkpoint.Checkpoint) (parts, error) {
	if w == (eventstore.Window{}) {
		return nil, nil
	}
	all := make(parts, l.store.Shards())
	for shard := range all {
		var err error
		if all[shard], err = l.store.Near(ctx, shard, newest.LastGroup(shard), w); err != nil {
			return nil, fmt.Errorf("ordered: %w", err)
		}
	}
	return all, nil
}

// between reports whether a group behind a checkpoint, up to a later one, is in the parts.
func (p parts) between(before, through checkpoint.Checkpoint) bool {
	for shard, stretches := range p {
		i, _ := slices.BinarySearchFunc(stretches, before.LastGroup(shard), func(s format.Stretch, group uint64) int {
			if s.Last <= group {
				return -1
			}
			return 1
		})
		if i < len(stretches) && stretches[i].First <= through.LastGroup(shard) {
			return true
		}
	}
	return p == nil
}

// pass returns the last checkpoint up to which no group behind a checkpoint is in the parts.
func (l *Log) pass(ctx context.Context, before, newest checkpoint.Checkpoint, p parts) (checkpoint.Checkpoint, error) {
	return checkpoint.Search(newest.Number, func(number uint64) (checkpoint.Checkpoint, error) { return l.checkpoint(ctx, number) },
		func(c checkpoint.Checkpoint) bool { return c.Number <= before.Number || !p.between(before, c) })
}
