package secretlog

import (
	"cmp"
	"context"

	"payledger/eventstore/folder"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

// Segments returns the names of the segments in a folder, in their order. They may include a
// dropped segment whose files the server has not deleted yet. A segment that the server was
// deleting is left out: it removes the description first. If it was not dropped, its messages are
// missing.
func Segments(dir string) ([]string, error) {
	names, err := folder.Streams(dir)
	all := streams.Segments(streams.SecretShard, names)
	for len(all) > 1 && !folder.Described(dir, all[0]) {
		all = all[1:]
	}
	return all, err
}

// Stopped returns the messages of a stopped folder. It changes no byte, and leaves out damaged
// records: the inspection reports them.
func Stopped(dir string) Messages {
	return func(handle func(stored.Message) error) error {
		segments, err := Segments(dir)
		for _, stream := range segments {
			if err == nil {
				_, err = folder.Read(dir, stream, folder.Reading{Handle: stored.Standing(handle)})
			}
		}
		return err
	}
}

// InFolder returns the reader of the files of a folder. The server may run.
func InFolder(dir string) Reader {
	return func(ctx context.Context, after, through uint64, handle func(stored.Message) error) (last uint64, err error) {
		segments, err := Segments(dir)
		if err != nil {
			return 0, err
		}
		reading := folder.Reading{Through: through, Pace: func(int) error { return ctx.Err() }, Handle: func(r stored.Message) error {
			if through > 0 && r.Seq > through && !r.Tombstone {
				return nil
			}
			last = max(last, r.Seq)
			return handle(r)
		}}
		for _, stream := range folder.From(dir, segments, after+1) {
			found, err := folder.Read(dir, stream, reading)
			if err = cmp.Or(err, found.Damage()); err != nil {
				return last, err
			}
		}
		return last, nil
	}
}

// Unnamed returns the segment and the sequence of the first record of SECRETS that is missing in a
// stopped folder although no destruction names it; 0: none is missing. There must be records up to
// through, or to the last one that is there. It needs no tip store.
func Unnamed(ctx context.Context, dir string, through uint64) (stream string, missing uint64, err error) {
	c, err := NewCopy(ctx, InFolder(dir), 0)
	if err == nil {
		err = c.Each(ctx, 0, func(stored.Message) error { return nil })
	}
	if err != nil {
		return "", 0, err
	}
	c.through = max(c.through, through)
	missing, whole := c.Whole()
	segments, err := Segments(dir)
	if err != nil || whole {
		return "", 0, err
	}
	return folder.From(dir, segments, missing)[0], missing, nil
}
