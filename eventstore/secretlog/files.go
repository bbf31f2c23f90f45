package secretlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"payledger/eventstore/blocks"
	"payledger/eventstore/fault"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

func metaOf(dir, stream string) (blocks.Meta, error) {
	return blocks.CheckMeta(blocks.Folder(dir, streams.Account, stream), stream)
}

// Segments returns the names of the segments in a folder, in their order. They may include a
// dropped segment whose files the server has not deleted yet.
func Segments(dir string) ([]string, error) {
	names, err := blocks.Streams(dir, streams.Account)
	if err != nil {
		return nil, fmt.Errorf("eventstore: %w", err)
	}
	return segmentsIn(dir, names), nil
}

// segmentsIn returns the segments among names of streams. It leaves out a dropped segment that the
// server was deleting.
func segmentsIn(dir string, names []string) []string {
	all := streams.SecretSegments(names)
	for len(all) > 0 && halfDeleted(dir, all) && floorIn(dir, all[1:]).dropped >= streams.SecretNumber(all[0]) {
		all = all[1:]
	}
	return all
}

// inStopped returns a function that reads the messages of all segments in a stopped folder, in
// their order.
func inStopped(dir string) func(handle func(stored.Message) error) error {
	return func(handle func(stored.Message) error) error {
		segments, err := Segments(dir)
		if err != nil {
			return err
		}
		for _, stream := range segments {
			if err := each(dir, stream, handle); err != nil {
				return err
			}
		}
		return nil
	}
}

// each is inStopped for one segment.
func each(dir, stream string, handle func(stored.Message) error) error {
	_, err := blocks.Verify(dir, streams.Account, stream, blocks.Options{Deletes: true, Handle: stored.Standing(handle)})
	if err != nil {
		err = fmt.Errorf("eventstore: %s: %w", stream, err)
	}
	return err
}

// InFolder returns the reader of the files of a folder. The server may run.
func InFolder(dir string) Reader {
	return func(ctx context.Context, after, through uint64, handle func(stored.Message) error) (last uint64, err error) {
		segments, err := Segments(dir)
		if err != nil {
			return 0, err
		}
		firsts := make([]uint64, len(segments))
		for i, stream := range segments {
			meta, err := metaOf(dir, stream)
			if err != nil && !errors.Is(err, os.ErrNotExist) { // else it is being created
				return 0, fault.Damage(stream, 1, err)
			}
			firsts[i] = meta.FirstSeq
		}
		for i, stream := range segments {
			if i+1 < len(segments) && firsts[i+1] > 0 && firsts[i+1] <= after+1 {
				continue
			}
			options := blocks.Options{Deletes: true, Through: through, Pace: func(int) error { return ctx.Err() }}
			options.Handle = func(r stored.Message) error {
				if through > 0 && r.Seq > through && !r.Tombstone || r.Seq < firsts[i] { // a segment begins with a mark for the sequence before
					return nil
				}
				last = max(last, r.Seq)
				return handle(r)
			}
			report, err := blocks.Verify(dir, streams.Account, stream, options)
			if err != nil {
				return last, fmt.Errorf("eventstore: %s: %w", stream, err)
			}
			for _, f := range report.Faults {
				if report.Kind == blocks.Damaged {
					return last, fault.Damage(stream, max(f.From, f.After+1), errors.New(f.String()))
				}
			}
		}
		return last, nil
	}
}

// CheckStopped calls check for the values in a stopped folder. It changes no byte, and ignores
// damaged records: the inspection reports them.
func CheckStopped(dir string, check Check) error { return CheckRead(inStopped(dir), check) }

// ReadStopped calls use with the stored values of a name in a stopped folder, the oldest first,
// until it returns nil. A value that is sealed with another master key may stand beside the value
// that counts. ReadStopped returns the last error; ErrNotFound if there is no value. It changes no
// byte.
func ReadStopped(dir, name string, use func(stored []byte) error) error {
	return useValue(inStopped(dir), name, use)
}

// Unnamed calls damaged for each record of SECRETS that is missing in a stopped folder although no
// destruction names it. It needs no tip store. The files must be undamaged.
func Unnamed(dir string, names []string, damaged func(stream string, seq uint64, reason string) error) error {
	stand, named, last := stored.Sequences{}, stored.Sequences{}, map[string]uint64{}
	segments := segmentsIn(dir, names)
	for _, stream := range segments {
		err := each(dir, stream, func(r stored.Message) error {
			stand.Add(r.Seq)
			last[stream] = max(last[stream], r.Seq)
			found, err := parse(r.Seq, r.Body)
			if err != nil {
				return damaged(stream, r.Seq, err.Error())
			}
			for seq := range found.destroyed() {
				named.Add(seq)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	next := uint64(1)
	for _, stream := range segments {
		for ; next <= last[stream]; next++ {
			if !stand.Has(next) && !named.Has(next) {
				return damaged(stream, next, "the record is missing, and no destruction names it")
			}
		}
	}
	return nil
}

// floorIn is floorOn for a stopped folder. The inspection reports damaged segments.
func floorIn(dir string, segments []string) (floor record) {
	for _, stream := range slices.Backward(segments) {
		_ = each(dir, stream, func(m stored.Message) error {
			if r, err := parse(m.Seq, m.Body); err == nil && r.kind == kindDropped && r.seq > floor.seq {
				floor = r
			}
			return nil
		})
		if floor.seq > 0 {
			return floor
		}
	}
	return floor
}

// FirstIn returns the number of the first segment in a stopped folder that was not dropped, given
// the drop in the tip store (Witnessed.Floor); nil without one. Files are only read if
// segments are missing that the tip store does not name.
func FirstIn(dir string, names []string, stored []byte) uint32 {
	first := storedFloor(stored).dropped + 1
	segments := slices.DeleteFunc(streams.SecretSegments(names), func(name string) bool { return streams.SecretNumber(name) < first })
	if len(segments) > 0 && (streams.SecretNumber(segments[0]) > first || halfDeleted(dir, segments)) {
		first = max(first, floorIn(dir, segments).dropped+1)
	}
	return first
}

// halfDeleted reports whether the server was deleting the first segment: it removes the description
// first.
func halfDeleted(dir string, segments []string) bool {
	_, err := metaOf(dir, segments[0])
	return len(segments) > 1 && errors.Is(err, fs.ErrNotExist)
}

// remains returns the folders of dropped segments that exist. The server renames a folder before it
// removes the folder's files.
func (b *Stream) remains(dropped uint32) (paths []string) {
	if b.Folder == "" {
		return nil
	}
	for number := uint32(1); number <= dropped; number++ {
		path := blocks.Folder(b.Folder, streams.Account, streams.SecretSegment(number))
		for _, path := range []string{path, filepath.Join(filepath.Dir(path), "."+filepath.Base(path))} {
			if _, err := os.Stat(path); err == nil {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// syncSegments writes the files of segments to the disk, with their folders.
func syncSegments(dir string, those []string) error {
	paths := []string{filepath.Dir(blocks.Folder(dir, streams.Account, those[0]))}
	for _, stream := range those {
		err := filepath.WalkDir(blocks.Folder(dir, streams.Account, stream), func(path string, _ fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) { // the server replaces its index
				return nil
			}
			paths = append(paths, path)
			return err
		})
		if err != nil {
			return fmt.Errorf("eventstore: %w", err)
		}
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil {
			return fmt.Errorf("eventstore: the values under the new master key are not on the disk, so the old ones stay: %w", err)
		}
	}
	return nil
}
