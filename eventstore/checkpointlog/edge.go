package checkpointlog

import (
	"context"

	"payledger/eventstore/checkpoint"
)

// withEdge returns c with the edge of its tree. If c lacks it, the last known edge and the events
// after that checkpoint give it. base is an earlier checkpoint with its edge, or the zero value.
func (l *Log) withEdge(ctx context.Context, base, c checkpoint.Checkpoint) (checkpoint.Checkpoint, error) {
	switch {
	case c.Size == 0:
		return c, nil
	case len(c.Edge) > 0: // it is not a part of the signed text
		return c, c.CheckEdge()
	}
	before, path, err := l.knownEdge(ctx, base, c)
	if err != nil {
		return c, err
	}
	t := before.Tree()
	for i := len(path) - 1; i >= 0; i-- {
		if err := l.grow(ctx, t, before, path[i]); err != nil {
			return c, err
		}
		before = path[i]
	}
	c.Edge = t.Edge()
	return c, c.CheckEdge()
}

// knownEdge returns the last checkpoint up to c whose edge is known, not before base, and in path
// the checkpoints after it, from c down.
func (l *Log) knownEdge(ctx context.Context, base, c checkpoint.Checkpoint) (before checkpoint.Checkpoint, path []checkpoint.Checkpoint, err error) {
	for before = c; len(before.Edge) == 0; {
		if path = append(path, before); before.Number <= base.Number+1 {
			return base, path, nil
		}
		if before, err = l.At(ctx, before.Number-1); err != nil {
			return before, nil, err
		}
	}
	return before, path, before.CheckEdge()
}

func (l *Log) grow(ctx context.Context, t *checkpoint.Tree, before, to checkpoint.Checkpoint) error {
	for shard := range l.Shards {
		if err := l.hashes(ctx, shard, before, to, t.Add); err != nil {
			return err
		}
	}
	return nil
}
