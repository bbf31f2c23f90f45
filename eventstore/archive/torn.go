package archive

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"payledger/eventstore/blocks"
	"payledger/eventstore/folder"
	"payledger/eventstore/sidelog"
	"payledger/eventstore/streams"
)

const tornFolder = "torn"

// keepTorn copies the block files whose torn tail the server will cut. It copies no secrets, and removes copies of secrets that earlier
// versions made: a value that is destroyed later must not survive in a copy.
func (in *inspection) keepTorn() error {
	old, err := filepath.Glob(filepath.Join(in.dir, tornFolder, sidelog.SecretStream+"_*"))
	for _, path := range old {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return fmt.Errorf("eventstore: a copy of secrets could not be removed: %w", err)
	}
	for _, name := range in.torn {
		if sidelog.IsSecrets(name) {
			continue
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
	}
	return nil
}
