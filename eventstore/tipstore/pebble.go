package tipstore

import (
	"errors"
	"io"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// engine is the store's use of Pebble. It names none of Pebble's types: an importer of this package
// would compile their generic parts again (25 CPU-s over the whole build).
type engine interface {
	getter
	search() (iterator, error) // finds one key, by the Bloom filters of all levels
	batch(size int) batch
	snapshot() snapshot
	flush() (done <-chan struct{}, err error)
	tables() ([]table, error)
	memory() (memory, disk uint64) // bytes
	io.Closer
}

type getter interface {
	// Get returns a value that is valid until closer is closed, or ErrNotFound.
	Get(key []byte) (value []byte, closer io.Closer, err error)
}

type batch interface {
	set(key, value []byte) error
	delete(key []byte) error
	commit() error // without a sync
	Len() int
}

type snapshot interface {
	getter
	between(from, before []byte) (iterator, error)
	io.Closer
}

type iterator interface {
	SeekPrefixGE(key []byte) bool
	First() bool
	Next() bool
	Key() []byte
	ValueAndErr() ([]byte, error)
	io.Closer
}

// table is one file of the store.
type table struct {
	smallest []byte // key
	size     uint64 // bytes
}

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

// openPebble opens Pebble for s.
func openPebble(s *Store, dir string, o Options) (engine, error) {
	options := &pebble.Options{
		DisableWAL: true, MemTableSize: uint64(max(o.Cache/memTables, 256<<10)), MemTableStopWritesThreshold: 4, ReadOnly: o.ReadOnly, Logger: logger{s},
		FormatMajorVersion: pebble.FormatNewest, CacheSize: o.Cache, MaxOpenFiles: 500,
		CompactionConcurrencyRange: func() (int, int) { return 1, 1 },
		L0CompactionThreshold:      l0Files, L0StopWritesThreshold: 4 * l0Files,
	}
	for i := range options.Levels {
		options.Levels[i].FilterPolicy, options.Levels[i].BlockSize = bloom.FilterPolicy(10), blockSize
	}
	options.EventListener = &pebble.EventListener{
		BackgroundError: s.retried, DataCorruption: func(info pebble.DataCorruptionInfo) { s.corrupt(info.Path, info.Details) },
		WriteStallBegin: func(pebble.WriteStallBeginInfo) { s.stalled.Store(true) }, WriteStallEnd: func() { s.stalled.Store(false) },
	}
	switch {
	case o.Dir == "":
		options.FS = vfs.NewMem()
	case o.ReadOnly:
		options.FS = unlocked{vfs.Default}
	case o.Room != nil:
		options.FS = vfs.OnDiskFull(vfs.Default, s.waitForRoom)
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
	if err != nil && denied(err) {
		return io.NopCloser(nil), nil
	}
	return held, err
}

// denied reports whether an error says that a file may not be written.
func denied(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM)
}

func isCorruption(err error) bool { return pebble.IsCorruptionError(err) }

type database struct{ db *pebble.DB }

func (d database) Get(key []byte) ([]byte, io.Closer, error) { return found(d.db.Get(key)) }

func found(value []byte, closer io.Closer, err error) ([]byte, io.Closer, error) {
	if errors.Is(err, pebble.ErrNotFound) {
		err = ErrNotFound
	}
	return value, closer, err
}

func (d database) search() (iterator, error) {
	return d.db.NewIter(&pebble.IterOptions{UseL6Filters: true})
}

func (d database) batch(size int) batch { return writes{d.db.NewBatchWithSize(size)} }

func (d database) snapshot() snapshot { return moment{d.db.NewSnapshot()} }

func (d database) flush() (<-chan struct{}, error) { return d.db.AsyncFlush() }

func (d database) Close() error { return d.db.Close() }

func (d database) memory() (memory, disk uint64) {
	m := d.db.Metrics()
	return uint64(m.BlockCache.Size) + m.MemTable.Size, m.DiskSpaceUsage()
}

func (d database) tables() (all []table, err error) {
	levels, err := d.db.SSTables()
	for _, level := range levels {
		for _, file := range level {
			all = append(all, table{file.Smallest.UserKey, file.Size})
		}
	}
	return all, err
}

type writes struct{ *pebble.Batch }

func (w writes) set(key, value []byte) error { return w.Set(key, value, nil) }
func (w writes) delete(key []byte) error     { return w.Delete(key, nil) }
func (w writes) commit() error               { return w.Commit(pebble.NoSync) }

type moment struct{ view *pebble.Snapshot }

func (m moment) Get(key []byte) ([]byte, io.Closer, error) { return found(m.view.Get(key)) }

func (m moment) between(from, before []byte) (iterator, error) {
	return m.view.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: before})
}

func (m moment) Close() error { return m.view.Close() }
