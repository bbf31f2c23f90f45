package secretlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/faulttest"
	"payledger/eventstore/secretlog"
)

// onlyBlock returns the file of the only block of SECRETS.
func onlyBlock(dir string) string {
	return filepath.Join(dir, "jetstream", "LEDGER", "streams", "SECRETS_1", "msgs", "1.blk")
}

// TestGuardBeforeAnAppend: after a silence a message is sent only if the newest block is whole: the
// server would cut a damaged one, and append behind the cut. Deleted messages are no damage.
func TestGuardBeforeAnAppend(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func([]byte, []int64) []byte
		seq    string // of the damage; "": there is none
	}{
		"no damage":             {func(b []byte, _ []int64) []byte { return b }, ""},
		"a length":              {func(b []byte, at []int64) []byte { b[at[2]+1] ^= 1; return b }, "SECRETS_1 at sequence 3"},
		"a sequence":            {func(b []byte, at []int64) []byte { b[at[3]+9] ^= 1; return b }, "SECRETS_1 at sequence 4"},
		"the end is missing":    {func(b []byte, at []int64) []byte { return b[:at[len(at)-2]] }, "SECRETS_1 at sequence 6"},
		"the newest is damaged": {func(b []byte, at []int64) []byte { b[len(b)-1] ^= 1; return b }, "SECRETS_1 at sequence 6"},
	}
	guarded := func(name string, restarted bool) {
		c := cases[name]
		t.Run(fmt.Sprintf("%s, restarted %t", name, restarted), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			k, err := keepWith(dir, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = k.close() }() // it may be damaged
			for i := range 4 {
				create(t, k.secrets, secretName(i))
			}
			if err := k.secrets.Destroy(testContext(t), secretName(0)); err != nil { // message 5 names message 1, which has a mark
				t.Fatal(err)
			}
			create(t, k.secrets, secretName(4))
			if restarted { // nothing was sent since
				if err = k.close(); err == nil {
					k, err = keepWith(dir, 1<<30)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			path := onlyBlock(dir)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := c.change(slices.Clone(b), faulttest.Records(b))
			rewrite(t, path, changed)
			k.secrets.Silence()
			err = k.secrets.Create(testContext(t), secretName(5), secretOf("x"))
			if c.seq == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, eventstore.ErrUnhealthy) || !bytes.Contains([]byte(err.Error()), []byte(c.seq)) {
				t.Errorf("a message: %v", err)
			}
			if k.store.Healthy() == nil {
				t.Error("the log is healthy")
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, changed) {
				t.Error("the block was changed", err)
			}
		})
	}
	for name := range cases {
		guarded(name, false)
		guarded(name, true)
	}
}

// TestAppendWithoutALook: if the newest block cannot be opened after a silence, no message is sent.
// When it can, messages go on.
func TestAppendWithoutALook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k, err := keepWith(dir, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := k.close(); err != nil {
			t.Error(err)
		}
	}()
	create(t, k.secrets, secretName(0))
	path := onlyBlock(dir)
	if err := errors.Join(os.Rename(path, path+".kept"), os.Symlink(path, path)); err != nil {
		t.Fatal(err)
	}
	k.secrets.Silence()
	if err := k.secrets.PutIn(testContext(t), "card.1", "card.1.a"); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("a message: %v", err)
	}
	if err := errors.Join(k.store.Healthy(), os.Remove(path), os.Rename(path+".kept", path)); err != nil {
		t.Error(err)
	}
	create(t, k.secrets, secretName(1))
}

