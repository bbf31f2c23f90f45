package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"payledger/eventstore/disk"
	"payledger/eventstore/streams"
)

// description is the file with a stream's description. A test compares its name with the server's.
const description = "meta.inf"

// tails is the folder of the copies of torn tails.
const tails = "torn"

// Repair prepares the folder of a stopped server for a start. read has the results of reading its
// streams; none of them is damage.
//
// A torn tail is copied before the server cuts it off, but none of SECRETS: a value that is
// destroyed later must not survive in a copy. The index of its stream is removed, so that the
// server reads the blocks and cuts the tail: it trusts an index that names the last eight bytes of
// the newest block, and a torn tail can end with these bytes. Then the server takes what stands in
// the place of a sequence for one, and enters each sequence before that one as deleted, until it
// has no memory left (nats-server filestore.go, indexCacheBuf). An index that was written when the
// block was empty names zeroes, which a power failure leaves, too. With it the server takes the
// block as empty, and all of its messages as never written (recoverFullState and lastChecksum).
//
// The description of a stream whose creation was cut short before the checksum of the description
// is removed. The server skips such a stream at the start. When the stream is created again, the
// server keeps the description and never writes the checksum (newFileStore). It would then skip the
// stream with its messages at every later start.
func Repair(dir string, read map[string]Found) error {
	for name, f := range read {
		var err error
		switch {
		case f.Unfinished:
			err = remove(filepath.Join(of(dir, name), description))
		case f.Torn != nil:
			if err = f.keepTail(dir); err == nil {
				err = dropIndex(of(dir, name))
			}
		}
		if err != nil {
			return fmt.Errorf("eventstore: %s cannot be prepared for a start: %w", name, err)
		}
	}
	return nil
}

// keepTail copies the file with the torn tail. A copy under its name is whole and on the disk.
func (f Found) keepTail(dir string) error {
	if streams.KindIn(f.Stream).Destroys {
		return nil
	}
	to := filepath.Join(dir, tails, fmt.Sprintf("%s-%d-%d.blk", f.Stream, f.Torn.in.Block, f.Torn.in.End))
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	in, err := os.Open(f.Torn.in.Path)
	if err != nil {
		return err
	}
	defer in.Close() // it was only read
	err = disk.Fill(to, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
	if err != nil {
		return err
	}
	return disk.SyncFolder(dir)
}

// dropIndex removes the index of a stopped server's stream. The server then reads all blocks of the
// stream, with their checksums.
func dropIndex(stream string) error { return remove(filepath.Join(stream, "msgs", "index.db")) }

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Remains returns the folders that exist of a shard's segments up to a number, which were dropped.
// The server renames a folder before it removes the folder's files, and a crash can come between.
func Remains(dir string, shard int, dropped uint32) (paths []string, err error) {
	entries, err := os.ReadDir(home(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("eventstore: %w", err)
	}
	for _, e := range entries {
		if n := streams.Number(shard, strings.TrimPrefix(e.Name(), ".")); n > 0 && n <= dropped {
			paths = append(paths, filepath.Join(home(dir), e.Name()))
		}
	}
	return paths, nil
}

// Clean removes the folders of a shard's segments up to a number, which were dropped.
func Clean(dir string, shard int, dropped uint32) error {
	remains, err := Remains(dir, shard, dropped)
	for _, path := range remains {
		err = errors.Join(err, os.RemoveAll(path))
	}
	if err != nil {
		return fmt.Errorf("eventstore: %w", err)
	}
	return nil
}
