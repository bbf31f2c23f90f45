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

// segment is a segment of SECRETS, as its stream's name describes it.
type segment struct {
	number uint32
	stream string
}

func (g segment) subject(end string) string {
	return fmt.Sprintf("%s.%d.%s", root, g.number, end)
}

// segmentsIn returns the segments of SECRETS among the names of streams, in their order.
func segmentsIn(names []string) (all []segment) {
	for _, name := range names {
		if of, number, ok := sidelog.ParseName(name); ok && of == sidelog.SecretStream {
			all = append(all, segment{number, name})
		}
	}
	slices.SortFunc(all, func(a, b segment) int { return int(a.number) - int(b.number) })
	return all
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

// countingIn returns the segments in a folder that belong to the stream.
func countingIn(dir string, names []string) ([]segment, error) {
	those, _, err := counting(segmentsIn(names), func(g segment) bool {
		meta, err := blocks.CheckMeta(blocks.Folder(dir, streams.Account, g.stream), g.stream)
		if errors.Is(err, os.ErrNotExist) { // the server was deleting it, meta.inf first
			return beginsIncomplete(dir, g)
		}
		return err == nil && meta.Metadata[rotationMark] != "" // else it is being created, or damaged: the inspection reports it
	}, func(g segment) (bool, error) {
		err := g.each(dir, func(r blocks.Record) error {
			if r.Subject == g.subject(completeTopic) {
				return errChecked
			}
			return nil
		})
		if errors.Is(err, errChecked) {
			return true, nil
		}
		return false, err
	})
	return those, err
}

// segmentsOf is countingIn for all streams in a folder.
func segmentsOf(dir string) ([]segment, error) {
	names, err := blocks.Streams(dir, streams.Account)
	if err != nil {
		return nil, fmt.Errorf("eventstore: %w", err)
	}
	return countingIn(dir, names)
}

// each calls handle with the messages in a segment's files, in their order, until handle returns an error.
func (g segment) each(dir string, handle func(blocks.Record) error) error {
	_, err := blocks.Verify(dir, streams.Account, g.stream, blocks.Options{Deletes: true, Handle: func(r blocks.Record) error {
		if r.Erased || r.Tombstone {
			return nil
		}
		return handle(r)
	}})
	if err != nil {
		err = fmt.Errorf("eventstore: %s: %w", g.stream, err)
	}
	return err
}

// beginsIncomplete reports whether a segment begins with a rotation that is not complete.
func beginsIncomplete(dir string, g segment) bool {
	first, begins, complete := true, false, false
	_, err := blocks.Verify(dir, streams.Account, g.stream, blocks.Options{Deletes: true, Handle: func(r blocks.Record) error {
		begins = begins || first && r.Subject == g.subject(rotationTopic)
		complete = complete || r.Subject == g.subject(completeTopic)
		first = false
		return nil
	}})
	return err == nil && begins && !complete
}

// Segments returns the names of the segments in a folder that belong to the stream, in their order.
func Segments(dir string) (all []string, err error) {
	segments, err := segmentsOf(dir)
	for _, g := range segments {
		all = append(all, g.stream)
	}
	return all, err
}

// First returns the number of the first segment in a folder that belongs to the stream: 1, or the one of the last rotation.
func First(dir string, names []string) (uint32, error) {
	segments, err := countingIn(dir, names)
	if err != nil || len(segments) == 0 {
		return 1, err
	}
	if meta, err := blocks.CheckMeta(blocks.Folder(dir, streams.Account, segments[0].stream), segments[0].stream); err != nil || meta.Metadata[rotationMark] == "" {
		return 1, nil //nolint:nilerror // the inspection reports it
	}
	return segments[0].number, nil
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
	for _, g := range segmentsIn(names) {
		if slices.Contains(those, g) || len(those) == 0 {
			continue
		}
		if g.number < those[0].number && replaced == 0 {
			if err := syncSegments(dir, those); err != nil {
				return 0, err
			}
		}
		path := blocks.Folder(dir, streams.Account, g.stream)
		gone := filepath.Join(filepath.Dir(path), "."+g.stream) // under this name no part of it counts, and the server removes it too
		if err := errors.Join(os.RemoveAll(gone), os.Rename(path, gone), os.RemoveAll(gone)); err != nil {
			return replaced, fmt.Errorf("eventstore: %w", err)
		}
		if g.number < those[0].number {
			replaced++
		}
	}
	return replaced, nil
}

// syncSegments writes segments to the disk. The process that wrote them may have been killed before it did: after a power failure the
// only copy of the values would be gone.
func syncSegments(dir string, those []segment) error {
	paths := []string{filepath.Dir(blocks.Folder(dir, streams.Account, those[0].stream))}
	for _, g := range those {
		err := filepath.WalkDir(blocks.Folder(dir, streams.Account, g.stream), func(path string, _ fs.DirEntry, err error) error {
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
		func(info *jetstream.StreamInfo) (bool, error) { return completeOn(ctx, server, info.Config.Name) })
}

// countingOn returns the segments on a server that belong to the stream.
func countingOn(ctx context.Context, server sidelog.Server) ([]segment, error) {
	infos, err := server.Segments(ctx, sidelog.SecretStream, root)
	if err != nil {
		return nil, fmt.Errorf("eventstore: %s: %w", sidelog.SecretStream, err)
	}
	infos, _, err = countingInfos(ctx, server, infos)
	var names []string
	for _, info := range infos {
		names = append(names, info.Config.Name)
	}
	return segmentsIn(names), err
}

// completeOn reports whether a rotation's segment on a server is complete.
func completeOn(ctx context.Context, server sidelog.Server, stream string) (bool, error) {
	g := segmentsIn([]string{stream})[0]
	_, err := server.API.AtLeader(ctx, stream, jetapi.Get{LastBySubject: g.subject(completeTopic)})
	if errors.Is(err, fault.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
