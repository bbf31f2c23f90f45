package eventstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
)

// A log that has lost events is not appended to. Each case damages the files of a stopped server.
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		want   error // nil: any
	}{
		{"two zeroed pages in an older block", func(t *testing.T, dir string) { zero(t, block(t, dir, first), 1<<20, 8192) }, eventstore.ErrUnhealthy},
		{"one flipped bit in an older block", func(t *testing.T, dir string) { flip(t, block(t, dir, first), 1<<20) }, eventstore.ErrUnhealthy},
		{"two zeroed pages in the newest block", func(t *testing.T, dir string) { zero(t, block(t, dir, last), 64<<10, 8192) }, eventstore.ErrUnhealthy},
		{"two zeroed pages at the end", func(t *testing.T, dir string) { zero(t, block(t, dir, last), -8192, 8192) }, eventstore.ErrUnhealthy},
		{"one flipped bit in the newest block", func(t *testing.T, dir string) { flip(t, block(t, dir, last), 100<<10) }, eventstore.ErrUnhealthy},
		{"the end is missing", func(t *testing.T, dir string) { truncate(t, block(t, dir, last), 100<<10) }, eventstore.ErrUnhealthy},
		{"the first block is missing", func(t *testing.T, dir string) { remove(t, block(t, dir, first)) }, eventstore.ErrUnhealthy},
		{"a shard's events are gone", func(t *testing.T, dir string) { remove(t, filepath.Join(streamDir(dir, 0), "msgs")) }, eventstore.ErrUnhealthy},
		{"a shard is gone", func(t *testing.T, dir string) { remove(t, streamDir(dir, 1)) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			fill(t, dir)
			c.damage(t, dir)
			server := eventstoretest.Server(t, dir)
			s, err := eventstore.Open(context.Background(), eventstoretest.Config(server))
			if err == nil {
				s.Close()
			}
			t.Log(err)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("opened with: %v", err)
			}
		})
	}
}

// fill writes a log of 2 shards with a checkpoint over its 320 events, the first of which fill a block of
// 8 MB, and stops it in order.
func fill(t *testing.T, dir string) {
	t.Helper()
	server, err := eventstore.StartServer(eventstore.ServerConfig{Dir: dir, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	c := eventstoretest.Config(server)
	c.Shards = 2
	s, err := eventstore.Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 160 {
		mustAdd(t, s, keyIn(s, 0), added{Who: strings.Repeat("x", 60<<10)})
		mustAdd(t, s, keyIn(s, 1), added{N: int64(i)})
	}
	w := startCheckpointer(t, s)
	w.covers(t, 320)
	w.stop(t)
	if err := errors.Join(s.Close(), server.Close()); err != nil {
		t.Fatal(err)
	}
}

func streamDir(dir string, shard int) string {
	return filepath.Join(dir, "jetstream", "LEDGER", "streams", eventstore.StreamName(shard))
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

// A log that is shorter than what somebody has read from it has lost events, too.
func TestLogShorterThanReader(t *testing.T) {
	t.Parallel()
	s := single(t, 2).store()
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

// What cannot be the log of this build is not opened.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := eventstoretest.Server(t, dir)
	open := func(change func(*eventstore.Config)) error {
		c := eventstoretest.Config(server)
		change(&c)
		s, err := eventstore.Open(testContext(t), c)
		if err == nil {
			s.Close()
		}
		return err
	}
	if err := open(func(c *eventstore.Config) { c.ReadOnly = true }); !errors.Is(err, eventstore.ErrNotFound) {
		t.Errorf("an empty folder, for reading: %v", err)
	}
	if err := open(func(c *eventstore.Config) { c.Shards = 2 }); err != nil {
		t.Fatal(err)
	}
	if err := open(func(c *eventstore.Config) {}); err != nil {
		t.Errorf("without a number of shards: %v", err)
	}
	if err := open(func(c *eventstore.Config) { c.Shards = 3 }); err == nil || !strings.Contains(err.Error(), "2 shards") {
		t.Errorf("with another number of shards: %v", err)
	}
	_, err := eventstore.StartServer(eventstore.ServerConfig{Dir: dir, Name: "second"})
	if !errors.Is(err, eventstore.ErrInUse) {
		t.Error(fmt.Errorf("a second process: %w", err))
	}
}
