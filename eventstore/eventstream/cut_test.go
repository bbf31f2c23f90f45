package eventstream_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"payledger/eventstore/blocks"
	"payledger/eventstore/eventstream"
)

// rigIn starts a server on a folder.
func rigIn(t testing.TB, dir string, cut func(fault string)) *rig {
	t.Helper()
	server, err := eventstream.Start(eventstream.Config{Dir: dir, Listen: "127.0.0.1:0", Derive: derive, Memory: 64 << 20, Cut: cut})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	writer, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(writer.Close)
	return &rig{Server: server, writer: writer}
}

// blockFiles returns the paths of the stream's blocks, oldest first.
func blockFiles(t testing.TB, dir string) (paths []string) {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "EVENTS"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("the folder of the stream is %v, %v", folders, err)
	}
	files, err := blocks.Files(folders[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	return paths
}

func contents(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Places in a record, and the mark of a header in its length.
const (
	ofSequence = 4
	ofSubject  = 22 // the fields before it have a fixed length
	hasHeader  = 1 << 31
)

// records returns the places of the records in the contents of a block.
func records(data []byte) (places []int) {
	for place := 0; place < len(data); place += int(binary.LittleEndian.Uint32(data[place:]) &^ hasHeader) {
		places = append(places, place)
	}
	return places
}

// damage writes a block with another byte at a place.
func damage(t testing.TB, path string, good []byte, place int) {
	t.Helper()
	data := slices.Clone(good)
	data[place] ^= 0x20
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedByte: a start cuts off the newest block before the first damaged message, whichever
// byte of the message is damaged, and reports it. The stream can be continued there.
func TestDamagedByte(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := rigIn(t, dir, nil)
	if err := r.writer.Create(t.Context(), 1, 0); err != nil {
		t.Fatal(err)
	}
	r.write(t, 20, 10)
	r.Close()
	path := blockFiles(t, dir)[0]
	good := contents(t, path)
	const nth = 10
	begin, end := records(good)[nth-1], records(good)[nth]
	header := begin + ofSubject + int(binary.LittleEndian.Uint16(good[begin+ofSubject-2:])) // the length of the header
	for place := begin; place < end; place++ {
		if place >= begin+ofSubject && place%16 != 0 && (place < header || place >= header+4) && place != end-1 {
			continue // a sample of the subject, the header, the body and the checksum
		}
		damage(t, path, good, place)
		var cuts []string
		r := rigIn(t, dir, func(fault string) { cuts = append(cuts, fault) })
		state, err := r.writer.State(t.Context())
		if want := (eventstream.State{First: 1, Last: nth - 1, Whole: true}); err != nil || state != want || len(cuts) != 1 {
			t.Errorf("byte %d of %d: the stream is %+v, %v; reported: %q", place-begin, end-begin, state, err, cuts)
		}
		if r.last = state.Last; !t.Failed() {
			r.write(t, 2, 10)
		}
		r.Close()
	}
}
