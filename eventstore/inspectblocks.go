package eventstore

import (
	"errors"
	"fmt"
	"os"

	"payledger/eventstore/blocks"
)

// begins checks that a segment begins as its description says, if its first block was read: nothing is ever deleted from a
// segment of the log. A gap in the numbers of the block files is no fault, as the server drops a block that holds no message
// yet and then goes on with the next number.
func (in *inspection) begins(name, folder string, report blocks.Report, ours bool, from int) error {
	files, err := blocks.Files(folder)
	if err != nil || !ours || len(files) == 0 {
		return err
	}
	meta, err := blocks.CheckMeta(folder, name)
	if err == nil && from <= files[0].Number && report.First > max(1, meta.FirstSeq) {
		return in.damaged(name, max(1, meta.FirstSeq), fmt.Sprintf("it begins with %d", report.First))
	}
	return nil // a damaged description is reported by complete
}

// unfinished reports whether the creation of a stream was cut short: its description is not whole, and it has no message.
// The block of a segment that goes on from another one may hold a mark of its first sequence.
func unfinished(folder, name string) (bool, error) {
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

// indexed reports whether the server has an index of all of a closed segment: then it reads no block of it.
func indexed(name, folder string) bool {
	index, ok := blocks.ReadIndex(folder, name)
	return ok && index.Last > 0
}
