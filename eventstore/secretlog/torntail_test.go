package secretlog_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"payledger/eventstore"
	"payledger/eventstore/archive"
)

// TestTornNewestRecord: the newest record of SECRETS is damaged after an orderly stop, and the
// server trusts its index, which has that record. The start is refused, and changes nothing, with
// or without the tip store. A torn record that no index has is no damage.
func TestTornNewestRecord(t *testing.T) {
	t.Parallel()
	damage := func(b []byte) []byte { b[len(b)-100] ^= 1; return b }
	unwritten := func(b []byte) []byte { // it ends as the index has it
		record := bytes.Clone(b)
		record[4]++ // its sequence
		return append(b, record...)
	}
	for name, c := range map[string]struct {
		more    bool // than one record in the newest block
		change  func([]byte) []byte
		refused bool
	}{
		"the only record of its block": {false, damage, true},
		"one of several":               {true, damage, true},
		"a record that was not stored": {false, unwritten, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			newest := fillOneBlock(t, dir, c.more)
			b, err := os.ReadFile(newest)
			if err == nil {
				err = os.WriteFile(newest, c.change(b), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			bare := copyFolder(t, dir)
			if err := os.RemoveAll(filepath.Join(bare, "tips")); err != nil {
				t.Fatal(err)
			}
			for what, dir := range map[string]string{"with tips": dir, "without": bare} {
				before := contents(t, dir)
				err := archive.Inspect(dir)
				if !c.refused {
					if err != nil {
						t.Error(what, err)
					}
					continue
				}
				if t.Log(err); !errors.Is(err, eventstore.ErrUnhealthy) {
					t.Errorf("%s: %v", what, err)
				}
				if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
					t.Errorf("%s: the folder was changed: %s", what, diff)
				}
			}
		})
	}
}

// fillOneBlock fills a block of SECRETS, and writes one record to the next one, or two. It returns
// the file of the newer block, of a stopped server.
func fillOneBlock(t *testing.T, dir string, two bool) string {
	t.Helper()
	k, err := keepWith(dir, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	newest := filepath.Join(dir, "jetstream", "LEDGER", "streams", "SECRETS_1", "msgs", "2.blk")
	noise := make([]byte, 64<<10)
	for i, more := 0, two; ; i++ {
		rand.Read(noise)
		if err := k.secrets.Create(testContext(t), secretName(i), noise); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(newest); err == nil && !more {
			break
		} else if err == nil {
			more = false
		}
	}
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(newest); err != nil || !two && info.Size() > 100<<10 {
		t.Fatal("not one record", info, err)
	}
	return newest
}
