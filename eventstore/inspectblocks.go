package eventstore

import (
	"errors"
	"fmt"
	"os"

	"payledger/eventstore/blocks"
)

// begins checks that a segment of the log begins with the sequence in its description: no message is ever deleted from it. from
// is the first block that was read; if it is not the first file, begins reads the first message. A gap in the numbers of the
// block files is no fault: the server drops a block that holds no message yet, and continues with the next number.
func (in *inspection) begins(name, folder string, report blocks.Report, from int) error {
	files, err := blocks.Files(folder)
	if err != nil || len(files) == 0 {
		return err
	}
	meta, err := blocks.CheckMeta(folder, name)
	if err != nil {
		return nil // a damaged description is reported by complete
	}
	first, wanted := report.First, max(1, meta.FirstSeq)
	if from > files[0].Number {
		message, err := blocks.ReadBlock(files[0].Path, name, blocks.Options{Deletes: true, Through: wanted})
		if err != nil {
			return fmt.Errorf("eventstore: %w", err)
		}
		if message.Kind > blocks.Stopped {
			return nil // the scrub, or the first read, reports damage in a closed segment
		}
		first = message.First
	}
	if first > wanted {
		return in.damaged(name, wanted, fmt.Sprintf("it begins with %d", first))
	}
	return nil
}

// unfinished reports whether the creation of a stream was cut short: its description or the checksum of it is missing, and the
// stream has no message. The first block of a later segment may hold a tombstone for the sequence before the segment.
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

// indexed reports whether the server has an index of a whole closed segment: then it reads no block of it.
func indexed(name, folder string) bool {
	index, ok := blocks.ReadIndex(folder, name)
	return ok && index.Last > 0
}
