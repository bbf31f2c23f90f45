package archive

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"payledger/eventstore/blocks"
	"payledger/eventstore/checkpoint"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/remote"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/sidelog"
)

// Cluster is a log on an external cluster, up to ends that were acknowledged.
type Cluster struct {
	Log         *remote.Log
	Ends        map[int]uint64 // by shard, the records of deliveries included
	Checkpoints uint64
	Secrets     uint64
}

// OfCluster returns the archive of a log on an external cluster. It has no tip store. The caller
// closes the log.
func OfCluster(c Cluster) *Archive {
	return &Archive{Shards: c.Log.Shards, Ends: map[int]format.Head{}, streams: c.Log.Names(), cluster: onCluster{&c}}
}

// Source is a log that is read otherwise than from a server's files. Its methods are those of
// Archive.
type Source interface {
	Inspect(ctx context.Context, damaged Damaged) error
	Groups(ctx context.Context, shard int, from uint64, damaged Damaged, handle func(stream string, g *format.Group) error) error
	Checkpoints(ctx context.Context, damaged Damaged, handle func(stream string, c checkpoint.Checkpoint) error) error
}

// From returns the archive of a log with some shards and streams. It has no tip store.
func From(shards int, streams []string, source Source) *Archive {
	return &Archive{Shards: shards, Ends: map[int]format.Head{}, streams: streams, cluster: source}
}

type onCluster struct{ *Cluster }

// found reports an error that names a place as damage.
func found(err error, damaged Damaged) error {
	var place *fault.Place
	if errors.As(err, &place) {
		return damaged(place.Stream, place.Seq, place.Cause.Error())
	}
	return err
}

// Inspect checks that a destruction names each missing record of SECRETS.
func (c onCluster) Inspect(ctx context.Context, damaged Damaged) error {
	if c.Secrets == 0 {
		return nil
	}
	copied, err := secretlog.NewCopy(ctx, c.Log.Secrets(), c.Secrets)
	if err == nil {
		err = copied.Each(ctx, c.Secrets, func(blocks.Record) error { return nil })
	}
	if err != nil {
		return found(err, damaged)
	}
	if missing, whole := copied.Whole(); !whole {
		return damaged(sidelog.SecretStream, missing, "the record is missing, and no destruction names it")
	}
	return nil
}

// read calls handle with the messages of streams that follow each other, up to an end.
func (c *Cluster) read(ctx context.Context, names []string, from, end uint64, damaged Damaged, handle func(stream string, r blocks.Record) error) error {
	for i, name := range names {
		_, first, err := c.Log.Description(name)
		through := end
		if i+1 < len(names) && err == nil {
			var next uint64
			_, next, err = c.Log.Description(names[i+1])
			through = min(end, next-1)
		}
		if first = max(first, from); err == nil && first <= through {
			err = c.Log.Read(ctx, name, first, through, false, func(r blocks.Record) error { return handle(name, r) })
		}
		if err = found(err, damaged); err != nil {
			return err
		}
	}
	return nil
}

// Groups reads the groups of a shard.
func (c onCluster) Groups(ctx context.Context, shard int, from uint64, damaged Damaged, handle func(stream string, g *format.Group) error) error {
	return c.read(ctx, c.Log.Segments(shard), from, c.Ends[shard], damaged, func(stream string, r blocks.Record) error {
		g, err := format.ParseGroup(bytes.Clone(r.Body))
		if err == nil && (g.Seq != r.Seq || g.Shard != shard) {
			err = errors.New("it is the group of another place")
		}
		if err != nil {
			return damaged(stream, r.Seq, err.Error())
		}
		return handle(stream, g)
	})
}

// Checkpoints reads the checkpoints.
func (c onCluster) Checkpoints(ctx context.Context, damaged Damaged, handle func(stream string, c checkpoint.Checkpoint) error) error {
	var names []string
	for number := uint32(1); slices.Contains(c.Log.Names(), sidelog.Name(checkpoint.Stream, number)); number++ {
		names = append(names, sidelog.Name(checkpoint.Stream, number))
	}
	return c.read(ctx, names, 1, c.Cluster.Checkpoints, damaged, func(stream string, r blocks.Record) error {
		found, err := checkpoint.Parse(bytes.Clone(r.Body))
		if err != nil {
			return damaged(stream, r.Seq, err.Error())
		}
		found.Number = r.Seq
		return handle(stream, found)
	})
}
