package blocks

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrUnsupported means that a stream is compressed or encrypted: this package cannot read it.
var ErrUnsupported = errors.New("blocks: the stream is compressed or encrypted")

// Folder returns the folder of a stream.
func Folder(dir, account, stream string) string {
	return filepath.Join(dir, "jetstream", account, "streams", stream)
}

// purging is the folder of the block that a purge leaves, until it takes the place of msgs.
const purging = "__new_msgs__"

// File is one block file.
type File struct {
	Number int
	Path   string
}

// Files returns the block files of a stream in the order of their numbers, given the stream's
// folder.
func Files(folder string) ([]File, error) {
	var msgs string
	var entries []os.DirEntry
	var err error
	for _, name := range []string{"msgs", purging, "msgs"} { // msgs is not there between the two renames of a purge
		msgs = filepath.Join(folder, name)
		if entries, err = os.ReadDir(msgs); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("blocks: %w", err)
	}
	var files []File
	for _, e := range entries {
		if n, ok := number(e.Name()); ok {
			files = append(files, File{n, filepath.Join(msgs, e.Name())})
		}
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Number, b.Number) })
	return files, nil
}

// number returns the number of a block file. The server ignores other names, among them 7.new and
// 7.blk.tmp.
func number(name string) (int, bool) {
	digits, ok := strings.CutSuffix(name, ".blk")
	n, err := strconv.ParseUint(digits, 10, 32)
	return int(n), ok && err == nil && strconv.FormatUint(n, 10) == digits
}

// FirstIn returns the sequence in the first record of a block file, unchecked; 0 if there is none
// yet. No message has the sequence 0: for it FirstIn returns the largest number, which none has
// either.
func FirstIn(path string) (uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("blocks: %w", err)
	}
	defer f.Close() // it was only read
	var record [emptyLen]byte
	n, err := io.ReadFull(f, record[:])
	switch {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return 0, fmt.Errorf("blocks: %w", err)
	case n < headLen:
		return 0, nil
	}
	seq := readHead(record[:]).seq
	if seq == 0 && n == emptyLen {
		seq = math.MaxUint64
	}
	return seq, nil
}

// FirstMessageIn returns the sequence of the first message in a block file, unchecked; 0 if there
// is none yet. Marks of deleted messages may come before it.
func FirstMessageIn(path string) (uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("blocks: %w", err)
	}
	defer f.Close() // it was only read
	for in := bufio.NewReader(f); ; {
		b, err := in.Peek(headLen)
		if err == nil {
			h := readHead(b)
			if !h.tombstone || h.suspicious != "" {
				return h.seq, nil
			}
			_, err = in.Discard(emptyLen)
		}
		if errors.Is(err, io.EOF) {
			return 0, nil
		}
		if err != nil {
			return 0, fmt.Errorf("blocks: %w", err)
		}
	}
}
