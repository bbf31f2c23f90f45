package secretlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/faulttest"
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
