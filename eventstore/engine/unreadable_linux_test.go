package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"payledger/eventstore/archive"
	"payledger/eventstore/engine"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
)

// TestUnreadableBlock: the disk has lost the block of a closed segment. A read of it reports the
// shard as damaged; the other segment can be read. The scrub reads the other streams, too. Address
// 0 of this process, which nobody can read, stands for the block.
func TestUnreadableBlock(t *testing.T) {
	t.Parallel()
	s, file := closedSegment(t)
	if err := errors.Join(os.Rename(file, file+".kept"), os.Symlink("/proc/self/mem", file)); err != nil {
		t.Fatal(err)
	}
	ctx := testContext(t)
	end, _, _, _ := s.End(0)
	next := s.Segments(0)[1]
	if err := s.Groups(ctx, 0, next, end, func(*format.Group) error { return nil }); err != nil {
		t.Errorf("a read of the other segment: %v", err)
	}
	if err := s.Healthy(); err != nil {
		t.Error(err)
	}
	var place *fault.Place
	if err := s.Scrub(ctx); !errors.As(err, &place) || place.Seq != 1 || place.Stream != engine.SegmentName(0, 1) {
		t.Errorf("a scrub: %v", err)
	}
	if damaged := s.Damaged(); !slices.Contains(damaged, 0) {
		t.Errorf("damaged shards after a scrub: %v", damaged)
	}
	other := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(file))), engine.SegmentName(0, 2), "msgs", filepath.Base(file))
	edit(t, other, func(b []byte) []byte { b[len(b)-9] ^= 1; return b }) // in its last group
	if err := s.Scrub(ctx); !errors.As(err, &place) || !strings.Contains(err.Error(), engine.SegmentName(0, 2)) {
		t.Errorf("a scrub of damage in a later stream: %v", err)
	}
	err := s.Groups(ctx, 0, 2, 3, func(*format.Group) error { return nil })
	if !errors.As(err, &place) || place.Seq != 2 || place.Stream != engine.SegmentName(0, 1) {
		t.Errorf("a read of the block: %v", err)
	}
	if damaged := s.Damaged(); !slices.Contains(damaged, 0) {
		t.Errorf("damaged shards: %v", damaged)
	}
	if err := errors.Join(os.Remove(file), os.Rename(file+".kept", file)); err != nil {
		t.Fatal(err)
	}
}

// TestUnreadableBlockOfALaterSegment: the scrub names a sequence of the segment whose block the
// disk has lost, although it reads a newer segment before, and names the disk's error. So does the
// next start.
func TestUnreadableBlockOfALaterSegment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, stop := openSegments(t, dir, 2<<10)
	end := sync.OnceFunc(func() { _ = stop() }) // it is damaged
	defer end()
	for len(s.Segments(0)) < 11 {
		mustAdd(t, s, newKey(), added{Who: noise(1 << 10)})
	}
	s.Silence()
	file := blocksOf(t, dir, 2)[0]
	if err := errors.Join(os.Rename(file, file+".kept"), os.Symlink("/proc/self/mem", file)); err != nil {
		t.Fatal(err)
	}
	first := s.Segments(0)[1]
	for i, look := range []func() error{
		func() error { return s.Scrub(testContext(t)) },
		func() error { end(); return archive.Inspect(dir) },
	} {
		err := fmt.Sprint(look())
		if place := fmt.Sprintf("%s at sequence %d:", engine.SegmentName(0, 2), first); !strings.Contains(err, place) || !strings.Contains(err, "input/output error") {
			t.Errorf("look %d: %s, not %s", i, err, place)
		}
	}
	if err := errors.Join(os.Remove(file), os.Rename(file+".kept", file)); err != nil {
		t.Fatal(err)
	}
}
