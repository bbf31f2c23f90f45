package checkpointlog

import (
	"context"
	"errors"

	"payledger/eventstore/checkpoint"
)

// edgeKey is the key in the tip store of the newest checkpoint that this process wrote: its number
// and its edge.
const edgeKey = "e"

// keepEdge stores the edge of the newest checkpoint for the next start. Without it a start reads
// some older checkpoints.
func (l *Log) keepEdge(c checkpoint.Checkpoint) {
	if l.ReadOnly {
		return
	}
	batch := l.Tips.NewBatch()
	if err := errors.Join(batch.Set([]byte(edgeKey), c.EncodeEdge()), batch.Commit()); err != nil {
		l.Log.Warn().Err(err).Msg("the edge of the newest checkpoint is not in the tip store")
	}
}

// keptEdge returns the checkpoint number and the edge in the tip store; 0 if there is none.
func (l *Log) keptEdge() (number uint64, edge []checkpoint.Node) {
	value, err := l.Tips.Get([]byte(edgeKey))
	if err != nil {
		return 0, nil
	}
	return checkpoint.ParseEdge(value)
}

// withEdge returns c with the edge of its tree. If c lacks it, the last known edge and the events
// after that checkpoint give it.
func (l *Log) withEdge(ctx context.Context, c checkpoint.Checkpoint) (checkpoint.Checkpoint, error) {
	if c.Size == 0 || len(c.Edge) > 0 {
		return c, nil
	}
	before, path, err := l.knownEdge(ctx, c)
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
	if err := c.CheckEdge(); err != nil {
		return c, err
	}
	l.keepEdge(c)
	return c, nil
}

// knownEdge returns the last checkpoint up to c whose edge is known, else the empty tree, and in
// path the checkpoints after it, from c down.
func (l *Log) knownEdge(ctx context.Context, c checkpoint.Checkpoint) (before checkpoint.Checkpoint, path []checkpoint.Checkpoint, err error) {
	kept, edge := l.keptEdge()
	for before = c; before.Number > 0; {
		if before.Number == kept {
			before.Edge = edge
		}
		if len(before.Edge) > 0 {
			return before, path, before.CheckEdge()
		}
		path = append(path, before)
		if before.Number == 1 {
			break
		}
		if before, err = l.At(ctx, before.Number-1); err != nil {
			return before, nil, err
		}
	}
	return checkpoint.Checkpoint{}, path, nil
}

func (l *Log) grow(ctx context.Context, t *checkpoint.Tree, before, to checkpoint.Checkpoint) error {
	for shard := range l.Shards {
		if err := l.hashes(ctx, shard, before, to, t.Add); err != nil {
			return err
		}
	}
	return nil
}
