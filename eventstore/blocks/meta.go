package blocks

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"payledger/domain/exactjson"
)

// ErrMeta means that a meta.inf is missing, damaged, or another stream's. The server leaves such a
// stream out without an error.
var ErrMeta = errors.New("blocks: meta.inf is bad")

// Meta is the part of a description that this package needs.
type Meta struct {
	Name     string            `json:"name"`
	Subjects []string          `json:"subjects"`
	FirstSeq uint64            `json:"first_seq"`
	Metadata map[string]string `json:"metadata"`
}

// CheckMeta reads meta.inf in the folder of a stream or a consumer and compares it with the
// checksum in meta.sum. The name is the stream's, or "<stream>/<consumer>". The error wraps ErrMeta
// if the contents are bad. When the configuration changes, the server replaces the two files one
// after the other: in a running server a mismatch is damage only if it stays.
func CheckMeta(folder, name string) (Meta, error) {
	if _, err := os.Stat(filepath.Join(folder, "meta.key")); err == nil {
		return Meta{}, ErrUnsupported
	}
	text, err := os.ReadFile(filepath.Join(folder, "meta.inf"))
	if err == nil {
		var sum []byte
		if sum, err = os.ReadFile(filepath.Join(folder, "meta.sum")); err == nil {
			return parseMeta(text, sum, name)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Meta{}, fmt.Errorf("%w: %w", ErrMeta, err)
	}
	return Meta{}, fmt.Errorf("blocks: %w", err)
}

func parseMeta(text, sum []byte, name string) (Meta, error) {
	d := keyed(name)
	_, _ = d.Write(text)
	if hex.EncodeToString(d.Sum(nil)) != string(sum) {
		return Meta{}, fmt.Errorf("%w: %s: the checksum does not match", ErrMeta, name)
	}
	var m Meta
	if err := exactjson.Unmarshal(text, &m); err != nil {
		return Meta{}, fmt.Errorf("%w: %s: %w", ErrMeta, name, err)
	}
	return m, nil
}

// Index is the content of index.db about a stream. It may be older than the blocks.
type Index struct {
	Messages    uint64
	First, Last uint64
}

// Trusted reports whether a server that starts will read no block: index.db is good, and names the
// end of the newest block.
func Trusted(folder, stream string) (files []File, index Index, ok bool) {
	files, err := Files(folder)
	if err != nil || len(files) == 0 {
		return nil, Index{}, false
	}
	newest := files[len(files)-1]
	index, ok = ReadIndex(folder, stream)
	b, err := os.ReadFile(filepath.Join(folder, "msgs", "index.db"))
	if !ok || err != nil {
		return files, index, false
	}
	var end [sumLen]byte // zeroes for a block that is shorter, as the server has it
	f, err := os.Open(newest.Path)
	if err != nil {
		return files, index, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() >= sumLen {
		_, err = f.ReadAt(end[:], info.Size()-sumLen)
	}
	named := append(binary.AppendUvarint(nil, uint64(newest.Number)), end[:]...)
	return files, index, err == nil && bytes.HasSuffix(b[:len(b)-sumLen], named) && end != [sumLen]byte{}
}

// ReadIndex reads index.db; false if it is missing, bad, or of an unknown version: the server then
// reads the blocks, so this is no damage.
func ReadIndex(folder, stream string) (Index, bool) {
	b, err := os.ReadFile(filepath.Join(folder, "msgs", "index.db"))
	if err != nil || len(b) < 32 {
		return Index{}, false
	}
	b, sum := b[:len(b)-sumLen], b[len(b)-sumLen:]
	d := keyed(stream)
	_, _ = d.Write(b)
	if string(d.Sum(nil)) != string(sum) || b[0] != 11 || b[1] < 1 || b[1] > 4 {
		return Index{}, false
	}
	b = b[2:]
	var values [5]uint64 // messages, bytes, first sequence, its time (signed, unused), last sequence
	for i := range values {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return Index{}, false
		}
		values[i], b = v, b[n:]
	}
	return Index{values[0], values[2], values[4]}, true
}
