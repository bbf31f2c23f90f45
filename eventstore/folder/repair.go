package folder

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"payledger/eventstore/blocks"
)

// The files in a stream's folder that the server writes in two steps. A test compares their names
// with the server's.
const (
	Description    = "meta.inf"
	DescriptionSum = "meta.sum"
)

// Repair removes the files from the server's folder of streams that would mislead a start. The
// folder may not exist yet.
func Repair(streams string) error {
	entries, err := os.ReadDir(streams)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("eventstore: %w", err)
	}
	for _, entry := range entries {
		stream := filepath.Join(streams, entry.Name())
		if err := errors.Join(dropUnfinished(stream), dropStaleIndex(stream)); err != nil {
			return fmt.Errorf("eventstore: %w", err)
		}
	}
	return nil
}

// dropUnfinished removes the description of a stream whose creation was cut short between the
// writes of its description and of the checksum. The server skips such a stream at the start. When
// the stream is created again, the server keeps the description and never writes the checksum
// (nats-server filestore.go, newFileStore). It would then skip the stream with its messages at
// every later start.
func dropUnfinished(stream string) error {
	_, err := os.Stat(filepath.Join(stream, DescriptionSum))
	if !errors.Is(err, os.ErrNotExist) {
		return nil //nolint:nilerror // the start reports an unreadable file
	}
	return remove(filepath.Join(stream, Description))
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// dropStaleIndex removes the index of a stream whose newest block ends with zeroes or before its
// first checksum. A block that the server finished does not end so. A power failure leaves such an
// end if the file grew and its new pages were not written.
//
// The server trusts an index that names the last eight bytes of the newest block. An index that was
// written when that block was still empty names zeroes. With this index the server would take a
// block with a torn end as empty, and all of its messages as never written (nats-server
// filestore.go, recoverFullState and lastChecksum). Without an index the server reads the blocks of
// the stream, and cuts the torn end off.
func dropStaleIndex(stream string) error {
	files, err := blocks.Files(stream)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil || len(files) == 0 {
		return err
	}
	torn, err := endsTorn(files[len(files)-1].Path)
	if torn {
		return DropIndex(stream)
	}
	return err
}

// DropIndex removes the index of a stopped server's stream. The server then reads all blocks of the
// stream, with their checksums, and cuts a torn end.
func DropIndex(stream string) error { return remove(filepath.Join(stream, "msgs", "index.db")) }

// endsTorn reports whether a block ends with zeroes or within its first checksum. It returns false
// for an empty block.
func endsTorn(block string) (bool, error) {
	f, err := os.Open(block)
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
	return err == nil && end == [8]byte{}, err
}

// Unfinished reports whether the creation of a stream was cut short: its description or the
// checksum of it is missing, and the stream has no message. The first block of a later segment may
// hold a tombstone for the sequence before the segment.
func Unfinished(folder, name string) (bool, error) {
	if _, err := blocks.CheckMeta(folder, name); !errors.Is(err, blocks.ErrMeta) || !errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	files, err := blocks.Files(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("eventstore: %w", err)
	}
	for _, f := range files {
		result, err := blocks.ReadBlock(f.Path, name, blocks.Options{Deletes: true})
		if err != nil {
			return false, fmt.Errorf("eventstore: %w", err)
		}
		if result.Messages > 0 || result.Kind == blocks.Damaged {
			return false, nil // Verify reports the damage
		}
	}
	return true, nil
}

// Remove removes the folders of dropped streams, which a crash left while the server deleted them.
func Remove(dir, account string, dropped func(stream string) bool) error {
	names, err := blocks.Streams(dir, account)
	for _, name := range names {
		if err == nil && dropped(name) {
			err = os.RemoveAll(blocks.Folder(dir, account, name))
		}
	}
	return err
}

// Copy copies a file and syncs the copy.
func Copy(from, to string) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
