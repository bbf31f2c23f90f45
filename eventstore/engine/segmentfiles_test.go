package engine_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
)

// openSegments opens a log of one shard, whose segments are closed from a size on.
func openSegments(t *testing.T, dir string, size int64) (s *engine.Store, stop func() error) {
	t.Helper()
	server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	c := eventstoretest.Config(server)
	c.Shards, c.SegmentBytes = 1, size
	s, err = engine.Open(testContext(t), c)
	if err != nil {
		t.Fatal(errors.Join(err, server.Close()))
	}
	return s, func() error { return errors.Join(s.Close(), server.Close()) }
}

// msgsOf returns the folder of the blocks of a segment of shard 0.
func msgsOf(dir string, number uint32) string {
	return filepath.Join(filepath.Dir(streamDir(dir, 0)), engine.SegmentName(0, number), "msgs")
}

// blocksOf returns the files of a segment of shard 0 in their order.
func blocksOf(t *testing.T, dir string, number uint32) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(msgsOf(dir, number), "?.blk"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	slices.Sort(files)
	return files
}

// refusesToStart checks that no server is started on a folder because of its damage, and that the
// folder stays as it is.
func refusesToStart(t *testing.T, dir string) {
	t.Helper()
	before := contentsOf(t, dir)
	server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
	if err == nil {
		t.Fatal(errors.Join(errors.New("the server was started"), server.Close()))
	}
	if t.Log(err); !errors.Is(err, eventstore.ErrUnhealthy) {
		t.Errorf("refused for another reason: %v", err)
	}
	same(t, "the refused folder", contentsOf(t, dir), before)
}

// TestIndexOlderThanTheBlocks: the index of a closed segment is from before its last blocks, as
// after a kill within the two minutes in which the server does not write it. The server reads all
// blocks then, and cuts each at its first bad record. So a start reads all blocks before, and is
// refused if one is damaged.
func TestIndexOlderThanTheBlocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, stop := openSegments(t, dir, 9<<20)
	mustAdd(t, s, newKey(), added{Who: noise(1 << 20)})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(msgsOf(dir, 1), "index.db")
	old, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	files := fillSegment(t, dir)
	if err := os.WriteFile(index, old, 0o600); err != nil {
		t.Fatal(err)
	}
	flip(t, files[first], 4<<20)
	refusesToStart(t, dir)
}

// fillSegment fills the first segment of a log, so that it has two blocks, and closes it. It
// returns its files.
func fillSegment(t *testing.T, dir string) []string {
	t.Helper()
	s, stop := openSegments(t, dir, 9<<20)
	for len(s.Segments(0)) < 2 {
		mustAdd(t, s, newKey(), added{Who: noise(1 << 20)})
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	files := blocksOf(t, dir, 1)
	if len(files) != 2 {
		t.Fatal(files)
	}
	return files
}

// TestStartBeforeTheNewestMessage: the clock of the machine is behind the newest messages of a
// closed segment. The server then reads messages at its start, in the worst case all of them. So a
// start reads all blocks before, and is refused if one is damaged.
func TestStartBeforeTheNewestMessage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := fillSegment(t, dir)
	edit(t, files[last], func(b []byte) []byte { // not its last message, whose checksum the index names
		binary.LittleEndian.PutUint64(b[12:], uint64(time.Now().Add(time.Hour).UnixNano()))
		key := sha256.Sum256([]byte(engine.SegmentName(0, 1) + "-" + strings.TrimSuffix(filepath.Base(files[last]), ".blk")))
		sealRecord(t, b[:ends(b)[0]], key[:])
		return b
	})
	flip(t, files[first], 4<<20)
	refusesToStart(t, dir)
}

