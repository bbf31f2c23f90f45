package eventstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// dropStaleIndexes removes the index of every stream whose newest block ends with zeroes or before its first checksum. A block
// that the server finished does not end so. A power failure leaves such an end if the file grew and its new pages were not
// written.
//
// The server trusts an index that names the last eight bytes of the newest block. An index that was written when that block was
// still empty names zeroes. With this index the server would take a block with a torn end as empty, and all of its messages as
// never written (nats-server filestore.go, recoverFullState and lastChecksum). Without an index the server reads the blocks of
// the stream, and cuts the torn end off.
func dropStaleIndexes(dir string) error {
	streams, err := os.ReadDir(streamsFolder(dir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("eventstore: %w", err)
	}
	for _, stream := range streams {
		messages := filepath.Join(streamsFolder(dir), stream.Name(), "msgs")
		torn, err := newestBlockTorn(messages)
		if err == nil && torn {
			err = os.Remove(filepath.Join(messages, "index.db"))
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("eventstore: %w", err)
		}
	}
	return nil
}

// newestBlockTorn reports whether the newest block of a stream ends with zeroes or within its first checksum. It returns false
// for an empty block.
func newestBlockTorn(messages string) (bool, error) {
	entries, err := os.ReadDir(messages)
	if err != nil {
		return false, err
	}
	newest := 0
	for _, e := range entries {
		var number int
		if n, _ := fmt.Sscanf(e.Name(), "%d.blk", &number); n == 1 && e.Name() == fmt.Sprintf("%d.blk", number) {
			newest = max(newest, number)
		}
	}
	if newest == 0 {
		return false, nil
	}
	f, err := os.Open(filepath.Join(messages, fmt.Sprintf("%d.blk", newest)))
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	var end [8]byte
	if info.Size() < int64(len(end)) {
		return true, nil
	}
	_, err = f.ReadAt(end[:], info.Size()-int64(len(end)))
	return end == [8]byte{}, err
}
