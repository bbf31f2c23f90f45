package engine_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/fault"
	"payledger/eventstore/folder"
	"payledger/eventstore/format"
)

// moment is when a damage must be found at the latest.
type moment int

const (
	beforeServer moment = iota // the server has changed nothing
	byOpen
	byReading // what was hit
)

// TestDamagedLog damages the files of a stopped server in many ways. A log that has lost events
// accepts no appends, and never reports a lost event as "not found". The server keeps its index at
// a start and does not read old blocks, so some damages are found only by the first read of the
// damaged place.
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	whole := t.TempDir()
	filled := fill(t, whole)
	for i, c := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		found  moment // with the tip store that belongs to the log; without one the log is read before the store opens
	}{
		{"two zeroed pages in an older block", func(t *testing.T, dir string) { zero(t, block(t, dir, first), 1<<20, 8192) }, byReading},
		{"one flipped bit in an older block", func(t *testing.T, dir string) { flip(t, block(t, dir, first), 1<<20) }, byReading},
		{"two zeroed pages in the newest block", func(t *testing.T, dir string) { zero(t, block(t, dir, last), 64<<10, 8192) }, byReading},
		{"two zeroed pages at the end", func(t *testing.T, dir string) { zero(t, block(t, dir, last), -8192, 8192) }, byOpen},
		{"one flipped bit in the newest block", func(t *testing.T, dir string) { flip(t, block(t, dir, last), 100<<10) }, byReading},
		{"the end is missing", func(t *testing.T, dir string) { truncate(t, block(t, dir, last), 100<<10) }, byOpen},
		{"the first block is missing", func(t *testing.T, dir string) { remove(t, block(t, dir, first)) }, beforeServer},
		{"a shard's events are gone", func(t *testing.T, dir string) { remove(t, filepath.Join(streamDir(dir, 0), "msgs")) }, byOpen},
		{"a shard is gone", func(t *testing.T, dir string) { remove(t, streamDir(dir, 1)) }, byOpen},
		{"the first shard is gone", func(t *testing.T, dir string) { remove(t, streamDir(dir, 0)) }, byOpen},
		{"the first shard is gone, and the checkpoints", func(t *testing.T, dir string) {
			remove(t, streamDir(dir, 0))
			remove(t, filepath.Join(dir, "jetstream", "LEDGER", "streams", "CHECKPOINTS_1"))
		}, byOpen},
		{"zeroed pages in an older block, and no index", func(t *testing.T, dir string) {
			zero(t, block(t, dir, first), 1<<20, 8192)
			remove(t, filepath.Join(streamDir(dir, 0), "msgs", "index.db"))
		}, byOpen},
		{"zeroed pages in the newest block, and no index", func(t *testing.T, dir string) {
			zero(t, block(t, dir, last), 64<<10, 8192)
			remove(t, filepath.Join(streamDir(dir, 0), "msgs", "index.db"))
		}, byOpen},
	} {
		for name, tips := range map[string]func(*testing.T, string){
			"with its tips":      func(*testing.T, string) {},
			"and its tips, gone": func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "tips")) },
		} {
			if seedtest.Sampled() && (i%2 == 0) != (name == "with its tips") {
				continue
			}
			t.Run(c.name+" "+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				if err := eventstoretest.CopyLog(dir, whole); err != nil {
					t.Fatal(err)
				}
				c.damage(t, dir)
				tips(t, dir)
				before := contentsOf(t, dir)
				server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
				if err != nil {
					t.Log(err)
					same(t, "the refused folder", contentsOf(t, dir), before)
					if !errors.Is(err, eventstore.ErrUnhealthy) {
						t.Errorf("refused for another reason: %v", err)
					}
					return
				}
				defer server.Close()
				if c.found == beforeServer {
					t.Error("the server was started")
				}
				config := eventstoretest.Config(server)
				s, err := engine.Open(testContext(t), config)
				t.Log(err)
				if err != nil {
					return
				}
				defer s.Close()
				if c.found < byReading || name != "with its tips" { // without tips the whole log is read
					t.Error("it was opened")
				}
				checkDamaged(t, s, filled)
			})
		}
	}
}

// TestMissingBlockOfClosedSegment: no server is started on a closed segment with a block less,
// though its blocks are not read at a start. The server would read all blocks, and cut each at its
// first bad record.
func TestMissingBlockOfClosedSegment(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	whole := t.TempDir()
	s, stop := openSegments(t, whole, 17<<20)
	for range 30 {
		mustAdd(t, s, newKey(), added{Who: noise(700 << 10)})
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	for i, file := range blocksOf(t, whole, 1) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			dir := t.TempDir()
			if err := eventstoretest.CopyLog(dir, whole); err != nil {
				t.Fatal(err)
			}
			files := blocksOf(t, dir, 1)
			if len(files) != 3 {
				t.Fatal(files)
			}
			remove(t, files[i])
			refusesToStart(t, dir)
		})
	}
}