// TestFirstGroupOfASegment: the first group of a new segment gets no answer, and was not stored.
// The only block has the server's mark of the sequence before. The group is sent again, and the
// shard stays whole.
func TestFirstGroupOfASegment(t *testing.T) {
	t.Parallel()
	s, stop := openSegments(t, t.TempDir(), 0)
	mustAdd(t, s, newKey(), added{})
	first, err := s.CloseSegment(testContext(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	key := newKey()
	flight, err := s.Depart(testContext(t), draft(t, s, key, nil, added{Who: "first"}))
	if err != nil || flight.Seq() != first {
		t.Fatal(flight, err)
	}
	s.Silence()
	if err := flight.Lose(testContext(t)); err != nil {
		t.Errorf("the first group: %v", err)
	}
	checkOnce(t, s, key, "first")
	if err := errors.Join(s.Healthy(), stop()); err != nil {
		t.Error(err)
	}
}

// ends returns where the records of a block end.
func ends(b []byte) (all []int) {
	for at := 0; at < len(b); {
		at += int(binary.LittleEndian.Uint32(b[at:]) &^ (1 << 31))
		all = append(all, at)
	}
	return all
}

// merge makes the last but one record of a block as long as the rest of the block.
func merge(t *testing.T, file string) (damaged []byte) {
	edit(t, file, func(b []byte) []byte {
		all := ends(b)
		begins := all[len(all)-3]
		header := binary.LittleEndian.Uint32(b[begins:]) & (1 << 31)
		binary.LittleEndian.PutUint32(b[begins:], uint32(len(b)-begins)|header)
		damaged = b
		return b
	})
	return damaged
}

// unchanged checks that a file has some bytes.
func unchanged(t *testing.T, file string, want []byte) {
	t.Helper()
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s has changed: %d bytes of %d, %v", file, len(got), len(want), err)
	}
}

// closedSegment returns a log with a closed segment, whose only block has several groups. No block
// was looked at.
func closedSegment(t *testing.T) (s *engine.Store, file string) {
	t.Helper()
	dir := t.TempDir()
	s, stop := openSegments(t, dir, 4<<10)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	for len(s.Segments(0)) < 2 {
		mustAdd(t, s, newKey(), added{Who: noise(1 << 10)})
	}
	mustAdd(t, s, newKey(), added{})
	s.ForgetGroups()
	s.Silence()
	return s, blocksOf(t, dir, 1)[0]
}

// TestMisledServerTwice: a length in the last block of a closed segment ends exactly with the file.
// Reads are refused each time, not only the first time: the server would cut the block. An archive
// reads the file itself, and names the record with the wrong length.
func TestMisledServerTwice(t *testing.T) {
	t.Parallel()
	s, file := closedSegment(t)
	ctx := testContext(t)
	a, err := s.Archive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	damaged := merge(t, file)
	last := s.Segments(0)[1] - 1
	for range 3 {
		var place *fault.Place
		err := s.Groups(ctx, 0, last-2, last, func(*format.Group) error { return nil })
		if !errors.As(err, &place) || place.Seq != last || place.Stream != engine.SegmentName(0, 1) {
			t.Errorf("a read: %v", err)
		}
	}
	var found []uint64
	err = a.Groups(ctx, 0, func(stream string, seq uint64, reason string) error {
		if t.Log(stream, seq, reason); stream == engine.SegmentName(0, 1) {
			found = append(found, seq)
		}
		return nil
	}, func(string, *format.Group) error { return nil })
	if err != nil || !slices.Contains(found, last-1) {
		t.Errorf("the archive reports %v, %v", found, err)
	}
	unchanged(t, file, damaged)
}

// TestAppendAfterASilence: a length in the newest block is damaged while nobody appends. The server
// would cut the block when it reads it for the next append, and append behind the cut. The append
// is refused.
func TestAppendAfterASilence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, stop := openSegments(t, dir, 0)
	for range 5 {
		mustAdd(t, s, newKey(), added{Who: noise(1 << 10)})
	}
	s.Silence()
	mustAdd(t, s, newKey(), added{Who: noise(1 << 10)})
	file := blocksOf(t, dir, 1)[0]
	damaged := merge(t, file)
	s.Silence()
	for range 2 {
		if _, err := add(t, s, newKey(), added{}); !errors.Is(err, eventstore.ErrUnhealthy) {
			t.Errorf("an append: %v", err)
		}
	}
	unchanged(t, file, damaged)
	if err := stop(); err != nil {
		t.Error(err)
	}
	unchanged(t, file, damaged)
}

// TestDamageBehindALostAnswer: two groups get no answer, and a length in the newest block is
// damaged. Their outcomes are unknown as soon as the guard has found the damage of the shard, which
// is no reason to stop the process.
func TestDamageBehindALostAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, stop := openSegments(t, dir, 0)
	for range 3 {
		mustAdd(t, s, newKey(), added{Who: noise(1 << 10)})
	}
	ctx := testContext(t)
	first, err := s.Depart(ctx, draft(t, s, newKey(), nil, added{}))
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.DepartBehind(ctx, draft(t, s, newKey(), nil, added{}))
	if err != nil {
		t.Fatal(err)
	}
	file := blocksOf(t, dir, 1)[0]
	damaged := merge(t, file)
	s.Silence()
	ended := make(chan error)
	for _, f := range []*engine.Flight{first, second} {
		go func() { ended <- f.Lose(ctx) }()
	}
	for range 2 {
		if err := <-ended; !errors.Is(err, eventstore.ErrUnknown) || !errors.Is(err, eventstore.ErrUnhealthy) || len(err.Error()) > 1000 {
			t.Errorf("an append: %v", err)
		}
	}
	select {
	case err := <-s.Fatal():
		t.Errorf("the process must stop: %v", err)
	default:
	}
	if damaged := s.Damaged(); !slices.Equal(damaged, []int{0}) {
		t.Errorf("damaged shards: %v", damaged)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	unchanged(t, file, damaged)
}
