package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

// Ends returns ends of all streams that were acknowledged before, and appends nothing. They are of
// different moments, unlike those of Cut. A shard ends before events of the newest checkpoint only
// if the cluster has lost them: such an end is read again, because its leader may be without its
// cluster. A damaged last message is an end, too: the caller reads it.
func (l *Log) Ends(ctx context.Context) (c Cut, err error) {
	if err := l.list(ctx); err != nil {
		return c, err
	}
	covers, newest, err := l.newestCheckpoint(ctx) // before the others: they have all that it covers
	if err != nil {
		return c, l.silent(err)
	}
	for since := time.Now(); ; {
		c.Heads = map[int]format.Head{}
		ends, err := ofAll(l, func(shard int) (end, error) { return l.readableEnd(ctx, shard) })
		reached := err == nil
		for shard, e := range ends {
			c.Heads[shard] = e.head
			reached = reached && (shard >= l.Shards || e.head.Events >= newest.EventsOf(shard))
		}
		switch {
		case reached || err == nil && time.Since(since) >= l.missing:
			c.Heads[streams.CheckpointShard] = covers.head
			c.Secrets, err = l.SecretsEnd(ctx)
			return c, err
		case err != nil && (!errors.Is(err, errSilent) || time.Since(since) >= l.missing):
			return c, l.silent(err)
		}
		if err := errors.Join(due.Rest(ctx, missingPause, nil), l.list(ctx)); err != nil {
			return c, err
		}
	}
}

// newestCheckpoint returns the end of the checkpoints, and the newest one. A damaged one is the
// zero value: the readers report it.
func (l *Log) newestCheckpoint(ctx context.Context) (last end, c checkpoint.Checkpoint, err error) {
	for since := time.Now(); ; {
		if last, err = l.readableEnd(ctx, streams.CheckpointShard); err == nil {
			c, err = l.checkpointBefore(ctx, last.head)
		}
		place := (*fault.Place)(nil)
		damage := errors.As(err, &place)
		switch {
		case !damage && !errors.Is(err, errSilent), !damage && time.Since(since) >= l.missing:
			return last, c, err
		case time.Since(since) >= l.missing:
			return last, checkpoint.Checkpoint{}, nil
		}
		if err := errors.Join(due.Rest(ctx, missingPause, nil), l.list(ctx)); err != nil {
			return last, c, err
		}
	}
}

// readableEnd is end, and a damaged last message is an end, too.
func (l *Log) readableEnd(ctx context.Context, shard int) (end, error) {
	e, err := l.end(ctx, shard)
	var place *fault.Place
	if errors.As(err, &place) && e.head.Seq > 0 {
		err = nil
	}
	return e, err
}

// silent adds the reason to an error without an answer of a server.
func (l *Log) silent(err error) error {
	if errors.Is(err, errSilent) && l.api.Denied() == nil {
		return fmt.Errorf("%w: repeat the command when a majority of the NATS servers is up (%w)", fault.ErrNoMajority, err)
	}
	return l.denied(err)
}

// End returns the end of a shard as its leader has it, in segments that exist now.
func (l *Log) End(ctx context.Context, shard int) (uint64, error) {
	err := l.list(ctx)
	var e end
	if err == nil {
		e, err = l.readableEnd(ctx, shard)
	}
	return e.head.Seq, l.silent(err)
}

// Gone reports whether a stream does not exist any more.
func (l *Log) Gone(ctx context.Context, stream string) (bool, error) {
	err := l.list(ctx)
	_, there := l.configs()[stream]
	return err == nil && !there, err
}

// SecretsEnd returns the last sequence of SECRETS that has a message; 0 without one.
func (l *Log) SecretsEnd(ctx context.Context) (uint64, error) {
	segments, err := secretlog.SegmentsOn(ctx, l.Server())
	if err != nil {
		return 0, l.denied(err)
	}
	last, err := secretlog.End(ctx, l.api, segments)
	return last, l.denied(err)
}

// Secret returns a message of SECRETS as its leader has it; fault.ErrNotFound if there is none.
func (l *Log) Secret(ctx context.Context, seq uint64) (stored.Message, error) {
	segments, err := secretlog.SegmentsOn(ctx, l.Server())
	if err != nil {
		return stored.Message{}, l.denied(err)
	}
	g, there := segments.Find(seq)
	if !there {
		return stored.Message{}, fault.ErrNotFound
	}
	return l.AtLeader(ctx, g.Name(), seq)
}
