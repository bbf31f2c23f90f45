package tipfiles

import (
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"payledger/eventstore/tipstore"
)

// Open opens the store, or makes an empty one. tipstore.ErrDamaged means that its files are
// damaged; tipstore.Discard removes them.
func Open(o tipstore.Options) (*tipstore.Store, error) { return tipstore.Open(o, library{}) }

// memTables is the ratio of the cache to the memory of one table of waiting writes. Pebble takes
// two tables, of at least 256 KiB, out of the cache. Larger tables gain nothing, because each batch
// is flushed at once. With half the cache for each, no room was left for blocks, and each look-up
// read the Bloom filters from files: 11 µs instead of 4.
const memTables = 16

const (
	// l0Files is how many tables of L0 are compacted at once, one of each flush. With Pebble's 4 a
	// tenth of the CPU time of a load went into compactions: ids are spread, and most of the next
	// level is rewritten. A look-up asks as many Bloom filters at most.
	l0Files = 16
	// blockSize is the size of the blocks of a table, in bytes. A tip has some 3 KB: with Pebble's
	// 4 KiB it was a block of its own.
	blockSize = 32 << 10
)

// library is Pebble.
type library struct{}

func (library) Open(dir string, o tipstore.Options, to tipstore.Events) (tipstore.DB, error) {
	options := &pebble.Options{
		DisableWAL: true, MemTableSize: uint64(max(o.Cache/memTables, 256<<10)), MemTableStopWritesThreshold: 4, ReadOnly: o.ReadOnly, Logger: logger{to},
		FormatMajorVersion: pebble.FormatNewest, CacheSize: o.Cache, MaxOpenFiles: 500,
		CompactionConcurrencyRange: func() (int, int) { return 1, 1 },
		L0CompactionThreshold:      l0Files, L0StopWritesThreshold: 4 * l0Files,
	}
	for i := range options.Levels {
		options.Levels[i].FilterPolicy, options.Levels[i].BlockSize = bloom.FilterPolicy(10), blockSize
	}
	options.EventListener = &pebble.EventListener{
		BackgroundError: to.Retried, DataCorruption: func(info pebble.DataCorruptionInfo) { to.Corrupt(info.Path, info.Details) },
		WriteStallBegin: func(pebble.WriteStallBeginInfo) { to.Stalled(true) }, WriteStallEnd: func() { to.Stalled(false) },
	}
	switch {
	case o.Dir == "":
		options.FS = vfs.NewMem()
	case o.ReadOnly:
		options.FS = unlocked{vfs.Default}
	case o.Room != nil:
		options.FS = vfs.OnDiskFull(vfs.Default, to.WaitForRoom)
	}
	db, err := pebble.Open(dir, options)
	if err != nil {
		return nil, err
	}
	return database{db}, nil
}

// unlocked are files that may be on a read-only disk: Pebble's own lock cannot be made there. The
// folder's lock keeps other processes away.
type unlocked struct{ vfs.FS }

// Lock locks a file, if the disk lets it.
func (u unlocked) Lock(name string) (io.Closer, error) {
	held, err := u.FS.Lock(name)
	if err != nil && tipstore.Denied(err) {
		return io.NopCloser(nil), nil
	}
	return held, err
}

func (library) IsCorruption(err error) bool { return pebble.IsCorruptionError(err) }

type logger struct{ to tipstore.Events }

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}

// Fatalf reports a failure after which Pebble cannot work. It never returns, as Pebble expects: the
// process stops.
func (l logger) Fatalf(format string, args ...any) {
	l.to.Fatal(fmt.Errorf("tipstore: "+format, args...))
}

type database struct{ db *pebble.DB }

func (d database) Get(key []byte) ([]byte, io.Closer, error) { return found(d.db.Get(key)) }

func found(value []byte, closer io.Closer, err error) ([]byte, io.Closer, error) {
	if errors.Is(err, pebble.ErrNotFound) {
		err = tipstore.ErrNotFound
	}
	return value, closer, err
}

func (d database) Search() (tipstore.Iterator, error) {
	return d.db.NewIter(&pebble.IterOptions{UseL6Filters: true})
}

func (d database) NewBatch(size int) tipstore.Writes { return writes{d.db.NewBatchWithSize(size)} }

func (d database) NewSnapshot() tipstore.Snapshot { return snapshot{d.db.NewSnapshot()} }

func (d database) Flush() (<-chan struct{}, error) { return d.db.AsyncFlush() }

func (d database) Close() error { return d.db.Close() }

func (d database) Tables() (all []tipstore.Table, err error) {
	levels, err := d.db.SSTables()
	for _, level := range levels {
		for _, file := range level {
			all = append(all, tipstore.Table{Smallest: file.Smallest.UserKey, Size: file.Size})
		}
	}
	return all, err
}

type writes struct{ b *pebble.Batch }

func (w writes) Set(key, value []byte) error { return w.b.Set(key, value, nil) }
func (w writes) Delete(key []byte) error     { return w.b.Delete(key, nil) }
func (w writes) Commit() error               { return w.b.Commit(pebble.NoSync) }
func (w writes) Len() int                    { return w.b.Len() }

type snapshot struct{ view *pebble.Snapshot }

func (s snapshot) Get(key []byte) ([]byte, io.Closer, error) { return found(s.view.Get(key)) }

func (s snapshot) Range(from, before []byte) (tipstore.Iterator, error) {
	return s.view.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: before})
}

func (s snapshot) Close() error { return s.view.Close() }
