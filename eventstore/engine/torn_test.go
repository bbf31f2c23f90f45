package engine_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/archive"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

// TestTornTailWithTheIndexsEnd: a torn tail that ends with the eight bytes which the server's index
// names, as a doubled one does, costs the stream its index before the server starts, and is cut.
// With the index the server takes a number in the tail for a sequence, and enters all sequences
// before as deleted, until it has no memory left.
func TestTornTailWithTheIndexsEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() (*embedded.Server, *engine.Store) {
		t.Helper()
		server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
		if err != nil {
			t.Fatal(err)
		}
		c := eventstoretest.Config(server)
		c.Shards = 1
		s, err := engine.Open(testContext(t), c)
		if err != nil {
			t.Fatal(err)
		}
		return server, s
	}
	server, s := open()
	key := newKey()
	mustAdd(t, s, key, added{N: 1})
	if err := errors.Join(s.Close(), server.Close()); err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(streamDir(dir, 0), "msgs", "index.db")
	if _, err := os.Stat(index); err != nil {
		t.Fatal(err) // else the server reads the blocks at the start
	}
	files, err := filepath.Glob(filepath.Join(streamDir(dir, 0), "msgs", "*.blk"))
	if err != nil || len(files) != 1 {
		t.Fatal(err, files)
	}
	block, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	edit(t, files[0], func(b []byte) []byte {
		record := lastRecord(t, b)
		binary.LittleEndian.PutUint64(record[4:], 1<<24) // the sequence; 1<<60 takes all memory
		return append(b, record...)
	})
	if err := archive.Inspect(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(index); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("the server starts with the index", err)
	}
	server, s = open()
	defer server.Close()
	if got, err := eventstore.Load(testContext(t), s, tallies, key, eventstore.Latest); err != nil || got.State.Sum != 1 {
		t.Errorf("%+v, %v", got.State, err)
	}
	mustAdd(t, s, key, added{N: 2})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile(files[0])
	if err != nil || !bytes.HasPrefix(now, block) {
		t.Fatal("the whole records have changed", err)
	}
	for rest := now; len(rest) > 0; {
		size := binary.LittleEndian.Uint32(rest) &^ (1 << 31)
		if seq := binary.LittleEndian.Uint64(rest[4:]); seq == 1<<24 {
			t.Fatal("the torn tail is still there")
		}
		rest = rest[size:]
	}
}

// lastRecord returns a copy of the last record of a server's block file: a length with a bit for
// headers, and a sequence come first.
func lastRecord(t *testing.T, b []byte) []byte {
	t.Helper()
	for {
		size := int(binary.LittleEndian.Uint32(b) &^ (1 << 31))
		if size == 0 || size > len(b) {
			t.Fatal("no record of a block")
		}
		if size == len(b) {
			return bytes.Clone(b)
		}
		b = b[size:]
	}
}
