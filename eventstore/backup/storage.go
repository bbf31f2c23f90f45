package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"payledger/eventstore/blocks"
	"payledger/eventstore/fault"
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
	names, err := blocks.Streams(f.dir, streams.Account)
	if err != nil {
		err = fmt.Errorf("backup: %w", err)
	}
	return names, err
}

func (f files) config(stream string) (json.RawMessage, uint64, error) {
	path := blocks.Folder(f.dir, streams.Account, stream)
	meta, err := blocks.CheckMeta(path, stream)
	if err != nil {
		return nil, 0, fault.Damage(stream, 1, err)
	}
	text, err := os.ReadFile(filepath.Join(path, "meta.inf"))
	if err != nil {
		return nil, 0, fmt.Errorf("backup: %w", err)
	}
	return text, max(1, meta.FirstSeq), nil
}

func (f files) read(ctx context.Context, p part, from uint64, handle func(stored.Message) error) error {
	options := blocks.Options{Subject: p.subject, Through: p.last, Deletes: p.deletes, Pace: func(int) error { return ctx.Err() }}
	var err error
	if options.From, err = f.block(p.stream, from); err != nil {
		return err
	}
	options.Handle = stored.Standing(handle)
	report, err := blocks.Verify(f.dir, streams.Account, p.stream, options)
	if err != nil {
		return err
	}
	for _, found := range report.Faults {
		if report.Kind == blocks.Damaged {
			return fault.Damage(p.stream, max(found.From, found.After+1), errors.New(found.String()))
		}
	}
	return nil
}

// block returns the newest block of a stream that begins at or before a sequence: earlier blocks
// need not be read.
func (f files) block(stream string, seq uint64) (blocks.Place, error) {
	files, err := blocks.Files(blocks.Folder(f.dir, streams.Account, stream))
	if err != nil {
		return blocks.Place{}, fmt.Errorf("backup: %w", err)
	}
	for i := len(files) - 1; i > 0; i-- {
		first, err := blocks.FirstIn(files[i].Path)
		if err != nil {
			return blocks.Place{}, fmt.Errorf("backup: %w", err)
		}
		if first > 0 && first <= seq {
			return blocks.Place{Block: files[i].Number}, nil
		}
	}
	return blocks.Place{}, nil
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
	return c.log.Read(ctx, p.stream, from, p.last, p.deletes, handle)
}

func (c cluster) secrets(ctx context.Context) (secretlog.Reader, []string, error) {
	names, err := secretlog.SegmentsOn(ctx, c.log.Server())
	return c.log.Secrets(), names, err
}

func (c cluster) cut(ctx context.Context) (cut Cut, err error) {
	moment, err := c.log.Cut(ctx)
	cut = Cut{Ends: map[int]uint64{}, Dropped: moment.Dropped, Secrets: moment.Secrets}
	for shard, head := range moment.Heads {
		if cut.Ends[shard] = head.Seq; streams.IsEvents(shard) {
			cut.Events += head.Events
		}
	}
	return cut, err
}
