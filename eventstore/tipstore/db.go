package tipstore

import "io"

// Library opens the files of a store. Package tipfiles has it, with Pebble.
type Library interface {
	// Open opens the files in a folder, or in memory if o has none.
	Open(dir string, o Options, to Events) (DB, error)
	// IsCorruption reports whether an error means that a file is not as it was written.
	IsCorruption(err error) bool
}

// Events get what happens in open files, on any goroutine.
type Events interface {
	// Retried: a background write failed. It is repeated after the call.
	Retried(err error)
	// Corrupt: a file is not as it was written.
	Corrupt(path string, details error)
	// Stalled: all writes are held up, because too many wait for their flush, or no longer.
	Stalled(held bool)
	// WaitForRoom returns when a write on a full disk is to be repeated.
	WaitForRoom()
	// Fatal: the files cannot be used again. The call never returns.
	Fatal(err error)
}

// DB are the open files of a store. It names no type of the library: an importer of this package
// would compile the library's generic parts again (25 CPU-s over the whole build), and each program
// of an importer would link the library.
type DB interface {
	Getter
	// Search finds one key, by the Bloom filters of all levels.
	Search() (Iterator, error)
	// NewBatch returns an empty batch with room for a number of bytes.
	NewBatch(size int) Writes
	// NewSnapshot returns the keys and values as of now.
	NewSnapshot() Snapshot
	// Flush begins to write all commits to the disk.
	Flush() (done <-chan struct{}, err error)
	// Tables returns the files.
	Tables() ([]Table, error)
	io.Closer
}

// Getter looks up a key.
type Getter interface {
	// Get returns a value that is valid until closer is closed, or ErrNotFound.
	Get(key []byte) (value []byte, closer io.Closer, err error)
}

// Writes are writes that take effect together.
type Writes interface {
	Set(key, value []byte) error
	Delete(key []byte) error
	// Commit makes the writes visible, without a sync.
	Commit() error
	// Len is the size in bytes.
	Len() int
}

// Snapshot are the keys and values as of one moment.
type Snapshot interface {
	Getter
	// Range returns the keys from one, included, to another, excluded.
	Range(from, before []byte) (Iterator, error)
	io.Closer
}

// Iterator goes through keys in their order.
type Iterator interface {
	SeekPrefixGE(key []byte) bool
	First() bool
	Next() bool
	Key() []byte
	ValueAndErr() ([]byte, error)
	io.Closer
}

// Table is one file.
type Table struct {
	Smallest []byte // key
	Size     uint64 // bytes
}
