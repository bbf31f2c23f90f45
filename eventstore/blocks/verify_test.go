package blocks_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/blocks"
	"payledger/eventstore/stored"
)

// TestAppendOnly: reading returns all that the server stored, while it runs and after its stop, and
// changes no byte.
func TestAppendOnly(t *testing.T) {
	random := seeded(t, 11)
	r := start(t, t.TempDir())
	r.stream(jetstream.StreamConfig{Name: "PAST", Subjects: []string{"past.one"}}, true)
	last := r.fill(random, literal("past.one"), 120, 4000)
	last = max(last, r.fill(random, literal("past.one"), 3, 3<<20))
	o := blocks.Options{Subject: "past.one", Through: last}
	want := r.messages("PAST")
	have, report := records(t, r.dir, "PAST", o)
	if report.Kind > blocks.Stopped || report.Last != last || report.Messages != last || report.First != 1 {
		t.Fatalf("running: %+v", report)
	}
	sameMessages(t, want, have)

	// From a sequence on, the blocks before its block are not read.
	newer := r.fill(random, literal("past.one"), 30, 4000)
	o.From, o.Through = last+1, newer
	more, report := records(t, r.dir, "PAST", o)
	if report.Kind > blocks.Stopped || report.Last != newer || uint64(len(more)) < newer-last || report.First < last/2 || report.First > last+1 {
		t.Fatalf("from %d: %+v", o.From, report)
	}
	want = r.messages("PAST")
	r.stop()
	before := tree(t, r.dir)
	have, report = records(t, r.dir, "PAST", blocks.Options{Subject: "past.one"})
	isClean(t, report)
	sameMessages(t, want, have)
	if len(report.Blocks) < 5 {
		t.Errorf("only %d blocks", len(report.Blocks))
	}
	newest := report.Blocks[len(report.Blocks)-1]
	o = blocks.Options{From: blocks.Newest, Uncached: true}
	report = verify(t, r.dir, "PAST", o)
	if isClean(t, report); len(report.Blocks) != 1 || report.First != newest.First {
		t.Errorf("the newest block: %+v", report)
	}
	if !maps.Equal(before, tree(t, r.dir)) {
		t.Error("reading changed the folder")
	}
	if err := os.Remove(files(t, r.dir, "PAST")[0].Path); err != nil {
		t.Fatal(err)
	}
	report = verify(t, r.dir, "PAST", o)
	if report.Kind != blocks.Damaged || report.Faults[0].From != 1 || len(report.Blocks) != 1 {
		t.Errorf("the newest block, without the first one: %+v", report)
	}
}

// TestFirstSequence checks a stream that begins above 1, an empty one, and a sealed one.
func TestFirstSequence(t *testing.T) {
	r := start(t, t.TempDir())
	r.stream(jetstream.StreamConfig{Name: "LATER", Subjects: []string{"later"}, FirstSeq: 1000}, false)
	r.stream(jetstream.StreamConfig{Name: "EMPTY", Subjects: []string{"empty"}}, false)
	r.stream(jetstream.StreamConfig{Name: "WAITS", Subjects: []string{"waits"}, FirstSeq: 500}, false)
	r.fill(seeded(t, 12), literal("later"), 20, 100)
	if _, err := r.js.UpdateStream(t.Context(), jetstream.StreamConfig{
		Name: "LATER", Subjects: []string{"later"}, FirstSeq: 1000, Sealed: true, Storage: jetstream.FileStorage,
	}); err != nil {
		t.Fatal(err)
	}
	r.stop()
	for _, again := range []bool{false, true} {
		if again {
			start(t, r.dir).stop()
		}
		report := verify(t, r.dir, "LATER", blocks.Options{})
		isClean(t, report)
		if report.First != 1000 || report.Last != 1019 || report.Messages != 20 {
			t.Errorf("%+v", report)
		}
		isClean(t, verify(t, r.dir, "EMPTY", blocks.Options{}))
		isClean(t, verify(t, r.dir, "WAITS", blocks.Options{}))
	}
	if _, err := blocks.Verify(r.dir, account, "NONE", blocks.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a stream that is not there: %v", err)
	}
}

