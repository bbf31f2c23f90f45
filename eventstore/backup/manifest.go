package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"payledger/domain/exactjson"
	"payledger/eventstore/disk"
)

// Endings of the names of files.
const (
	manifestEnding = ".manifest"
	messagesEnding = ".messages"
	keysEnding     = ".keys"
)

const manifestFormat = 2

// File describes a complete file of messages.
type File struct {
	Name     string `json:"name"`
	Stream   string `json:"stream"`
	First    uint64 `json:"first"` // sequence of the first message; 0 without a message
	Last     uint64 `json:"last"`
	Messages uint64 `json:"messages"`
	Bytes    int64  `json:"bytes"`
	SHA256   string `json:"sha256"` // of all bytes before the end of the file
}

// End is the end of a shard, of the log or beside it.
type End struct {
	Shard      int    `json:"shard"`
	Sequence   uint64 `json:"sequence"`
	Hash       string `json:"hash"` // of the last group
	Events     uint64 `json:"events"`
	Aggregates uint64 `json:"aggregates"`
}

// Manifest describes a complete run. A back-up consists of the files of all its manifests.
type Manifest struct {
	Format   int       `json:"format"`
	Number   uint64    `json:"number"`             // from 1; a later run has a higher number
	Time     time.Time `json:"time"`               // of the ends
	Previous string    `json:"previous,omitempty"` // SHA-256 of the manifest before; empty in the first
	Log      string    `json:"log"`                // id of the log
	Shards   int       `json:"shards"`
	Events   uint64    `json:"events"` // number of events of the log up to the ends
	Keys     string    `json:"keys"`   // SHA-256 of the file of keys with this number
	Ends     []End     `json:"ends"`
	// Checkpoint is the number of the newest checkpoint, which covers no event after the ends; 0 if
	// there is none.
	Checkpoint uint64 `json:"checkpoint"`
	// Streams are all streams of the log at the time of the run. Only these are restored.
	Streams []string `json:"streams"`
	Files   []File   `json:"files"` // new ones

	digest string // of the manifest's file
}

func (m *Manifest) end(shard int) End {
	i := slices.IndexFunc(m.Ends, func(e End) bool { return e.Shard == shard })
	if i < 0 {
		return End{Shard: shard}
	}
	return m.Ends[i]
}

func numbered(number uint64, ending string) string { return fmt.Sprintf("%06d%s", number, ending) }

// numberOf returns the number in a file's name; 0 if it has none.
func numberOf(name string) uint64 {
	digits, _, _ := strings.Cut(name, ".")
	digits, _, _ = strings.Cut(digits, "-")
	number, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0
	}
	return number
}

// digestLine begins the last line of a manifest.
const digestLine = "sha256 "

// write writes a manifest durably. It completes the run.
func (m *Manifest) write(dir string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	sum := sha256.Sum256(append(text, '\n'))
	m.digest = hex.EncodeToString(sum[:])
	return writeError(disk.Write(filepath.Join(dir, numbered(m.Number, manifestEnding)), []byte(string(text)+"\n"+digestLine+m.digest+"\n")))
}

func readManifest(path string) (*Manifest, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	damaged := func(reason string) error { return fmt.Errorf("%w: %s: %s", ErrDamaged, path, reason) }
	digestAt := bytes.LastIndex(text, []byte("\n"+digestLine)) + 1
	if digestAt == 0 {
		return nil, damaged("the manifest is cut off")
	}
	sum := sha256.Sum256(text[:digestAt])
	digest := hex.EncodeToString(sum[:])
	if string(text[digestAt:]) != digestLine+digest+"\n" {
		return nil, damaged("the manifest has changed since it was written: its checksum is wrong")
	}
	m := &Manifest{digest: digest}
	if err := exactjson.Unmarshal(text[:digestAt], m); err != nil {
		return nil, damaged(err.Error())
	}
	if m.Format != manifestFormat {
		return nil, fmt.Errorf("%s has format %d, and this version of payledger reads format %d: verify and restore this back-up with the version that made it, and name new folders for the back-ups of this one", path, m.Format, manifestFormat)
	}
	return m, nil
}

// Chain is a back-up: its manifests, oldest first.
type Chain struct {
	Dir       string
	Manifests []*Manifest
}

// ReadChain reads the manifests of a back-up, and checks that each names the one before. A folder
// without manifests has none.
func ReadChain(dir string) (*Chain, error) {
	c := &Chain{Dir: dir}
	names, err := filesIn(dir, manifestEnding)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(names, func(a, b string) int { return int(numberOf(a)) - int(numberOf(b)) })
	previous := ""
	for _, name := range names {
		path := filepath.Join(dir, name)
		m, err := readManifest(path)
		if err != nil {
			return nil, err
		}
		switch {
		case numbered(m.Number, manifestEnding) != name:
			return nil, fmt.Errorf("%w: %s is the manifest of run %d", ErrDamaged, path, m.Number)
		case m.Previous != previous:
			return nil, fmt.Errorf("%w: the manifest before %s is missing, or is another one", ErrDamaged, path)
		case len(c.Manifests) > 0 && m.Log != c.Manifests[0].Log:
			return nil, fmt.Errorf("%w: %s belongs to the back-up of another log", ErrDamaged, path)
		}
		c.Manifests, previous = append(c.Manifests, m), m.digest
	}
	return c, nil
}

// Newest returns the manifest of the last complete run; nil if there is none.
func (c *Chain) Newest() *Manifest {
	if len(c.Manifests) == 0 {
		return nil
	}
	return c.Manifests[len(c.Manifests)-1]
}

// Files returns the files of a stream in their order.
func (c *Chain) Files(stream string) (files []File) {
	for _, m := range c.Manifests {
		for _, f := range m.Files {
			if f.Stream == stream {
				files = append(files, f)
			}
		}
	}
	return files
}

// Check checks that every file of the newest manifest's streams exists with its size, and that the
// files of a stream follow each other.
func (c *Chain) Check() error {
	newest := c.Newest()
	if newest == nil {
		return nil
	}
	for _, stream := range newest.Streams {
		last := uint64(0)
		for _, f := range c.Files(stream) {
			path := filepath.Join(c.Dir, f.Name)
			info, err := os.Stat(path)
			switch {
			case errors.Is(err, os.ErrNotExist):
				return fmt.Errorf("%w: %s is missing", ErrDamaged, path)
			case err != nil:
				return fmt.Errorf("backup: %w", err)
			case info.Size() != f.Bytes:
				return fmt.Errorf("%w: %s has %d bytes instead of %d", ErrDamaged, path, info.Size(), f.Bytes)
			case f.Messages > 0 && last > 0 && f.First != last+1:
				return fmt.Errorf("%w: %s begins at sequence %d, but the file before it ends at %d", ErrDamaged, path, f.First, last)
			}
			last = max(last, f.Last)
		}
	}
	return nil
}
