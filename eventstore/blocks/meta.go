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
	Text     []byte            `json:"-"` // the whole of it
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
	m.Text = text
	return m, nil
}

// Trusted reports whether a server that starts will read none of several blocks: index.db is good,
// and names the end of the newest block. If no block of the stream may be gone, none must be: the
// server would read all blocks.
func Trusted(folder, stream string, mayBeGone bool) bool {
	files, err := Files(folder)
	named, ok := readIndex(folder, stream)
	if err != nil || !ok || len(files) < 2 {
		return false
	}
	newest := files[len(files)-1]
	if !mayBeGone && newest.Number-files[0].Number >= len(files) {
		return false
	}
	f, err := os.Open(newest.Path)
	if err != nil {
		return false
	}
	defer f.Close()      // it was only read
	var end [sumLen]byte // zeroes for a block that is shorter, as the server has it
	info, err := f.Stat()
	if err == nil && info.Size() >= sumLen {
		_, err = f.ReadAt(end[:], info.Size()-sumLen)
	}
	place := append(binary.AppendUvarint(nil, uint64(newest.Number)), end[:]...)
	return err == nil && bytes.HasSuffix(named.state, place) && end != [sumLen]byte{}
}