// TestDeletes: deleted and erased messages, in small blocks and in blocks that the server compacts.
func TestDeletes(t *testing.T) {
	for _, small := range []bool{true, false} {
		t.Run(fmt.Sprintf("small %t", small), func(t *testing.T) {
			random := seeded(t, 13)
			r := start(t, t.TempDir())
			s := r.stream(jetstream.StreamConfig{Name: "KEPT", Subjects: []string{"kept.>"}, MaxMsgsPerSubject: 2}, small)
			largest := 2000
			if !small {
				largest = 150_000
			}
			last := r.fill(random, func(i int) string { return fmt.Sprintf("kept.%d", i%150) }, 250, largest)
			for seq := uint64(1); seq <= last-5; seq++ {
				if _, err := s.GetMsg(t.Context(), seq); err == nil && (seq%3 != 0 || seq < 20) {
					erase(t, s, seq, seq%2 == 0)
				}
			}
			erase(t, s, last, true)
			erase(t, s, last-1, false)
			o := blocks.Options{Deletes: true}
			for _, running := range []bool{true, false} {
				want := r.messages("KEPT")
				if !running {
					r.stop()
				}
				have, report := records(t, r.dir, "KEPT", o)
				isClean(t, report)
				sameMessages(t, want, have)
				standing := uint64(0)
				verify(t, r.dir, "KEPT", blocks.Options{Deletes: true, Handle: func(m stored.Message) error {
					if !m.Tombstone {
						standing++
					}
					return nil
				}})
				if small == (standing < last) {
					t.Errorf("%d of %d records stand: were blocks compacted?", standing, last)
				}
				if report.Last != last {
					t.Errorf("the messages end at %d, those of the server at %d", report.Last, last)
				}
			}
			all := files(t, r.dir, "KEPT")
			o.From = blocks.Newest
			report := verify(t, r.dir, "KEPT", o)
			if isClean(t, report); len(report.Blocks) != 1 || report.Blocks[0].Block != all[len(all)-1].Number || report.Last != last {
				t.Errorf("the newest block: %+v", report)
			}
			o.Deletes, o.From = false, 0
			if report := verify(t, r.dir, "KEPT", o); report.Kind != blocks.Damaged {
				t.Error("deletes are not noticed")
			}
		})
	}
}

// TestDeletedFromAppendOnly: a deleted message of a stream that must only grow is damage.
func TestDeletedFromAppendOnly(t *testing.T) {
	for _, secure := range []bool{true, false} {
		r := start(t, t.TempDir())
		s := r.stream(jetstream.StreamConfig{Name: "PAST", Subjects: []string{"past"}}, false)
		r.fill(seeded(t, 14), literal("past"), 20, 100)
		erase(t, s, 7, secure)
		r.stop()
		if report := verify(t, r.dir, "PAST", blocks.Options{}); report.Kind != blocks.Damaged {
			t.Errorf("secure %t: %+v", secure, report)
		}
	}
}

