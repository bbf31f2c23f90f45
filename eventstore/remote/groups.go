package remote

import (
	"context"
	"errors"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

// checkpointBefore returns the newest checkpoint up to an end of their shard; the zero value if
// there is none.
func (l *Log) checkpointBefore(ctx context.Context, end format.Head) (c checkpoint.Checkpoint, err error) {
	if end.Events == 0 {
		return c, nil
	}
	stream := streams.Shard(streams.CheckpointShard)
	r, err := checkpoint.Locate(stream, end.Events, end.Seq, end.Events, end.Seq, func(seq uint64) (*format.Group, error) {
		return l.groupAtLeader(ctx, streams.CheckpointShard, seq)
	})
	if err != nil {
		return c, err
	}
	if c, err = checkpoint.Of(r); err == nil {
		err = c.CheckShards(l.Shards)
	}
	if err != nil {
		err = fault.Damage(stream, format.GroupOf(r.Seq), err)
	}
	return c, err
}

// groupAtLeader returns a group as the leader of its stream has it. A missing one is damage, unless
// the leader is without its cluster.
func (l *Log) groupAtLeader(ctx context.Context, shard int, seq uint64) (*format.Group, error) {
	segments, configs := l.Segments(shard), l.configs()
	for i := len(segments) - 1; i >= 0; i-- {
		if configs[segments[i]].FirstSeq > seq {
			continue
		}
		m, err := l.AtLeader(ctx, segments[i], seq)
		if errors.Is(err, fault.ErrNotFound) {
			err = fault.Damage(segments[i], seq, errors.New("the message is missing"))
		}
		if err != nil {
			return nil, err
		}
		return parsed(segments[i], shard, m)
	}
	return nil, fault.Damage(streams.Name(shard, 1), seq, errors.New("the stream is gone"))
}

// parsed returns the group in a message of a stream.
func parsed(stream string, shard int, m stored.Message) (*format.Group, error) {
	g, err := format.ParseGroupAt(shard, m.Seq, m.Body)
	if err != nil {
		return nil, fault.Damage(stream, m.Seq, err)
	}
	return g, nil
}