// rewrite changes the bytes of a file in their place: the server has it open.
func rewrite(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestGuardOfAnOlderBlock: a block that is not the newest one is damaged under a running server
// that does not have it in memory. The server would cut it for a read, a deletion and a purge, so
// it gets none of them, and the damage is named. Values in the other block can be read.
func TestGuardOfAnOlderBlock(t *testing.T) {
	t.Parallel()
	requests := map[string]func(b *secretlog.Stream) error{
		"a read":           func(b *secretlog.Stream) error { _, err := b.Get(testContext(t), secretName(1)); return err },
		"a deletion":       func(b *secretlog.Stream) error { return b.Destroy(testContext(t), secretName(1)) },
		"without the key":  func(b *secretlog.Stream) error { return b.Remove(testContext(t), secretName(1)) },
		"a purge":          func(b *secretlog.Stream) error { return b.Purge(testContext(t), "card.1", 1<<40) },
		"a missing record": func(b *secretlog.Stream) error { return b.MissAgain(testContext(t), 2) },
	}
	for name, request := range requests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			k := twoBlocks(t, dir)
			path := onlyBlock(dir)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := slices.Clone(b)
			changed[faulttest.Records(b)[1]] ^= 1 // the length of the second message
			rewrite(t, path, changed)
			if err := request(k.secrets); !errors.Is(err, eventstore.ErrUnhealthy) || !strings.Contains(err.Error(), "SECRETS_1 at sequence 2") {
				t.Errorf("the answer: %v", err)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, changed) {
				t.Errorf("the block has %d bytes now, and had %d (%v)", len(now), len(changed), err)
			}
			if k.store.Healthy() == nil {
				t.Error("the log is healthy")
			}
			if _, err := k.secrets.Get(testContext(t), "last"); err != nil {
				t.Errorf("a value in the other block: %v", err)
			}
		})
	}
}

// twoBlocks returns a stream with two blocks, as after a start.
func twoBlocks(t *testing.T, dir string) *keeper {
	t.Helper()
	k, err := keepWith(dir, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	create(t, k.secrets, secretName(0), secretName(1))
	if err := k.secrets.PutIn(testContext(t), "card.1", "card.1.a"); err != nil {
		t.Fatal(err)
	}
	for i := range 5 { // a block has 8 MiB
		if err := k.secrets.Create(testContext(t), fmt.Sprintf("large.%d", i), make([]byte, 2<<20)); err != nil {
			t.Fatal(err)
		}
	}
	create(t, k.secrets, "last")
	if err = k.close(); err == nil {
		k, err = keepWith(dir, 1<<30)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.close() }) // it is damaged
	if _, err := os.Stat(filepath.Join(filepath.Dir(onlyBlock(dir)), "2.blk")); err != nil {
		t.Fatal(err)
	}
	return k
}

// TestGuardOfAWholeStream: values of all sizes are stored, read and destroyed at once, in several
// blocks and segments, and segments are dropped. Each request looks at its blocks. None is damaged.
func TestGuardOfAWholeStream(t *testing.T) {
	t.Parallel()
	k, err := keepWith(t.TempDir(), 9<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := k.close(); err != nil {
			t.Error(err)
		}
	}()
	k.secrets.LookAlways()
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() { t.Log(writer(t, k.secrets, w), "values of writer", w) })
	}
	writers.Wait()
	if n := len(k.secrets.Segments()); n < 2 {
		t.Errorf("%d segments", n)
	}
	if _, err := k.secrets.Rotate(testContext(t), nil); err != nil {
		t.Error(err)
	}
	if err := k.store.Healthy(); err != nil {
		t.Error(err)
	}
}

// writer stores, reads and destroys values. It returns the number of those that stand.
func writer(t *testing.T, b *secretlog.Stream, w int) (stand int) {
	random := rand.New(rand.NewPCG(1, uint64(w)))
	values := map[string]int{}
	for i := range 40 {
		name := fmt.Sprintf("card.%d.%d", w, i)
		size := random.IntN(1 << (8 + random.IntN(13)))
		err := b.CreateIn(testContext(t), fmt.Sprintf("card.%d", w), name, make([]byte, size))
		values[name] = size
		for name, size := range values { // of one
			var value []byte
			switch random.IntN(4) {
			case 0:
				err = errors.Join(err, b.Destroy(testContext(t), name))
				delete(values, name)
			case 1:
				err = errors.Join(err, b.Remove(testContext(t), name))
				delete(values, name)
			default:
				var getErr error
				if value, getErr = b.Get(testContext(t), name); getErr != nil || len(value) != size {
					err = errors.Join(err, getErr, fmt.Errorf("%s: %d bytes of %d", name, len(value), size))
				}
			}
			break
		}
		if i == 30 && w%2 == 0 {
			err = errors.Join(err, b.Purge(testContext(t), fmt.Sprintf("card.%d", w), 1<<40))
			clear(values)
		}
		if err != nil {
			t.Error(err)
			break
		}
	}
	return len(values)
}
