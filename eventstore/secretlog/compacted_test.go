package secretlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/archive"
)

// TestCompactedEnd: the last secret of a closed segment is destroyed, and the server removes it and
// its tombstone from a block that is not the newest one any more. The log is whole for a start, the
// scrub and a verification, with and without the index of the server and the tip store.
func TestCompactedEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	names := fillSegment(t, dir)
	k, err := keepWith(dir, segmentOfOneBlock)
	if err != nil {
		t.Fatal(err)
	}
	block := onlyBlock(dir)
	whole := sizeOf(t, block)
	for last := len(names) - 1; sizeOf(t, block) > whole/2; last-- {
		if last < 2 {
			t.Fatal("the server does not compact the block")
		}
		if err := k.secrets.Remove(testContext(t), names[last]); err != nil { // it overwrites no file
			t.Fatal(err)
		}
	}
	if err := errors.Join(k.store.Scrub(testContext(t)), k.store.Healthy()); err != nil {
		t.Error(err)
	}
	running, err := k.store.Archive(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	isWhole(t, "running", running)
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
	for what, dir := range variants(t, dir) {
		startsWhole(t, what, dir, names[1])
	}
}

// TestLostEnd: the last secret of a closed segment, which no destruction names, is missing. A start
// is refused, and changes nothing.
func TestLostEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fillSegment(t, dir)
	b, err := os.ReadFile(onlyBlock(dir))
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func([]byte) []byte{
		"it is missing": withoutLast,
		"it is torn":    func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
	} {
		rewrite(t, onlyBlock(dir), damage(bytes.Clone(b)))
		for what, dir := range variants(t, dir) {
			before := contents(t, dir)
			if err := archive.Inspect(dir); !errors.Is(err, eventstore.ErrUnhealthy) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
			if after := contents(t, dir); len(before) == 0 || fmt.Sprint(before) != fmt.Sprint(after) {
				t.Errorf("%s, %s: the folder was changed", name, what)
			}
		}
	}
}

// segmentOfOneBlock is the size of a segment that ends a little before its block of 8 MiB is full.
const segmentOfOneBlock = 8<<20 - 40<<10

// fillSegment fills SECRETS_1 but for the last few hundred bytes of its block, so that the next
// segment begins, and stops the server. It returns the names in SECRETS_1.
func fillSegment(t *testing.T, dir string) (names []string) {
	t.Helper()
	k, err := keepWith(dir, segmentOfOneBlock)
	if err != nil {
		t.Fatal(err)
	}
	const value, rest = 64 << 10, 400 // bytes
	next := filepath.Join(dir, "jetstream", "LEDGER", "streams", "SECRETS_2")
	record := int64(0) // its size, as the file has it
	for full := false; !full; {
		before := sizeOf(t, onlyBlock(dir))
		left, length := 8<<20-before, int64(value)
		if full = record > 0 && left < 2*record; full {
			length = left - (record - value) - rest
		}
		names = append(names, secretName(1000+len(names))) // of one length
		if err := k.secrets.Create(testContext(t), names[len(names)-1], bytes.Repeat([]byte{7}, int(length))); err != nil {
			t.Fatal(err)
		}
		record = sizeOf(t, onlyBlock(dir)) - before
	}
	if _, err := os.Stat(next); err != nil {
		t.Fatal(err)
	}
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
	return names
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// variants returns copies of a folder with and without the server's index of SECRETS_1 and the tip
// store.
func variants(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, index := range []bool{true, false} {
		for _, tips := range []bool{true, false} {
			to := copyFolder(t, dir)
			if !index {
				remove(t, filepath.Join(filepath.Dir(onlyBlock(to)), "index.db"))
			}
			if !tips {
				remove(t, filepath.Join(to, "tips"))
			}
			all[fmt.Sprintf("index %t, tips %t", index, tips)] = to
		}
	}
	return all
}

// startsWhole checks that a folder is whole, that the log starts on it, with a value, and that its
// scrub finds nothing.
func startsWhole(t *testing.T, what, dir, name string) {
	t.Helper()
	a, err := archive.Open(dir)
	if err != nil {
		t.Fatal(what, err)
	}
	isWhole(t, what, a)
	k, err := keepWith(dir, segmentOfOneBlock)
	if err != nil {
		t.Error(what, err)
		return
	}
	if _, err := k.secrets.Get(testContext(t), name); err != nil {
		t.Error(what, err)
	}
	if err := errors.Join(k.store.Scrub(testContext(t)), k.store.Healthy(), k.close()); err != nil {
		t.Error(what, err)
	}
}

// isWhole checks that an archive has no damage of SECRETS, and closes it.
func isWhole(t *testing.T, what string, a *archive.Archive) {
	t.Helper()
	damaged := func(stream string, seq uint64, reason string) error {
		t.Errorf("%s: %s at %d: %s", what, stream, seq, reason)
		return nil
	}
	if err := errors.Join(a.Inspect(testContext(t), damaged), a.Close()); err != nil {
		t.Error(what, err)
	}
}
