package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"payledger/eventstore/blocks"
	"payledger/eventstore/fault"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

// home returns the folder of the log's streams in a server's folder.
func home(dir string) string { return filepath.Dir(of(dir, "a")) }

// of returns the folder of a stream.
func of(dir, stream string) string { return blocks.Folder(dir, streams.Account, stream) }

// Streams returns the names of the log's streams in a server's folder, sorted, without those that
// the server was deleting; none if there is no folder.
func Streams(dir string) (names []string, err error) {
	entries, err := os.ReadDir(home(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("eventstore: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Size returns the bytes of the messages of streams. Files that vanish meanwhile do not count.
func Size(dir string, names []string) (sum int64) {
	for _, name := range names {
		files, _ := blocks.Files(of(dir, name))
		for _, f := range files {
			if info, err := os.Stat(f.Path); err == nil {
				sum += info.Size()
			}
		}
	}
	return sum
}

// Description is the configuration of a stream.
type Description struct {
	First    uint64 // sequence of the first message
	Metadata map[string]string
	Text     []byte // the whole of it, as the server keeps it
}

// Describe returns the description of a stream. The error is fs.ErrNotExist if a part of the
// description is missing: the stream was being created or deleted, or its folder is damaged.
func Describe(dir, stream string) (Description, error) {
	meta, err := blocks.CheckMeta(of(dir, stream), stream)
	return Description{max(1, meta.FirstSeq), meta.Metadata, meta.Text}, err
}

// Described reports whether a stream has a description: it was not being created or deleted.
func Described(dir, stream string) bool {
	_, err := Describe(dir, stream)
	return !errors.Is(err, fs.ErrNotExist)
}

// From returns those of a shard's segments that can hold a message from a sequence on.
func From(dir string, segments []string, seq uint64) []string {
	for i := len(segments) - 1; i > 0; i-- {
		if d, err := Describe(dir, segments[i]); err == nil && d.First <= seq {
			return segments[i:]
		}
	}
	return segments
}

// Reading is the part of a stream that is read, and the way it is read.
type Reading struct {
	From   uint64 // messages before it need not be read
	Newest bool   // only the newest messages are read, of the newest file, and the first one
	// Through is the last sequence to check, which the stream must have; 0: all are checked. Set it
	// while the server runs, to a sequence that was acknowledged before the call.
	Through uint64
	// Uncached reads from the disk instead of the system's cache, if the system can do so (Linux).
	Uncached bool
	// Pace is called after each read with its number of bytes. An error ends the reading.
	Pace func(n int) error
	// Handle is called for each message before the first fault of its file, and for the marks of
	// deleted ones. Messages may come again. An error ends the reading, unless it wraps
	// stored.ErrRefused: the message is then damaged.
	Handle func(stored.Message) error
}

// Found is the state of a stream's files.
type Found struct {
	Stream string
	Last   uint64  // the newest sequence, that of a deleted message included; 0 if none
	Time   int64   // of the newest message, in nanoseconds since 1970; 0 if none was read
	Faults []Fault // in their order; none: the stream is whole, but perhaps torn
	Torn   *Tail   // nil: there is none
	// Unfinished means that the stream's creation was cut short: its description is missing, and it
	// has no message.
	Unfinished bool
}

// Fault is damage of a stream.
type Fault struct {
	Seq    uint64 // the first affected message
	Reason string
}

// Tail is a record at the end of a stream that is not complete. Nothing valid follows it, and the
// server cuts it off at its start.
type Tail struct{ in blocks.Result }

// String returns the place of the tail; "" for none.
func (t *Tail) String() string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf("block %d, offset %d of %d", t.in.Block, t.in.End, t.in.Size)
}

// Damage returns the error for the first fault, a *fault.Place; nil if there is none.
func (f Found) Damage() error {
	if len(f.Faults) == 0 {
		return nil
	}
	return fault.Damage(f.Stream, f.Faults[0].Seq, errors.New(f.Faults[0].Reason))
}

// Read reads the files of a stream, and compares them with each other, and with their checksums.
// The server may run. A message of SECRETS may be deleted, a message of another stream never. The
// error is that of a read, of Pace or of Handle.
func Read(dir, stream string, r Reading) (Found, error) {
	shard, number, ours := streams.Parse(stream)
	o := blocks.Options{Deletes: !ours || streams.KindOf(shard).Destroys, From: r.From, Through: r.Through, Uncached: r.Uncached, Pace: r.Pace}
	newest := int64(0)
	o.Handle = func(m stored.Message) error {
		if newest = max(newest, m.Time); r.Handle == nil {
			return nil
		}
		return r.Handle(m)
	}
	if !o.Deletes {
		o.Subject = streams.Subject(shard, number)
	}
	if r.Newest {
		o.From = blocks.Newest
	}
	described := Described(dir, stream)
	if !described {
		o.Deletes = true // the first sequence is unknown
	}
	report, err := blocks.Verify(dir, streams.Account, stream, o)
	if err != nil {
		return Found{}, fmt.Errorf("eventstore: %s: %w", stream, err)
	}
	f := found(report, described)
	f.Time = newest
	return f, nil
}

// found returns a parser's report in the words of this package.
func found(report blocks.Report, described bool) Found {
	f := Found{Stream: report.Stream, Last: report.Last, Unfinished: !described && report.Messages == 0}
	for _, b := range report.Blocks {
		if b.Kind == blocks.Torn {
			f.Torn = &Tail{b}
		}
		f.Unfinished = f.Unfinished && b.Kind != blocks.Damaged
	}
	for _, bad := range report.Faults {
		if report.Kind == blocks.Damaged && !f.Unfinished {
			f.Faults = append(f.Faults, Fault{max(bad.From, bad.After+1), bad.String()})
		}
	}
	return f
}

// Trusted reports whether a server that starts reads no message of a stream of several files,
// because it trusts its index.
func Trusted(dir, stream string) bool {
	return blocks.Trusted(of(dir, stream), stream, streams.KindIn(stream).Destroys)
}