// checkDamaged checks the answers of a damaged log that was opened: every event is read unchanged,
// or the log is reported as unhealthy. No existing event is reported as missing, and no existing id
// can be claimed.
func checkDamaged(t *testing.T, s *engine.Store, filled []*eventstore.Recorded) {
	t.Helper()
	ctx := testContext(t)
	claim := func(r *eventstore.Recorded) {
		t.Helper()
		errTaken := errors.New("taken")
		_, err := eventstore.ExecuteNew(ctx, s, tallies, r.Key, newMeta(t, s), func(there tally) (added, error) {
			if there.Count > 0 {
				return added{}, errTaken
			}
			return added{}, nil
		})
		if !errors.Is(err, errTaken) && !errors.Is(err, eventstore.ErrUnhealthy) {
			t.Errorf("a claim on event %d of shard %d: %v", r.Number, r.Shard, err)
		}
	}
	for _, r := range filled {
		claim(r)
	}
	lost := 0
	for _, r := range filled {
		read, readErr := s.Read(ctx, r.Shard, r.Seq)
		loaded, loadErr := s.Load(ctx, r.Key, eventstore.Applied)
		for got, err := range map[*eventstore.Recorded]error{read: readErr, loaded: loadErr} {
			switch {
			case err == nil && got.Hash == r.Hash && string(got.Body) == string(r.Body):
			case errors.Is(err, eventstore.ErrUnhealthy):
			default:
				t.Errorf("event %d of shard %d: %v", r.Number, r.Shard, err)
			}
		}
		if readErr != nil {
			lost++
		}
		claim(r)
	}
	t.Logf("%d of %d events cannot be read", lost, len(filled))
	if err := s.Healthy(); lost == 0 || !errors.Is(err, eventstore.ErrUnhealthy) {
		t.Errorf("the damage was not noticed: %d events lost, %v", lost, err)
	}
	if _, err := add(t, s, newKey(), added{}); !errors.Is(err, eventstore.ErrUnhealthy) {
		t.Errorf("an append: %v", err)
	}
}

// fill writes a log of 2 shards with a checkpoint over its 160 events, the first of which fill a
// block of 8 MB, and stops it in order.
func fill(t *testing.T, dir string) (all []*eventstore.Recorded) {
	t.Helper()
	server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	c := eventstoretest.Config(server)
	c.Shards = 2
	s, err := engine.Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 80 {
		all = append(all, mustAdd(t, s, keyIn(s, 0), added{Who: noise(120 << 10)}).Recorded.Fresh())
		all = append(all, mustAdd(t, s, keyIn(s, 1), added{N: int64(i)}).Recorded.Fresh())
	}
	w := startCheckpointer(t, s)
	w.covers(t, 160)
	w.stop(t)
	if err := errors.Join(s.Close(), server.Close()); err != nil {
		t.Fatal(err)
	}
	return all
}

// noise is a text of n bytes that cannot be compressed.
func noise(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return string(b)
}

func streamDir(dir string, shard int) string {
	return filepath.Join(dir, "jetstream", "LEDGER", "streams", engine.StreamName(shard))
}

// The blocks of a shard that block names.
const (
	first = 0
	last  = 1
)

