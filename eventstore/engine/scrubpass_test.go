package engine_test

import (
	"errors"
	"os"
	"path/filepath"
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
