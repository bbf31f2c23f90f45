package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

// TestScrubOfGoneStreams: a pass names all streams that are gone, and reads the others.
func TestScrubOfGoneStreams(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	c := eventstoretest.Config(server)
	c.Shards = 3
	s, err := engine.Open(testContext(t), c)
	if err != nil {
		t.Fatal(errors.Join(err, server.Close()))
	}
	defer func() { _ = errors.Join(s.Close(), server.Close()) }() // its files are gone
	for shard := range 3 {
		mustAdd(t, s, keyIn(s, shard), added{Who: noise(1 << 10)})
	}
	s.Silence()
	files, err := filepath.Glob(filepath.Join(streamDir(dir, 2), "msgs", "*.blk"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	flip(t, files[0], 100)
	if err := errors.Join(os.RemoveAll(streamDir(dir, 0)), os.RemoveAll(streamDir(dir, 1))); err != nil {
		t.Fatal(err)
	}
	err = s.Scrub(testContext(t))
	for shard := range 3 {
		if name := engine.SegmentName(shard, 1); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the scrub did not find %s: %v", name, err)
		}
	}
}

// TestScrubResumesBeforeDamage: a pass that a restart interrupts after a damaged stream reads that
// stream again when it goes on.
func TestScrubResumesBeforeDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, stop := openSegments(t, dir, 4<<10)
	defer func() { _ = stop() }() // it is damaged
	for len(s.Segments(0)) < 4 {
		mustAdd(t, s, newKey(), added{Who: noise(1 << 10)})
	}
	s.Silence()
	flip(t, blocksOf(t, dir, 1)[0], 100)
	for n := range 4 { // reads after the damage
		ctx, interrupt := context.WithCancel(testContext(t))
		left := n
		err := s.ScrubPaced(ctx, func(ctx context.Context, _ int) error {
			if left -= len(s.Damaged()); left < 0 && slices.Contains(s.Damaged(), 0) {
				interrupt()
			}
			return ctx.Err()
		})
		interrupt()
		if err == nil {
			t.Error("the pass was whole")
		}
		err = s.ScrubPaced(testContext(t), func(context.Context, int) error { return nil })
		if err == nil || !strings.Contains(err.Error(), engine.SegmentName(0, 1)) {
			t.Errorf("after an interruption %d reads behind the damage the pass found: %v", n, err)
		}
		if _, whole := s.ScrubAge(); whole {
			t.Error("a pass without the damaged stream was whole")
		}
	}
}