// block is a file of shard 0.
func block(t *testing.T, dir string, which int) string {
	t.Helper()
	blocks, err := filepath.Glob(filepath.Join(streamDir(dir, 0), "msgs", "*.blk"))
	if err != nil || len(blocks) != 2 {
		t.Fatal(err, blocks)
	}
	slices.Sort(blocks)
	return blocks[which]
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// zero overwrites bytes with zeroes; a negative offset counts from the end.
func zero(t *testing.T, file string, offset, n int64) {
	edit(t, file, func(b []byte) []byte {
		if offset < 0 {
			offset += int64(len(b))
		}
		clear(b[offset : offset+n])
		return b
	})
}

func flip(t *testing.T, file string, offset int64) {
	edit(t, file, func(b []byte) []byte { b[offset] ^= 1; return b })
}

func truncate(t *testing.T, file string, size int64) {
	edit(t, file, func(b []byte) []byte { return b[:size] })
}

func edit(t *testing.T, file string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, change(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLogShorterThanReader: a log that is shorter than the events that a reader has seen has lost
// events, too.
func TestLogShorterThanReader(t *testing.T) {
	t.Parallel()
	s := sole(t, 2).store()
	last := mustAdd(t, s, keyIn(s, 1), added{}).Recorded.Seq
	ctx := testContext(t)
	if err := s.CheckReader(ctx, "reader", []uint64{0, last}); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckReader(ctx, "reader", []uint64{0, last + 1}); !errors.Is(err, eventstore.ErrUnhealthy) {
		t.Fatal(err)
	}
	if err := s.Healthy(); !errors.Is(err, eventstore.ErrUnhealthy) {
		t.Error(err)
	}
	if _, err := add(t, s, newKey(), added{}); !errors.Is(err, eventstore.ErrRefused) {
		t.Errorf("an append: %v", err)
	}
	if _, err := s.Read(ctx, 1, last); err != nil {
		t.Errorf("a read: %v", err)
	}
}

// TestOpenRefuses: a folder that is not a log of this build is not opened.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := eventstoretest.Server(t, dir)
	open := func(change func(*engine.Config)) error {
		c := eventstoretest.Config(server)
		change(&c)
		s, err := engine.Open(testContext(t), c)
		if err == nil {
			s.Close()
		}
		return err
	}
	if err := open(func(c *engine.Config) { c.ReadOnly = true }); !errors.Is(err, eventstore.ErrNotFound) {
		t.Errorf("an empty folder, for reading: %v", err)
	}
	if err := open(func(c *engine.Config) { c.Shards = 2 }); err != nil {
		t.Fatal(err)
	}
	if err := open(func(c *engine.Config) {}); err != nil {
		t.Errorf("without a number of shards: %v", err)
	}
	if err := open(func(c *engine.Config) { c.Shards = 3 }); err == nil || !strings.Contains(err.Error(), "2 shards") {
		t.Errorf("with another number of shards: %v", err)
	}
	_, err := embedded.Start(embedded.Config{Dir: dir, Name: "second"})
	if !errors.Is(err, folder.ErrInUse) {
		t.Error(fmt.Errorf("a second process: %w", err))
	}
}

// TestMisledServer: a sequence or a length is damaged in a closed segment, which a start does not
// read. The server would take all memory when it reads the block, or cut it off. The read is
// refused as damage of the right group, and the block stays as it is. Other blocks can be read.
func TestMisledServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() (s *engine.Store, stop func() error) {
		t.Helper()
		return openSegments(t, dir, 17<<20)
	}
	s, stop := open()
	var all []*eventstore.Recorded
	for range 30 {
		all = append(all, mustAdd(t, s, newKey(), added{Who: noise(700 << 10)}).Recorded.Fresh())
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	for written := time.Now(); time.Since(written) < time.Second; { // a start within the duplicate window, 0.1 s, reads the newest blocks
		_, stop := open()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
	files := blocksOf(t, dir, 1)
	if len(files) != 3 {
		t.Fatal(files)
	}
	whole, err := os.ReadFile(files[first])
	if err != nil {
		t.Fatal(err)
	}
	var places []int // of the records in the block
	for at := 0; at < len(whole); at += int(binary.LittleEndian.Uint32(whole[at:]) &^ (1 << 31)) {
		places = append(places, at)
	}
	at := func(seq uint64) *eventstore.Recorded {
		i := slices.IndexFunc(all, func(r *eventstore.Recorded) bool { return format.GroupOf(r.Seq) == seq })
		return all[i]
	}
	begins := binary.LittleEndian.Uint64(whole[4:])
	for name, c := range map[string]struct {
		record, place int
		bit           byte
	}{
		"a high byte of a sequence":     {4, 10, 0x20},
		"a sequence of the next groups": {4, 4, 0x10},
		"a length in the block":         {2, 2, 0x10},
		"a length beyond the block":     {len(places) - 2, 2, 0x80},
		"the sequence of the first":     {0, 9, 0x01},
	} {
		damaged := bytes.Clone(whole)
		damaged[places[c.record]+c.place] ^= c.bit
		if err := os.WriteFile(files[first], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s, stop := open()
		var place *fault.Place
		seq := begins + uint64(c.record)
		_, err := s.Read(testContext(t), 0, at(seq).Seq)
		if !errors.Is(err, eventstore.ErrUnhealthy) || !errors.As(err, &place) || place.Seq != seq && place.Seq != seq+1 { // after a wrong length nothing is right
			t.Errorf("%s: a read of %d from the damaged block: %v", name, seq, err)
		}
		if r, err := s.Read(testContext(t), 0, all[15].Seq); err != nil || r.Hash != all[15].Hash {
			t.Errorf("%s: a read from another block: %v", name, err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if after, err := os.ReadFile(files[first]); err != nil || !bytes.Equal(after, damaged) {
			t.Errorf("%s: the block has changed: %v", name, err)
		}
	}
}
