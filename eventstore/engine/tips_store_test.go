package engine_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore"
	"payledger/eventstore/archive"
	"payledger/eventstore/backup"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/eventstore/streams"
	"payledger/eventstore/tiprow"
	"payledger/eventstore/tipstore"
	"payledger/eventstore/tipstore/tipfiles"
)

// stopped makes a log of two shards in dir, or goes on with it, and closes it in order.
func stopped(t *testing.T, dir string, write func(*engine.Store)) {
	t.Helper()
	server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	c := eventstoretest.Config(server)
	c.Shards = 2
	s, err := engine.Open(testContext(t), c)
	if err == nil {
		write(s)
		err = s.Close()
	}
	if err := errors.Join(err, server.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestTipStoreAtStart: the tip store is derived. If it is deleted, emptied, old, of another log or
// damaged, the log is opened with its own events. A tip store that is ahead of the log is evidence
// of a loss: the log is not opened.
func TestTipStoreAtStart(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	whole, before, other := t.TempDir(), t.TempDir(), t.TempDir()
	var keys []eventstore.Key
	var tips []eventstore.Tip[tally]
	stopped(t, whole, func(s *engine.Store) {
		for n := range 20 {
			keys = append(keys, keyIn(s, n%2))
			mustAdd(t, s, keys[n], added{N: 1})
		}
	})
	copyTree(t, whole, before)
	stopped(t, whole, func(s *engine.Store) {
		for _, key := range keys {
			tips = append(tips, mustAdd(t, s, key, added{N: 10}))
		}
	})
	stopped(t, other, func(s *engine.Store) { mustAdd(t, s, newKey(), added{}) })
	for _, c := range []struct {
		name    string
		change  func(t *testing.T, dir string)
		refused bool
	}{
		{"as it was", func(*testing.T, string) {}, false},
		{"deleted", func(t *testing.T, dir string) { remove(t, tipsOf(dir)) }, false},
		{"empty", func(t *testing.T, dir string) { remove(t, tipsOf(dir)); makeDir(t, tipsOf(dir)) }, false},
		{"of an earlier moment", func(t *testing.T, dir string) { replace(t, tipsOf(before), tipsOf(dir)) }, false},
		{"of another log", func(t *testing.T, dir string) { replace(t, tipsOf(other), tipsOf(dir)) }, false},
		{"its tables are cut", func(t *testing.T, dir string) { eachTable(t, dir, func(b []byte) []byte { return b[:len(b)/2] }) }, false},
		{"its tables are gone", func(t *testing.T, dir string) { eachTable(t, dir, nil) }, false},
		{"its tables are zeroed", func(t *testing.T, dir string) { eachTable(t, dir, func(b []byte) []byte { clear(b); return b }) }, false},
		{"without times", func(t *testing.T, dir string) { dropTimes(t, dir) }, false},
		{"called damaged", func(t *testing.T, dir string) { makeFile(t, filepath.Join(tipsOf(dir), "DAMAGED")) }, false},
		{"of a later moment", func(t *testing.T, dir string) {
			replace(t, filepath.Join(before, "jetstream"), filepath.Join(dir, "jetstream"))
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			copyTree(t, whole, dir)
			c.change(t, dir)
			if c.refused {
				_, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
				if !errors.Is(err, eventstore.ErrUnhealthy) {
					t.Errorf("started with: %v", err)
				}
				return
			}
			config := eventstoretest.Config(eventstoretest.Server(t, dir))
			s, err := engine.Open(testContext(t), config)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for i, key := range keys {
				loaded, err := eventstore.Load(testContext(t), s, tallies, key, eventstore.Applied)
				if err != nil || loaded.State.Sum != 11 || loaded.Recorded.Hash != tips[i].Recorded.Hash {
					t.Errorf("%+v, %v", loaded, err)
				}
				nearIts(t, s, tips[i].Recorded)
				if tip := mustAdd(t, s, key, added{N: 100}); tip.Recorded.Revision != 3 || tip.State.Sum != 111 {
					t.Errorf("%+v", tip)
				}
			}
		})
	}
}

// TestFlippedTips: a flipped bit in any table of the tip store is found when it is read, and the
// next start makes the store again: no tip is ever wrong or missing because of it.
func TestFlippedTips(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	whole := t.TempDir()
	tips := map[eventstore.Key]eventstore.Hash{}
	stopped(t, whole, func(s *engine.Store) {
		for range 200 {
			key := newKey()
			tips[key] = mustAdd(t, s, key, added{Who: noise(100)}).Recorded.Hash
		}
	})
	for _, part := range []int{4, 2, 20} {
		dir := t.TempDir()
		copyTree(t, whole, dir)
		eachTable(t, dir, func(b []byte) []byte { b[len(b)/part] ^= 1; return b })
		server := eventstoretest.Server(t, dir)
		damaged := 0
		for range 2 { // as it is, and after a restart
			c := eventstoretest.Config(server)
			s, err := engine.Open(testContext(t), c)
			if err != nil {
				t.Fatal(err)
			}
			damaged = 0
			for key, hash := range tips {
				r, err := s.Load(testContext(t), key, eventstore.Applied)
				switch {
				case err == nil && r.Hash == hash:
				case err != nil && !errors.Is(err, eventstore.ErrNotFound):
					damaged++
				default:
					t.Errorf("%+v, %v", r, err)
				}
				if damaged == scale(5, len(tips)) { // each takes 0.1 s: Pebble looks for the flipped bit
					break
				}
			}
			t.Logf("a bit at 1/%d: %d tips cannot be read", part, damaged)
			if err := s.Close(); err != nil {
				t.Log(err)
			}
		}
		if damaged > 0 {
			t.Errorf("a bit at 1/%d: after a restart %d tips cannot be read", part, damaged)
		}
	}
}

// TestReadOnlyTips: a look at a stopped server's folder changes nothing in its tips, whether they
// can be used or not.
func TestReadOnlyTips(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	key := newKey()
	stopped(t, whole, func(s *engine.Store) {
		mustAdd(t, s, key, added{N: 1})
		if err := s.FlushTips(); err != nil {
			t.Error(err)
		}
		mustAdd(t, s, key, added{N: 2})
	})
	for name, change := range map[string]func(t *testing.T, dir string){
		"as they were": func(*testing.T, string) {},
		"deleted":      func(t *testing.T, dir string) { remove(t, tipsOf(dir)) },
		"damaged":      func(t *testing.T, dir string) { eachTable(t, dir, func(b []byte) []byte { clear(b); return b }) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			copyTree(t, whole, dir)
			change(t, dir)
			before := contentsOf(t, tipsOf(dir))
			c := eventstoretest.Config(eventstoretest.Server(t, dir))
			c.ReadOnly = true
			s, err := engine.Open(testContext(t), c)
			if err != nil {
				t.Fatal(err)
			}
			tip, err := eventstore.Load(testContext(t), s, tallies, key, eventstore.Applied)
			if err != nil || tip.State.Sum != 3 {
				t.Errorf("%+v, %v", tip, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			same(t, "the tips' folder", contentsOf(t, tipsOf(dir)), before)
		})
	}
}

// TestUnusableRows: a row of the tip store that cannot be parsed, or times that are missing, damage
// the store: a start makes it again, and a store for reading makes its own.
func TestUnusableRows(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	var r *eventstore.Recorded
	stopped(t, whole, func(s *engine.Store) {
		r = mustAdd(t, s, keyIn(s, 0), added{N: 1}).Recorded
		mustAdd(t, s, keyIn(s, 1), added{N: 1})
	})
	for name, change := range map[string]func(dir string){
		"times":    func(dir string) { spoilRow(t, dir, tiprow.TimesKey(0, 0)) },
		"end":      func(dir string) { spoilRow(t, dir, tiprow.EndKey(1)) },
		"no times": func(dir string) { dropTimes(t, dir) },
	} {
		for _, readOnly := range []bool{true, false} {
			dir := t.TempDir()
			copyTree(t, whole, dir)
			change(dir)
			before := contentsOf(t, tipsOf(dir))
			c := eventstoretest.Config(eventstoretest.Server(t, dir))
			c.ReadOnly = readOnly
			s, err := engine.Open(testContext(t), c)
			if err != nil {
				t.Errorf("%s, for reading %t: %v", name, readOnly, err)
				continue
			}
			nearIts(t, s, r)
			if group, err := s.Near(testContext(t), 0, format.GroupOf(r.Seq), eventstore.Window{}); err != nil || len(group) == 0 {
				t.Error(group, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if readOnly {
				same(t, "the tips' folder", contentsOf(t, tipsOf(dir)), before)
			}
		}
	}
}

// spoilRow replaces a row of the tip store in a folder.
func spoilRow(t *testing.T, dir string, key []byte) {
	t.Helper()
	tips, err := tipfiles.Open(tipstore.Options{Dir: tipsOf(dir)})
	if err != nil {
		t.Fatal(err)
	}
	batch := tips.NewBatch()
	if err := errors.Join(batch.Set(key, []byte("short")), batch.Commit(), tips.Flush(), tips.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestUnparsableTip: after the read of a tip that cannot be parsed, the next start makes the tip
// store again.
func TestUnparsableTip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var r *eventstore.Recorded
	stopped(t, dir, func(s *engine.Store) { r = mustAdd(t, s, newKey(), added{N: 1}).Recorded })
	spoilRow(t, dir, tiprow.Key(r.Key))
	c := eventstoretest.Config(eventstoretest.Server(t, dir))
	for _, damaged := range []bool{true, false} {
		s, err := engine.Open(testContext(t), c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Load(testContext(t), r.Key, eventstore.Applied); damaged != errors.Is(err, tipstore.ErrDamaged) || !damaged && err != nil {
			t.Errorf("damaged %t: %v", damaged, err)
		}
		_ = s.Close() // of a damaged store
	}
}

// TestOldFolderIsRefused: a folder with a log of the format before is refused with one line of
// advice, and left as it is.
func TestOldFolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, file := range []string{"LEDGER_0/meta.inf", "LEDGER_0/meta.sum", "LEDGER_0/msgs/1.blk", "LEDGER_1/msgs/1.blk", "CHECKPOINTS_1/msgs/1.blk"} {
		path := filepath.Join(dir, "jetstream", "LEDGER", "streams", filepath.FromSlash(file))
		makeDir(t, filepath.Dir(path))
		makeFile(t, path)
	}
	makeFile(t, filepath.Join(dir, "LOCK"))
	before := contentsOf(t, dir)
	for range 2 {
		_, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
		if !errors.Is(err, streams.ErrOldFormat) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "empty folder") {
			t.Errorf("started with: %v", err)
		}
	}
	same(t, "the folder", contentsOf(t, dir), before)
}

// TestEarlierFormatIsRefused: so is a folder whose streams have the same names as today's, and
// another format in their descriptions, by a start and by verify. The checkpoints of that format
// were no groups: an inspection would find damage.
func TestEarlierFormatIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for name, subject := range map[string]string{"LEDGER_0_1": "ledger.0.1", "CHECKPOINTS_1": "checkpoints.1.c"} {
		_, err := js.CreateStream(testContext(t), jetstream.StreamConfig{Name: name, Subjects: []string{subject}, Metadata: map[string]string{streams.MetadataFormat: "3"}})
		if err == nil {
			_, err = js.Publish(testContext(t), subject, []byte("a message"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	nc.Close()
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	before := contentsOf(t, dir)
	if _, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"}); !errors.Is(err, streams.ErrOldFormat) {
		t.Errorf("a start: %v", err)
	}
	if _, err := archive.Open(dir); !errors.Is(err, streams.ErrOldFormat) {
		t.Errorf("verify: %v", err)
	}
	moment := func(context.Context) (backup.Cut, error) {
		return backup.Cut{Ends: map[int]uint64{0: 1}, Events: 1}, nil
	}
	_, err = backup.Run(testContext(t), backup.Config{Source: backup.Running(dir, moment), Out: t.TempDir(), Keys: t.TempDir(), Now: time.Now})
	if !errors.Is(err, streams.ErrOldFormat) {
		t.Errorf("a back-up beside the build before: %v", err)
	}
	same(t, "the folder", contentsOf(t, dir), before)
}

func tipsOf(dir string) string { return filepath.Join(dir, "tips") }

// dropTimes deletes the times of events from a tip store.
func dropTimes(t *testing.T, dir string) {
	t.Helper()
	store, err := tipfiles.Open(tipstore.Options{Dir: tipsOf(dir)})
	if err != nil {
		t.Fatal(err)
	}
	batch, dropped := store.NewBatch(), 0
	for shard := range 2 {
		err = errors.Join(err, store.Each(tiprow.TimesOf(shard), func(key, _ []byte) error {
			dropped++
			return batch.Delete(slices.Clone(key))
		}))
	}
	if err := errors.Join(err, batch.Commit(), store.Flush(), store.Close()); err != nil || dropped == 0 {
		t.Fatal(dropped, err)
	}
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := eventstoretest.CopyLog(to, from); err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, from, to string) {
	t.Helper()
	remove(t, to)
	copyTree(t, from, to)
}

func makeDir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

func makeFile(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, []byte("as it was"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// eachTable changes every table of the tip store in dir; nil removes them.
func eachTable(t *testing.T, dir string, change func([]byte) []byte) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(tipsOf(dir), "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(err, tables)
	}
	for _, table := range tables {
		if change == nil {
			remove(t, table)
		} else {
			edit(t, table, change)
		}
	}
}

// contentsOf returns every file below dir with a digest of its content; none if dir does not exist.
func contentsOf(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		content := []byte{}
		if !entry.IsDir() {
			content, err = os.ReadFile(path)
		}
		files = append(files, fmt.Sprintf("%s %s %x", path[len(dir):], entry.Type(), sha256.Sum256(content)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}
