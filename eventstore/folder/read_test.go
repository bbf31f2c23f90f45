package folder_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/embedded"
	"payledger/eventstore/folder"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

// made returns the folder of a stopped server, with two segments of a shard, the second of which
// has the messages 4 to 6, and an empty third one.
func made(t *testing.T) (dir string, segments []string) {
	t.Helper()
	dir = t.TempDir()
	server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	for number := uint32(1); number <= 3; number++ {
		name, subject := streams.Name(0, number), streams.Subject(0, number)
		if err == nil {
			_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{subject}, FirstSeq: uint64(3*number - 2)})
		}
		for range 3 {
			if err == nil && number < 3 {
				_, err = js.Publish(t.Context(), subject, []byte("message of "+name))
			}
		}
		segments = append(segments, name)
	}
	nc.Close()
	if err = errors.Join(err, server.Close()); err != nil {
		t.Fatal(err)
	}
	return dir, segments
}

// read reads a stream, and returns the sequences of its messages, too.
func read(t *testing.T, dir, stream string, r folder.Reading) (found folder.Found, seqs []uint64) {
	t.Helper()
	r.Handle = stored.Standing(func(m stored.Message) error {
		seqs = append(seqs, m.Seq)
		return nil
	})
	found, err := folder.Read(dir, stream, r)
	if err != nil {
		t.Fatal(err)
	}
	return found, seqs
}

func fileOf(dir, stream string, name ...string) string {
	return filepath.Join(append([]string{dir, "jetstream", streams.Account, "streams", stream}, name...)...)
}

func edit(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestRead: the messages of the segments are read from a sequence on, and damage has its place.
func TestRead(t *testing.T) {
	t.Parallel()
	dir, segments := made(t)
	names, err := folder.Streams(dir)
	if err != nil || !slices.Equal(names, segments) {
		t.Errorf("%v, %v", names, err)
	}
	for from, want := range map[uint64][]string{1: segments, 3: segments, 4: segments[1:], 6: segments[1:], 7: segments[2:]} {
		if got := folder.From(dir, segments, from); !slices.Equal(got, want) {
			t.Errorf("from %d: %v", from, got)
		}
	}
	found, seqs := read(t, dir, segments[1], folder.Reading{})
	if !slices.Equal(seqs, []uint64{4, 5, 6}) || found.Last != 6 || found.Damage() != nil || found.Torn != nil {
		t.Errorf("%v: %+v", seqs, found)
	}
	if d, err := folder.Describe(dir, segments[1]); err != nil || d.First != 4 {
		t.Errorf("%+v, %v", d, err)
	}
	files, err := filepath.Glob(fileOf(dir, segments[1], "msgs", "*.blk"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	edit(t, files[0], func(b []byte) []byte { b[len(b)/2] ^= 1; return b }) // of 5
	if found, seqs = read(t, dir, segments[1], folder.Reading{}); !slices.Equal(seqs, []uint64{4}) || len(found.Faults) == 0 || found.Faults[0].Seq != 5 {
		t.Errorf("%v: %+v", seqs, found)
	}
}

// TestRepair: a torn tail is copied, and its stream loses the index. A stream whose creation was
// cut short loses its description. Everything else stays as it is.
func TestRepair(t *testing.T) {
	t.Parallel()
	dir, segments := made(t)
	files, err := filepath.Glob(fileOf(dir, segments[1], "msgs", "*.blk"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	edit(t, files[0], func(b []byte) []byte { return append(b, make([]byte, 100)...) })
	if err := os.Remove(fileOf(dir, segments[2], "meta.sum")); err != nil {
		t.Fatal(err)
	}
	all := map[string]folder.Found{}
	for i, name := range segments {
		found, _ := read(t, dir, name, folder.Reading{})
		if found.Damage() != nil || (found.Torn != nil) != (i == 1) || found.Unfinished != (i == 2) {
			t.Errorf("%+v", found)
		}
		all[name] = found
	}
	for range 2 { // the start that the first one prepared was cut short
		if err := errors.Join(folder.Repair(dir, all), folder.SyncNewest(dir)); err != nil {
			t.Fatal(err)
		}
	}
	for path, there := range map[string]bool{
		fileOf(dir, segments[0], "msgs", "index.db"): true, fileOf(dir, segments[1], "msgs", "index.db"): false,
		fileOf(dir, segments[1], "meta.inf"): true, fileOf(dir, segments[2], "meta.inf"): false,
	} {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) == there {
			t.Errorf("%s: %v", path, err)
		}
	}
	block, err := os.ReadFile(files[0])
	copies, globErr := filepath.Glob(filepath.Join(dir, "torn", segments[1]+"-*.blk"))
	if err != nil || globErr != nil || len(copies) != 1 {
		t.Fatal(copies, err, globErr)
	}
	if tail, err := os.ReadFile(copies[0]); err != nil || !slices.Equal(tail, block) {
		t.Errorf("the copy has %d bytes of %d: %v", len(tail), len(block), err)
	}
}
