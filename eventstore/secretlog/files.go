package secretlog

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"payledger/eventstore/folder"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

// Segments returns the names of the segments in a folder, in their order. They may include a
// dropped segment whose files the server has not deleted yet.
func Segments(dir string) ([]string, error) {
	names, err := folder.Streams(dir)
	return segmentsIn(dir, names), err
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
	_, err := folder.Read(dir, stream, folder.Reading{Handle: stored.Standing(handle)})
	return err
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

// Unnamed returns the segment and the sequence of the first record of SECRETS that is missing in a
// stopped folder although no destruction names it; 0: none is missing. It needs no tip store.
func Unnamed(ctx context.Context, dir string) (stream string, missing uint64, err error) {
	c, err := NewCopy(ctx, InFolder(dir), 0)
	if err == nil {
		err = c.Each(ctx, 0, func(stored.Message) error { return nil })
	}
	if err != nil {
		return "", 0, err
	}
	missing, whole := c.Whole()
	segments, err := Segments(dir)
	if err != nil || whole {
		return "", 0, err
	}
	return folder.From(dir, segments, missing)[0], missing, nil
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
	_, err := folder.Describe(dir, segments[0])
	return len(segments) > 1 && errors.Is(err, fs.ErrNotExist)
}
