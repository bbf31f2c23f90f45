package secretlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/blocks"
	"payledger/eventstore/fault"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/sidelog"
	"payledger/eventstore/streams"
)

// rotationMark is in the metadata of a segment that a rotation of the master key makes. The segment has every value anew. It does not
// count before its message of completeTopic, and then replaces all segments before it.
const rotationMark = "payledger-rotation"

func subjectOf(stream, end string) string {
	return fmt.Sprintf("%s.%d.%s", root, sidelog.Number(stream), end)
}

func metaOf(dir, stream string) (blocks.Meta, error) {
	return blocks.CheckMeta(blocks.Folder(dir, streams.Account, stream), stream)
}

// counting returns the segments that belong to the stream. replaces reports that the first one replaces all segments before it.
func counting[S any](all []S, marked func(S) bool, complete func(S) (bool, error)) (those []S, replaces bool, err error) {
	for i := len(all) - 1; i >= 0; i-- {
		if !marked(all[i]) {
			continue
		}
		if i < len(all)-1 { // only a segment that counts has a segment after it
			return all[i:], true, nil
		}
		done, err := complete(all[i])
		if err != nil {
			return nil, false, err
		}
		if done {
			return all[i:], true, nil
		}
		all = all[:i]
	}
	return all, false, nil
}

func countingIn(dir string, names []string) ([]string, error) {
	those, _, err := counting(sidelog.SegmentsOf(sidelog.SecretStream, names), func(stream string) bool {
		meta, err := metaOf(dir, stream)
		if errors.Is(err, os.ErrNotExist) { // the server was deleting it, meta.inf first
			return beginsIncomplete(dir, stream)
		}
		return err == nil && meta.Metadata[rotationMark] != "" // else it is being created, or damaged: the inspection reports it
	}, func(stream string) (bool, error) {
		read, complete := func(handle func(blocks.Record) error) error { return each(dir, stream, handle) }, subjectOf(stream, completeTopic)
		return find(read, func(r blocks.Record) bool { return r.Subject == complete })
	})
	return those, err
}

// Segments returns the names of the segments in a folder that belong to the stream, in their order.
func Segments(dir string) ([]string, error) {
	names, err := blocks.Streams(dir, streams.Account)
	if err != nil {
		return nil, fmt.Errorf("eventstore: %w", err)
	}
	return countingIn(dir, names)
}

// inStopped returns a function that reads the messages of all segments in a stopped folder that belong to the stream, in their order.
func inStopped(dir string) func(handle func(blocks.Record) error) error {
	return func(handle func(blocks.Record) error) error {
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
func each(dir, stream string, handle func(blocks.Record) error) error {
	_, err := blocks.Verify(dir, streams.Account, stream, blocks.Options{Deletes: true, Handle: blocks.Standing(handle)})
	if err != nil {
		err = fmt.Errorf("eventstore: %s: %w", stream, err)
	}
	return err
}

func beginsIncomplete(dir, stream string) bool {
	first, begins, complete := true, false, false
	_, err := blocks.Verify(dir, streams.Account, stream, blocks.Options{Deletes: true, Handle: func(r blocks.Record) error {
		begins = begins || first && r.Subject == subjectOf(stream, rotationTopic)
		complete = complete || r.Subject == subjectOf(stream, completeTopic)
		first = false
		return nil
	}})
	return err == nil && begins && !complete
}

// First returns the number of the first segment in a folder that belongs to the stream: 1, or the one of the last rotation.
func First(dir string, names []string) (uint32, error) {
	segments, err := countingIn(dir, names)
	if err != nil || len(segments) == 0 {
		return 1, err
	}
	if meta, err := metaOf(dir, segments[0]); err != nil || meta.Metadata[rotationMark] == "" {
		return 1, nil //nolint:nilerror // the inspection reports it
	}
	return sidelog.Number(segments[0]), nil
}

// Sweep removes the segments from a stopped folder that do not belong to the stream: those that a rotation replaced, and the one of a
// rotation that was cut short. It returns the number of replaced ones.
func Sweep(dir string) (replaced int, err error) {
	names, err := blocks.Streams(dir, streams.Account)
	if err != nil {
		return 0, fmt.Errorf("eventstore: %w", err)
	}
	those, err := countingIn(dir, names)
	if err != nil {
		return 0, err
	}
	for _, stream := range sidelog.SegmentsOf(sidelog.SecretStream, names) {
		if slices.Contains(those, stream) || len(those) == 0 {
			continue
		}
		older := sidelog.Number(stream) < sidelog.Number(those[0])
		if older && replaced == 0 {
			if err := syncSegments(dir, those); err != nil {
				return 0, err
			}
		}
		path := blocks.Folder(dir, streams.Account, stream)
		gone := filepath.Join(filepath.Dir(path), "."+stream) // under this name no part of it counts, and the server removes it too
		if err := errors.Join(os.RemoveAll(gone), os.Rename(path, gone), os.RemoveAll(gone)); err != nil {
			return replaced, fmt.Errorf("eventstore: %w", err)
		}
		if older {
			replaced++
		}
	}
	return replaced, nil
}

// syncSegments writes segments to the disk. The process that wrote them may have been killed before it did: after a power failure the
// only copy of the values would be gone.
func syncSegments(dir string, those []string) error {
	paths := []string{filepath.Dir(blocks.Folder(dir, streams.Account, those[0]))}
	for _, stream := range those {
		err := filepath.WalkDir(blocks.Folder(dir, streams.Account, stream), func(path string, _ fs.DirEntry, err error) error {
			paths = append(paths, path)
			return err
		})
		if err != nil {
			return fmt.Errorf("eventstore: %w", err)
		}
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil {
			return fmt.Errorf("eventstore: the values under the new master key are not on the disk, so the old ones stay: %w", err)
		}
	}
	return nil
}

// countingInfos returns the segments among those on a server that belong to the stream, as counting does.
func countingInfos(ctx context.Context, server sidelog.Server, infos []*jetstream.StreamInfo) ([]*jetstream.StreamInfo, bool, error) {
	return counting(infos, func(info *jetstream.StreamInfo) bool { return info.Config.Metadata[rotationMark] != "" },
		func(info *jetstream.StreamInfo) (bool, error) {
			name := info.Config.Name
			_, err := server.API.AtLeader(ctx, name, jetapi.Get{LastBySubject: subjectOf(name, completeTopic)})
			if errors.Is(err, fault.ErrNotFound) {
				return false, nil
			}
			return err == nil, err
		})
}

// SegmentsOn returns the names of the segments on a server that belong to the stream, in their order.
func SegmentsOn(ctx context.Context, server sidelog.Server) (names []string, err error) {
	infos, err := server.Segments(ctx, sidelog.SecretStream, root)
	if err != nil {
		return nil, fmt.Errorf("eventstore: %s: %w", sidelog.SecretStream, err)
	}
	infos, _, err = countingInfos(ctx, server, infos)
	for _, info := range infos {
		names = append(names, info.Config.Name)
	}
	return names, err
}
