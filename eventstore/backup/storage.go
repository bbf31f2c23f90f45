package backup

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"payledger/eventstore/fault"
	"payledger/eventstore/folder"
	"payledger/eventstore/remote"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

type storage interface {
	names() ([]string, error)
	// config returns the configuration of a stream, as a server keeps it in a file, and the
	// stream's first sequence.
	config(stream string) (json.RawMessage, uint64, error)
	// read calls handle with the messages of a part, each once and in their order, from an earlier
	// place than from on. Damage is an error.
	read(ctx context.Context, p part, from uint64, handle func(stored.Message) error) error
	secrets(ctx context.Context) (secretlog.Reader, []string, error)
}

type files struct{ dir string }

func (f files) names() ([]string, error) {
	names, err := folder.Streams(f.dir)
	if err != nil {
		err = fmt.Errorf("backup: %w", err)
	}
	return names, err
}

func (f files) config(stream string) (json.RawMessage, uint64, error) {
	d, err := folder.Describe(f.dir, stream)
	if err != nil {
		err = fault.Damage(stream, 1, err)
	}
	return d.Text, d.First, err
}

func (f files) read(ctx context.Context, p part, from uint64, handle func(stored.Message) error) error {
	found, err := folder.Read(f.dir, p.stream, folder.Reading{
		From: from, Through: p.last, Pace: func(int) error { return ctx.Err() }, Handle: stored.Standing(handle),
	})
	return cmp.Or(err, found.Damage())
}

func (f files) secrets(context.Context) (secretlog.Reader, []string, error) {
	names, err := secretlog.Segments(f.dir)
	return secretlog.InFolder(f.dir), names, err
}

type cluster struct{ log *remote.Log }

func (c cluster) names() ([]string, error) { return c.log.Names(), nil }

func (c cluster) config(stream string) (json.RawMessage, uint64, error) {
	return c.log.Description(stream)
}

func (c cluster) read(ctx context.Context, p part, from uint64, handle func(stored.Message) error) error {
	return c.log.Read(ctx, p.stream, from, p.last, false, handle)
}

func (c cluster) secrets(ctx context.Context) (secretlog.Reader, []string, error) {
	all, err := secretlog.SegmentsOn(ctx, c.log.Server())
	return c.log.Secrets(), all.Names(), err
}

func (c cluster) cut(ctx context.Context) (cut Cut, err error) {
	moment, err := c.log.Cut(ctx)
	cut = Cut{Ends: map[int]uint64{}, Dropped: moment.Dropped, Secrets: moment.Secrets}
	for shard, head := range moment.Heads {
		if cut.Ends[shard] = head.Seq; streams.KindOf(shard).Events {
			cut.Events += head.Events
		}
	}
	return cut, err
}
