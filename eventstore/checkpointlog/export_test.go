package checkpointlog

import (
	"context"

	"payledger/eventstore/checkpoint"
)

// EdgePath returns the number of checkpoints after the last one whose edge is known.
func (l *Log) EdgePath(ctx context.Context, base checkpoint.Checkpoint) (int, error) {
	c, err := l.Last(ctx)
	if err != nil {
		return 0, err
	}
	c.Edge = nil
	_, path, err := l.knownEdge(ctx, base, c)
	return len(path), err
}

// WithEdge returns the newest checkpoint with its edge, computed from an older edge and the events
// since.
func (l *Log) WithEdge(ctx context.Context, base checkpoint.Checkpoint) (checkpoint.Checkpoint, error) {
	c, err := l.Last(ctx)
	if err != nil {
		return c, err
	}
	return l.withEdge(ctx, base, c)
}

// Put appends a checkpoint as it is, behind the newest one.
func (l *Log) Put(ctx context.Context, c checkpoint.Checkpoint) (checkpoint.Checkpoint, error) {
	newest, _, _ := l.Shard.Newest()
	return l.put(ctx, c, newest.Events, true)
}

// LeavesAtOnce is leavesAtOnce.
const LeavesAtOnce = leavesAtOnce

// Batches returns the checkpoints of each batch in which Leaves reads all events.
func (o Order) Batches(ctx context.Context) (batches [][]checkpoint.Checkpoint, err error) {
	var before checkpoint.Checkpoint
	for before.Size < o.last.Size {
		path, err := o.path(ctx, before, o.last.Size)
		if err != nil {
			return nil, err
		}
		batches, before = append(batches, path), path[len(path)-1]
	}
	return batches, nil
}
