package secretlog_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"payledger/eventstore"
	"payledger/eventstore/archive"
	"payledger/eventstore/faulttest"
)

// TestTornNewestRecord: the newest record of SECRETS is damaged after an orderly stop, and the
// server's index has that record. The start is refused, and changes nothing, with or without the
// tip store, whether or not the server would trust the index. A torn record that no index has is no
// damage.
func TestTornNewestRecord(t *testing.T) {
	t.Parallel()
	damage := func(b []byte) []byte { b[len(b)-100] ^= 1; return b }
	checksum := func(b []byte) []byte { b[len(b)-1] ^= 1; return b } // by which the server trusts its index
	unwritten := func(b []byte) []byte {                             // it ends as the index has it
		record := bytes.Clone(b)
		record[4]++ // its sequence
		return append(b, record...)
	}
	for name, c := range map[string]struct {
		fill    func(*testing.T, string) string
		change  func([]byte) []byte
		refused bool
	}{
		"the only record of its block":                {fillOneBlock, damage, true},
		"one of several":                              {fillMore, damage, true},
		"its checksum":                                {fillMore, checksum, true},
		"a record that was not stored":                {fillOneBlock, unwritten, false},
		"of the only block":                           {fillLess, damage, true},
		"its checksum, of the only block":             {fillLess, checksum, true},
		"a record of the only block, not stored":      {fillLess, unwritten, false},
		"the only block ends before it":               {fillLess, withoutLast, true},
		"the newest of several blocks ends before it": {fillMore, withoutLast, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			newest := c.fill(t, dir)
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

// withoutLast cuts a block before its last record.
func withoutLast(b []byte) []byte {
	at := faulttest.Records(b)
	return b[:at[len(at)-2]]
}

// fillLess writes a few records to the only block of SECRETS, and returns its file.
func fillLess(t *testing.T, dir string) string {
	t.Helper()
	return fill(t, dir, 1, func(records int, _ bool) bool { return records == 3 })
}

// fillOneBlock fills a block of SECRETS, and writes one record to the next one. It returns the file
// of the newer block.
func fillOneBlock(t *testing.T, dir string) string {
	t.Helper()
	return fill(t, dir, 2, func(_ int, there bool) bool { return there })
}

// fillMore is fillOneBlock with two records.
func fillMore(t *testing.T, dir string) string {
	t.Helper()
	before := false
	return fill(t, dir, 2, func(_ int, there bool) bool {
		two := before && there
		before = there
		return two
	})
}

// fill writes records to SECRETS until enough returns true, given their number and whether a block
// is there. It stops the server, and returns the file of the block.
func fill(t *testing.T, dir string, block int, enough func(records int, there bool) bool) string {
	t.Helper()
	k, err := keepWith(dir, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "jetstream", "LEDGER", "streams", "SECRETS_1", "msgs", fmt.Sprintf("%d.blk", block))
	noise := make([]byte, 64<<10)
	for done, records := false, 0; !done; {
		rand.Read(noise)
		if err := k.secrets.Create(testContext(t), secretName(records), noise); err != nil {
			t.Fatal(err)
		}
		records++
		_, err := os.Stat(path)
		done = enough(records, err == nil)
	}
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
	return path
}