// TestWhileRunning: reading while the server appends, deletes, rolls and compacts finds no damage.
func TestWhileRunning(t *testing.T) {
	random := seeded(t, 15)
	r := start(t, t.TempDir())
	r.stream(jetstream.StreamConfig{Name: "PAST", Subjects: []string{"past"}}, true)
	s := r.stream(jetstream.StreamConfig{Name: "KEPT", Subjects: []string{"kept.>"}, MaxMsgsPerSubject: 1}, false)
	var last atomic.Uint64
	done, begun := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := range 300 {
			past, err := r.js.Publish(t.Context(), "past", bytesOf(random, size(random, i, 3000)))
			if err == nil {
				if last.Store(past.Sequence); i == 0 {
					close(begun)
				}
				_, err = r.js.Publish(t.Context(), fmt.Sprintf("kept.%d", i), make([]byte, size(random, i, 60_000)))
			}
			if err != nil {
				t.Error(err)
				return
			}
			remove := s.DeleteMsg
			if i%8 == 0 {
				remove = s.SecureDeleteMsg
			}
			_ = remove(t.Context(), past.Sequence-uint64(random.IntN(1+i%5))) // may be gone already
		}
	}()
	select {
	case <-begun:
	case <-done:
	}
	round := 0
	for running := true; running; round++ {
		select {
		case <-done:
			running = false
		default:
		}
		through := last.Load()
		o := blocks.Options{Through: through, Subject: "past"}
		if round%2 == 0 {
			o.From = through
		}
		report := verify(t, r.dir, "PAST", o)
		if report.Kind > blocks.Stopped {
			t.Errorf("through %d: %v %v", through, report.Kind, report.Faults)
		}
		report = verify(t, r.dir, "KEPT", blocks.Options{Deletes: true, Uncached: round%8 == 0})
		if report.Kind == blocks.Damaged {
			t.Errorf("%v", report.Faults)
		}
	}
	t.Logf("read %d times", round)
}

