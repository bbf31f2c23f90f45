package archive

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"payledger/eventstore/blocks"
	"payledger/eventstore/folder"
	"payledger/eventstore/streams"
)

const tornFolder = "torn"

// keepTorn copies the block files whose torn tail the server will cut, and removes the indexes of
// their streams. It copies no secrets, and removes copies of secrets that earlier versions made: a
// value that is destroyed later must not survive in a copy.
//
// The server trusts an index that names the last eight bytes of the newest block. A torn tail can
// end with these bytes. Then the server does not cut it, and takes what stands in the place of a
// sequence for one: it enters each sequence before that one as deleted, until it has no memory left
// (nats-server filestore.go, indexCacheBuf).
func (in *inspection) keepTorn() error {
	old, err := filepath.Glob(filepath.Join(in.dir, tornFolder, streams.Secrets+"_*"))
	for _, path := range old {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return fmt.Errorf("eventstore: a copy of secrets could not be removed: %w", err)
	}
	for _, name := range in.torn {
		if err := in.keepTornOf(name); err != nil {
			return err
		}
		if err := folder.DropIndex(blocks.Folder(in.dir, streams.Account, name)); err != nil {
			return fmt.Errorf("eventstore: the index of %s could not be removed: %w", name, err)
		}
	}
	return nil
}

// keepTornOf copies the file with the torn tail of a stream.
func (in *inspection) keepTornOf(name string) error {
	if streams.IsSecrets(name) {
		return nil
	}
	report := in.reports[name]
	torn := report.Blocks[len(report.Blocks)-1]
	i := slices.IndexFunc(report.Blocks, func(b blocks.Result) bool { return b.Kind == blocks.Torn })
	if i >= 0 {
		torn = report.Blocks[i]
	}
	files, err := blocks.Files(blocks.Folder(in.dir, streams.Account, name))
	if err != nil {
		return fmt.Errorf("eventstore: %w", err)
	}
	for _, f := range files {
		if f.Number != torn.Block {
			continue
		}
		to := filepath.Join(in.dir, tornFolder, fmt.Sprintf("%s-%d-%d.blk", name, f.Number, torn.End))
		if err := folder.Copy(f.Path, to); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("eventstore: a torn tail could not be copied: %w", err)
		}
	}
	return nil
}

// indexed reports whether the server will trust the index.db of a segment and read no block. An
// index of before the newest record, or one that names a block which is gone, makes the server read
// all blocks, and cut each at its first bad record.
func indexed(name, path string) bool {
	files, index, trusted := blocks.Trusted(path, name)
	return trusted && index.Last > 0 && files[len(files)-1].Number-files[0].Number == len(files)-1
}
