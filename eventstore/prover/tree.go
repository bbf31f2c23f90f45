package prover

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"payledger/eventstore"
)

const (
	tileLevel = 6
	// tile is the number of events of a subtree whose root is stored.
	tile = 1 << tileLevel
	// flushAt is the number of hashes in memory after which they are written to the file.
	flushAt = 1024
)

// tree has the stored hashes: those of the file first, then those in memory.
type tree struct {
	mu       sync.Mutex
	file     *os.File // nil: all hashes are in memory
	writable bool
	written  int64 // hashes in the file
	memory   []tlog.Hash
	tiles    int64       // complete subtrees whose roots are stored
	tail     []tlog.Hash // leaves after the last complete subtree
}

// openTree opens the file, or makes an empty one. If it cannot, the hashes stay in memory.
func openTree(path string, writable bool) (*tree, error) {
	t := &tree{writable: writable}
	flags := os.O_RDONLY
	if writable {
		flags = os.O_RDWR | os.O_CREATE
	}
	var err error
	t.file, err = os.OpenFile(path, flags, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, fmt.Errorf("prover: %w", err)
	}
	info, err := t.file.Stat()
	if err != nil {
		return t, fmt.Errorf("prover: %w", err)
	}
	t.written = info.Size() / tlog.HashSize
	t.tiles = int64(sort.Search(int(t.written), func(n int) bool { return tlog.StoredHashCount(int64(n)+1) > t.written }))
	t.written = tlog.StoredHashCount(t.tiles)
	return t, nil
}

// size returns the number of events whose hashes are here.
func (t *tree) size() int64 { return t.tiles*tile + int64(len(t.tail)) }

func (t *tree) add(leaf tlog.Hash) error {
	t.tail = append(t.tail, leaf)
	if len(t.tail) < tile {
		return nil
	}
	hashes, err := tlog.StoredHashesForRecordHash(t.tiles, rootOf(t.tail), tlog.HashReaderFunc(t.stored))
	if err != nil {
		return fmt.Errorf("prover: %w", err)
	}
	t.memory, t.tail = append(t.memory, hashes...), t.tail[:0]
	t.tiles++
	return nil
}

// rootOf returns the root of a complete subtree.
func rootOf(leaves []tlog.Hash) tlog.Hash {
	if len(leaves) == 1 {
		return leaves[0]
	}
	half := len(leaves) / 2
	return tlog.NodeHash(rootOf(leaves[:half]), rootOf(leaves[half:]))
}

var errHashes = errors.New("prover: wrong stored hashes")

func (t *tree) stored(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		switch {
		case index < t.written:
			if _, err := t.file.ReadAt(hashes[i][:], index*tlog.HashSize); err != nil {
				return nil, fmt.Errorf("%w: %w", errHashes, err)
			}
		case index-t.written < int64(len(t.memory)):
			hashes[i] = t.memory[index-t.written]
		default:
			return nil, fmt.Errorf("%w: hash %d is missing", errHashes, index)
		}
	}
	return hashes, nil
}

func (t *tree) flush() error {
	if t.file == nil || !t.writable || len(t.memory) == 0 {
		return nil
	}
	b := make([]byte, 0, len(t.memory)*tlog.HashSize)
	for _, h := range t.memory {
		b = append(b, h[:]...)
	}
	if _, err := t.file.WriteAt(b, t.written*tlog.HashSize); err != nil {
		return fmt.Errorf("prover: %w", err)
	}
	t.written, t.memory = t.written+int64(len(t.memory)), t.memory[:0]
	return nil
}

func (t *tree) reset() error {
	t.written, t.tiles, t.memory, t.tail = 0, 0, nil, nil
	if t.file == nil || !t.writable {
		t.file = nil // nothing of it counts
		return nil
	}
	if err := t.file.Truncate(0); err != nil {
		return fmt.Errorf("prover: %w", err)
	}
	return nil
}

func (t *tree) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.flush()
	if t.file != nil {
		err = errors.Join(err, t.file.Close())
		t.file = nil
	}
	return err
}

func leafOf(h eventstore.Hash) tlog.Hash { return tlog.RecordHash(h[:]) }
