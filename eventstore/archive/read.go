package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"payledger/eventstore/folder"
	"payledger/eventstore/format"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

// readSecrets reads SECRETS. A rotation of the master key may drop all segments of a running server
// meanwhile.
func (in *inspection) readSecrets(ctx context.Context) error {
	for {
		err := in.readShard(ctx, streams.SecretShard, in.readStream)
		newest := in.newest[streams.SecretShard]
		if err != nil || in.live == nil || newest == 0 || newest > in.floor(streams.SecretShard).Segment {
			return err
		}
		if err := in.list(); err != nil {
			return err
		}
	}
}

// readGroups reads one segment of a shard, and calls handle with the groups of the log from a
// sequence on. A message that only the second look finds comes in its place.
func (in *inspection) readGroups(shard int, name string, from uint64, handle func(stream string, g *format.Group) error) error {
	if in.wasDropped(name) {
		return nil
	}
	d, _ := folder.Describe(in.dir, name) // the reading reports its damage
	next, looks := max(d.First, from), 0
	var failed error // of handle
	reading := folder.Reading{From: from, Pace: in.pace, Uncached: in.uncached, Handle: func(m stored.Message) error {
		if !m.Stands() || m.Seq < next || in.later(shard, m.Seq) || in.live != nil && looks == 1 && m.Seq > next {
			return nil
		}
		g, err := format.ParseGroupAt(shard, m.Seq, bytes.Clone(m.Body))
		if end := in.acked[shard]; err == nil && m.Seq == end.Seq && g.Hash != end.Hash {
			err = errors.New("it differs from the group that was acknowledged")
		}
		if err == nil {
			err = in.note(g)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", stored.ErrRefused, err)
		}
		switch err = handle(name, g); {
		case err == nil:
			next = m.Seq + 1
		case !errors.Is(err, stored.ErrRefused):
			failed = err
		}
		return err
	}}
	found, err := in.look(func() (folder.Found, error) { looks++; return folder.Read(in.dir, name, reading) })
	if failed != nil {
		return failed
	}
	return in.take(name, next, found, err)
}

// look reads a stream. It reads that of a running server again if it looks damaged: files may have
// been replaced meanwhile, or a message was being written.
func (in *inspection) look(read func() (folder.Found, error)) (folder.Found, error) {
	found, err := read()
	if in.live == nil || err == nil && len(found.Faults) == 0 && found.Torn == nil {
		return found, err
	}
	torn := found.Torn.String()
	if err := in.rest(); err != nil {
		return found, err
	}
	if found, err = read(); torn != "" && found.Torn.String() == torn {
		found.Faults = append(found.Faults, folder.Fault{Seq: found.Last + 1, Reason: "it is torn: " + torn})
	}
	return found, err
}

// take notes the result of reading a stream, and reports its faults. With an error of the disk,
// from is the first message that was not read.
func (in *inspection) take(name string, from uint64, found folder.Found, err error) error {
	switch {
	case err == nil && len(found.Faults) == 0:
		in.read[name] = found
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case in.wasDropped(name): // meanwhile
		return nil
	case err == nil:
		in.read[name] = found
	case in.live != nil && errors.Is(err, fs.ErrNotExist): // follow reports it
		return nil
	case in.live != nil && (errors.Is(err, secretlog.ErrTips) || !errors.Is(err, syscall.EIO)):
		return err
	default:
		d, _ := folder.Describe(in.dir, name)
		found.Faults = []folder.Fault{{Seq: max(d.First, from), Reason: err.Error()}}
	}
	for _, f := range found.Faults {
		if err := in.damaged(name, f.Seq, f.Reason); err != nil {
			return err
		}
	}
	return nil
}

// later reports whether a group stands after the end of a running server's log.
func (in *inspection) later(shard int, seq uint64) bool {
	return in.live != nil && seq > in.acked[shard].Seq
}
