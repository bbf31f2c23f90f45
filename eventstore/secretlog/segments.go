package secretlog

import (
	"context"
	"fmt"

	"payledger/eventstore/blocks"
	"payledger/eventstore/sidelog"
	"payledger/eventstore/streams"
)

func subjectOf(stream, end string) string {
	return fmt.Sprintf("%s.%d.%s", root, sidelog.Number(stream), end)
}

func metaOf(dir, stream string) (blocks.Meta, error) {
	return blocks.CheckMeta(blocks.Folder(dir, streams.Account, stream), stream)
}

// Segments returns the names of the segments in a folder, in their order. They may include a
// dropped one that is not deleted yet.
func Segments(dir string) ([]string, error) {
	names, err := blocks.Streams(dir, streams.Account)
	if err != nil {
		return nil, fmt.Errorf("eventstore: %w", err)
	}
	return segmentsIn(dir, names), nil
}

// segmentsIn returns the segments among some names, without one that the server was deleting
// because it was dropped.
func segmentsIn(dir string, names []string) []string {
	all := sidelog.SegmentsOf(sidelog.SecretStream, names)
	for len(all) > 0 && halfDeleted(dir, all) && floorIn(dir, all[1:]).dropped >= sidelog.Number(all[0]) {
		all = all[1:]
	}
	return all
}

// inStopped returns a function that reads the messages of all segments in a stopped folder, in
// their order.
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

// SegmentsOn returns the names of the segments on a server, in their order.
func SegmentsOn(ctx context.Context, server sidelog.Server) (names []string, err error) {
	infos, err := server.Segments(ctx, sidelog.SecretStream, root)
	if err != nil {
		return nil, fmt.Errorf("eventstore: %s: %w", sidelog.SecretStream, err)
	}
	for _, info := range infos {
		names = append(names, info.Config.Name)
	}
	return names, nil
}
