package backup

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"

	"payledger/eventstore/archive"
	"payledger/eventstore/format"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

// Archive returns the log of a back-up, as verify reads it. The keys are in another folder, so
// SECRETS is not in it.
func (c *Chain) Archive() *archive.Archive {
	newest := c.Newest()
	return archive.From(newest.Shards, slices.Clone(newest.Streams), copied{c})
}

// copied reads the log from the files of a back-up.
type copied struct{ *Chain }

// Inspect checks that every file is there. Their contents are checked while they are read.
func (c copied) Inspect(context.Context, archive.Damaged) error { return c.Check() }

// Groups reads the groups of a shard, and checks that they reach the end in the manifest.
func (c copied) Groups(ctx context.Context, shard int, damaged archive.Damaged, handle func(stream string, g *format.Group) error) error {
	end, last, hash, stream := c.Newest().end(shard), uint64(0), "", streams.Name(shard, 1)
	for _, name := range streams.Segments(shard, c.Newest().Streams) {
		stream = name
		err := c.ReadStream(ctx, name, nil, func(r stored.Message) error {
			g, err := format.ParseGroupAt(shard, r.Seq, bytes.Clone(r.Body))
			if err != nil {
				return damaged(name, r.Seq, err.Error())
			}
			last, hash = g.Seq, hex.EncodeToString(g.Hash[:])
			return handle(name, g)
		})
		if err != nil {
			return err
		}
	}
	if last != end.Sequence || hash != end.Hash {
		return damaged(stream, last, fmt.Sprintf("the back-up ends here, and its manifest names group %d as the end", end.Sequence))
	}
	return nil
}

// ReadStream calls each with the messages of a stream, from all its files. header may be nil; it
// gets the header of each file.
func (c *Chain) ReadStream(ctx context.Context, name string, header func(Header) error, each func(stored.Message) error) error {
	files := c.Files(name)
	if len(files) == 0 && !streams.KindIn(name).Drops() {
		return fmt.Errorf("%w: it has no file of %s", ErrDamaged, name)
	}
	for _, f := range files {
		path := filepath.Join(c.Dir, f.Name)
		there, err := Read(path, func(h Header) error {
			if h.Stream != name || h.Log != c.Newest().Log {
				return fmt.Errorf("%w: %s holds %s of log %s, and should hold %s of log %s", ErrDamaged, path, h.Stream, h.Log, name, c.Newest().Log)
			}
			if header == nil {
				return nil
			}
			return header(h)
		}, func(r stored.Message) error {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			return each(r)
		})
		if err == nil && there.SHA256 != f.SHA256 {
			err = fmt.Errorf("%w: %s has changed since it was written: its checksum is wrong", ErrDamaged, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