// TestGrownMeanwhile: the newest block grows after its size was taken, and the server begins
// another one: no message is missing. If the block did not grow, they are.
func TestGrownMeanwhile(t *testing.T) {
	r := start(t, t.TempDir())
	r.stream(jetstream.StreamConfig{Name: "PAST", Subjects: []string{"past"}}, true)
	r.fill(seeded(t, 17), literal("past"), 120, 3000)
	r.stop()
	folder := blocks.Folder(r.dir, account, "PAST")
	files, err := blocks.Files(folder)
	if err != nil || len(files) < 3 {
		t.Fatal(len(files), err)
	}
	whole := verify(t, r.dir, "PAST", blocks.Options{})
	ends := begins(t, files[0].Path)
	if isClean(t, whole); len(ends) < 3 {
		t.Fatalf("%d records in the first block", len(ends))
	}
	first, err := os.ReadFile(files[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, grows := range []bool{true, false} {
		for _, f := range files[1:] {
			if err := os.Rename(f.Path, f.Path+".aside"); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Truncate(files[0].Path, ends[len(ends)-2]); err != nil {
			t.Fatal(err)
		}
		begun := false
		report := verify(t, r.dir, "PAST", blocks.Options{Handle: func(stored.Message) (err error) {
			if begun {
				return nil
			}
			begun = true
			if grows {
				err = os.WriteFile(files[0].Path, first, 0o600)
			}
			for _, f := range files[1:] {
				err = errors.Join(err, os.Rename(f.Path+".aside", f.Path))
			}
			return err
		}})
		if damaged := report.Kind == blocks.Damaged; damaged == grows || grows && (report.Messages != whole.Messages || len(report.Blocks) != len(whole.Blocks)) {
			t.Errorf("grows %t: %+v", grows, report)
		}
	}
}

// TestPace: Pace sees every byte, and ends the work with its error; so does Handle.
func TestPace(t *testing.T) {
	r := start(t, t.TempDir())
	r.stream(jetstream.StreamConfig{Name: "PAST", Subjects: []string{"past"}}, false)
	r.fill(seeded(t, 16), literal("past"), 60, 100_000)
	r.stop()
	var total, calls int
	o := blocks.Options{Pace: func(n int) error {
		total, calls = total+n, calls+1
		if n > 1<<20 {
			t.Errorf("%d bytes at once", n)
		}
		return nil
	}}
	report := verify(t, r.dir, "PAST", o)
	if isClean(t, report); int64(total) != report.Blocks[0].Size || calls < 3 {
		t.Errorf("%d bytes in %d calls, the block has %d", total, calls, report.Blocks[0].Size)
	}
	ended := errors.New("ended")
	if _, err := blocks.Verify(r.dir, account, "PAST", blocks.Options{Pace: func(int) error { return ended }}); !errors.Is(err, ended) {
		t.Errorf("%v", err)
	}
	if _, err := blocks.Verify(r.dir, account, "PAST", blocks.Options{Handle: func(stored.Message) error { return ended }}); !errors.Is(err, ended) {
		t.Errorf("%v", err)
	}
	refuse := func(r stored.Message) error {
		if r.Seq == 5 {
			return fmt.Errorf("%w: not ours", stored.ErrRefused)
		}
		return nil
	}
	if report := verify(t, r.dir, "PAST", blocks.Options{Handle: refuse}); report.Kind != blocks.Damaged || report.Last != 60 {
		t.Errorf("a refused record: %+v", report)
	}
}

// TestPurge: a purge that stopped between its two renames, and a folder of messages that is gone.
func TestPurge(t *testing.T) {
	r := start(t, t.TempDir())
	s := r.stream(jetstream.StreamConfig{Name: "KEPT", Subjects: []string{"kept"}}, true)
	r.fill(seeded(t, 17), literal("kept"), 60, 3000)
	if err := s.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.fill(seeded(t, 18), literal("kept"), 5, 100)
	r.stop()
	msgs := filepath.Join(blocks.Folder(r.dir, account, "KEPT"), "msgs")
	for range 2 {
		report := verify(t, r.dir, "KEPT", blocks.Options{Deletes: true})
		if isClean(t, report); report.Messages != 5 || report.First != 61 || report.Last != 65 {
			t.Errorf("%+v", report)
		}
		_ = os.Rename(msgs, filepath.Join(filepath.Dir(msgs), "__new_msgs__"))
	}
	if err := os.RemoveAll(filepath.Join(filepath.Dir(msgs), "__msgs__")); err != nil { // the server removes it in the background
		t.Fatal(err)
	}
	again := start(t, copied(t, r.dir))
	if have := again.messages("KEPT"); len(have) != 5 {
		t.Errorf("the server has %d messages", len(have))
	}
	if err := os.RemoveAll(filepath.Join(filepath.Dir(msgs), "__new_msgs__")); err != nil {
		t.Fatal(err)
	}
	if report := verify(t, r.dir, "KEPT", blocks.Options{Deletes: true}); report.Kind != blocks.Damaged {
		t.Errorf("%+v", report)
	}
}

// TestMeta: meta.inf and meta.sum of streams and consumers.
func TestMeta(t *testing.T) {
	r := start(t, t.TempDir())
	s := r.stream(jetstream.StreamConfig{Name: "PAST", Subjects: []string{"past"}, FirstSeq: 7}, false)
	if _, err := s.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "reader"}); err != nil {
		t.Fatal(err)
	}
	r.stop()
	folder := blocks.Folder(r.dir, account, "PAST")
	meta, err := blocks.CheckMeta(folder, "PAST")
	if err != nil || meta.Name != "PAST" || meta.FirstSeq != 7 || !slices.Equal(meta.Subjects, []string{"past"}) {
		t.Errorf("%+v, %v", meta, err)
	}
	if _, err := blocks.CheckMeta(filepath.Join(folder, "obs", "reader"), "PAST/reader"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"meta.inf", "meta.sum"} {
		path := filepath.Join(folder, name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for at := range good {
			bad := slices.Clone(good)
			bad[at] ^= 1 << (at % 8)
			put(t, path, bad)
			if _, err := blocks.CheckMeta(folder, "PAST"); !errors.Is(err, blocks.ErrMeta) {
				t.Fatalf("%s, byte %d: %v", name, at, err)
			}
		}
		if report := verify(t, r.dir, "PAST", blocks.Options{}); report.Kind != blocks.Damaged {
			t.Errorf("%+v", report)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if _, err := blocks.CheckMeta(folder, "PAST"); !errors.Is(err, blocks.ErrMeta) {
			t.Errorf("%s is gone: %v", name, err)
		}
		put(t, path, good)
	}
}

func put(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
