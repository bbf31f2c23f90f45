package blocks

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"payledger/eventstore/stored"
)

// Kind is the state of a block or a stream.
type Kind int

// Clean, then states from harmless to bad.
const (
	Clean   Kind = iota // every byte belongs to a good record
	Stopped             // all records up to Options.Through are good; later ones were not checked
	Torn                // the newest records are incomplete or bad, and nothing valid follows them
	Damaged             // a record is bad or missing, and a valid record follows or must exist
)

// String returns the kind in words.
func (k Kind) String() string {
	return [...]string{"clean", "clean as far as it was judged", "torn at the end", "damaged"}[k]
}

// Options are the settings of a reading.
type Options struct {
	// Deletes means that messages of the stream may be deleted. Without it the stream must have
	// every sequence, in order.
	Deletes bool
	// Through is the last sequence to check; 0 checks all. Without Deletes the stream must have it.
	// Set it while the server runs, to a sequence that was acknowledged before the call.
	Through uint64
	// Subject is the subject of all messages; "" allows any. The checksum does not cover the
	// subject's length, so only a subject here reveals some wrong lengths.
	Subject string
	// From is a sequence: blocks before the newest block that begins at it or before it are not
	// read, but for the first message of a stream without deletes. 0 reads all, Newest the newest
	// block that has a record.
	From uint64
	// Pace is called after each read with its number of bytes, at most 256 KiB. It may wait; an
	// error ends the work.
	Pace func(n int) error
	// Uncached reads from the disk instead of the operating system's cache, if the system can do so
	// (Linux). While the cache holds a block, no other read reveals a damaged disk.
	Uncached bool
	// Handle is called for each record before the first fault of a block, tombstones included. An
	// error ends the work, unless it wraps stored.ErrRefused: the record is then damaged.
	Handle func(stored.Message) error
}

// Newest is Options.From of the newest block.
const Newest = math.MaxUint64

// Result is the state of one block.
type Result struct {
	Block    int
	Path     string // of the file
	Kind     Kind
	End      int64   // where the good prefix ends, in bytes
	Size     int64   // bytes of the file that were looked at
	First    uint64  // sequence of the first message; 0 if none
	Last     uint64  // the highest sequence of a message or an erased message; 0 if none
	Messages uint64  // records that hold a message, deleted later or not
	Faults   []Fault // at most 100; of a torn block the reason
}

const maxFaults = 100

// Fault is one fault of a block or a stream.
type Fault struct {
	Block    int    // number of the block file; 0 if the fault belongs to the whole stream
	Offset   int64  // where, in bytes
	After    uint64 // the highest good sequence before it; if none, the one before the stream's first
	Reason   string
	From, To uint64 // the missing sequences, if the fault is a gap
}

// String describes the fault for people.
func (f Fault) String() string {
	text := f.Reason
	if f.To != 0 {
		text += fmt.Sprintf(": %d to %d", f.From, f.To)
	}
	if f.Block == 0 {
		return text
	}
	return fmt.Sprintf("block %d, offset %d, after sequence %d: %s", f.Block, f.Offset, f.After, text)
}

// ReadBlock reads one block file of a stream and calls o.Handle for its good records. o.From is
// unused. It returns errors of reads, of Handle and of Pace. The Result has the faults of the
// contents.
func ReadBlock(path, stream string, o Options) (Result, error) {
	n, ok := number(filepath.Base(path))
	if !ok {
		return Result{}, fmt.Errorf("blocks: %s is not the name of a block file", path)
	}
	f, size, err := open(path, o.Uncached)
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	r := newReader(newWindow(f, size, o.Pace), stream, n, &o)
	if err := r.run(); err != nil {
		return Result{}, fmt.Errorf("blocks: %s: %w", path, err)
	}
	r.result.Path = path
	return r.result, nil
}

type blockFile struct {
	*os.File
	uncached bool
}

func open(path string, uncached bool) (*blockFile, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("blocks: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		err = plain(f)
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("blocks: %s: %w", path, err), f.Close())
	}
	if uncached {
		forget(f)
	}
	return &blockFile{f, uncached}, info.Size(), nil
}

// plain returns ErrUnsupported if a block file is compressed.
func plain(f *os.File) error {
	const compressed = "cmp\x01"
	var start [len(compressed)]byte
	n, err := f.ReadAt(start[:], 0)
	switch {
	case errors.Is(err, io.EOF): // the file is shorter
		return nil
	case string(start[:n]) == compressed:
		return ErrUnsupported
	}
	return err
}

// Close closes the file. It drops the pages of the file from the cache.
func (f *blockFile) Close() error {
	if f.uncached {
		forget(f.File)
	}
	return f.File.Close()
}
