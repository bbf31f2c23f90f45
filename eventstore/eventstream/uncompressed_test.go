package eventstream_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/s2"

	"payledger/eventstore/eventstream"
)

// TestUncompressedWhileServing: damage of the newest block, and of an older block that was not
// compressed, is found while the server runs, without a read by the server. It is sure after a
// second look.
func TestUncompressedWhileServing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := rigIn(t, dir, nil)
	if err := r.writer.Create(t.Context(), 1, 0); err != nil {
		t.Fatal(err)
	}
	r.write(t, 200, 100_000)
	r.Close()
	files := blockFiles(t, dir)
	oldest, newest := files[0], files[len(files)-1]
	decompress(t, oldest)
	r = rigIn(t, dir, func(fault string) { t.Errorf("a start has cut %s", fault) })
	state, err := r.writer.State(t.Context())
	if want := (eventstream.State{First: 1, Last: 200, Whole: true}); err != nil || state != want {
		t.Fatalf("the stream is %+v, %v", state, err)
	}
	for _, path := range []string{oldest, newest} {
		good := contents(t, path)
		check := r.Uncompressed()
		for _, want := range []struct{ damaged, found, sure bool }{{}, {true, true, false}, {true, true, true}, {}, {true, true, false}} {
			if damage(t, path, good, records(good)[2]+ofSequence+6); !want.damaged {
				if err := os.WriteFile(path, good, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if found, err := check.Check(t.Context(), state); err != nil || found.Sure != want.sure || (found.Fault != "") != want.found {
				t.Errorf("%s: %+v, %v; want %+v", filepath.Base(path), found, err, want)
			}
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// decompress writes a block as it was before its compression, which the stop may have prevented.
func decompress(t testing.TB, path string) {
	t.Helper()
	data := contents(t, path)
	const mark, sum = "cmp\x01", 8
	rest, compressed := bytes.CutPrefix(data, []byte(mark))
	if !compressed {
		return
	}
	_, n := binary.Uvarint(rest)
	end := len(rest) - sum
	plain, err := io.ReadAll(s2.NewReader(bytes.NewReader(rest[n:end])))
	if err == nil {
		err = os.WriteFile(path, append(plain, rest[end:]...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
