package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"payledger/eventstore/blocks"
)

// CutDamaged prepares a stream that can be written again for the start of its server, given the
// stream's folder. It removes the index, and cuts off the uncompressed blocks at their first bad
// record. A server that starts cuts at a wrong checksum, too. It trusts the length of a header,
// which the checksum does not cover, and reports nothing. cut gets each fault but a torn tail; nil:
// they are not reported.
func CutDamaged(path, stream string, cut func(fault string)) error {
	if err := dropIndex(path); err != nil && !errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("folder: %w", err)
	}
	files, _ := blocks.Files(path) // none: there is no stream, or the server cannot read it either
	for i, f := range files {
		result, err := blocks.ReadBlock(f.Path, stream, blocks.Options{Deletes: true})
		if err != nil || result.Kind < blocks.Torn { // compressed; if it cannot be read, the server leaves the stream out
			continue
		}
		if err := os.Truncate(f.Path, result.End); err != nil {
			return fmt.Errorf("folder: %w", err)
		}
		torn := result.Kind == blocks.Torn && i == len(files)-1 // by a power failure
		if cut != nil && !torn {
			cut(result.Faults[0].String())
		}
	}
	return nil
}

// Uncompressed looks at the uncompressed blocks of a stream while its server runs: the newest
// block, and blocks that a killed process did not compress. The server reads them without a check
// of all records. Other blocks are compressed, with checksums: there the server reports an error.
type Uncompressed struct {
	path, stream string
	compressed   map[int]bool      // by the number of the block
	seen         map[int]fileState // of blocks without a fault, by the number of the block
	looks        int
}

type fileState struct {
	size    int64
	changed time.Time
}

// NewUncompressed returns the looks at a stream, given its folder.
func NewUncompressed(path, stream string) *Uncompressed {
	return &Uncompressed{path: path, stream: stream, compressed: map[int]bool{}, seen: map[int]fileState{}}
}

// rereadAfter is the number of looks after which files that have not changed are read again.
const rereadAfter = 10

// Look returns the first fault of the blocks, or "". last is the stream's newest message, from
// before the call. A block that is being written may look damaged.
func (u *Uncompressed) Look(last uint64) (fault string, err error) {
	if u.looks++; u.looks%rereadAfter == 0 {
		clear(u.seen)
	}
	files, err := blocks.Files(u.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(files) == 0 {
		return "the files of the messages are missing", nil
	}
	for i, f := range files {
		newest := i == len(files)-1
		fault, err = u.block(f, last, newest)
		if errors.Is(err, fs.ErrNotExist) {
			if !newest {
				continue // its messages are older than the retention
			}
			return fmt.Sprintf("%s is missing", f.Path), nil
		}
		if err != nil || fault != "" {
			break
		}
	}
	return fault, err
}

func (u *Uncompressed) block(f blocks.File, last uint64, newest bool) (fault string, err error) {
	if u.compressed[f.Number] {
		return "", nil
	}
	info, err := os.Stat(f.Path)
	if err != nil {
		return "", fmt.Errorf("folder: %w", err)
	}
	now := fileState{info.Size(), info.ModTime()}
	if now == u.seen[f.Number] {
		return "", nil
	}
	result, err := blocks.ReadBlock(f.Path, u.stream, blocks.Options{Deletes: true, Through: last})
	switch {
	case errors.Is(err, blocks.ErrUnsupported):
		u.compressed[f.Number] = true
		return "", nil
	case err != nil:
		return "", err
	case result.Kind == blocks.Damaged, result.Kind == blocks.Torn && !newest:
		return result.Faults[0].String(), nil
	case newest && result.Last < last:
		return fmt.Sprintf("%s ends after message %d, not %d", f.Path, result.Last, last), nil
	}
	u.seen[f.Number] = now
	return "", nil
}
