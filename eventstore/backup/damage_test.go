package backup_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/domain/seedtest"
	"payledger/eventstore/backup"
	"payledger/eventstore/backup/restore"
	"payledger/eventstore/blocks"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/fault"
	"payledger/eventstore/streams"
)

// stopped makes a log, its back-up of two runs, and stops the log.
func stopped(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.fill(t, "a", 6)
	r.backup(t)
	r.fill(t, "b", 6)
	r.halt(t)
	r.backup(t)
	return r
}

// all returns the paths of the back-up's files.
func (r *rig) all(t *testing.T) (paths []string) {
	t.Helper()
	for _, dir := range []string{r.out, r.keys} {
		found, err := filepath.Glob(filepath.Join(dir, "0*"))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	return paths
}

// refusal opens and restores the back-up, and returns the error.
func (r *rig) refusal(t *testing.T) error {
	t.Helper()
	b, err := restore.Open(r.out, r.keys)
	if err == nil {
		err = b.Folder(context.Background(), filepath.Join(t.TempDir(), "restored"), nil)
	}
	return err
}

// changed calls check while a file has other contents; nil contents remove it.
func changed(t *testing.T, path string, contents []byte, check func()) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err == nil && contents == nil {
		err = os.Remove(path)
	} else if err == nil {
		err = os.WriteFile(path, contents, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	check()
	if err := os.WriteFile(path, before, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedBackup: one changed bit anywhere, a missing file, a shortened file and a longer one
// are named with the file, before or while the log is restored.
func TestDamagedBackup(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	r := stopped(t)
	for _, path := range r.all(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		named := func(what string) {
			err := r.refusal(t)
			lost := strings.HasSuffix(path, "000002.manifest") && what == "missing" // then the back-up is the one of run 1
			missing := strings.HasSuffix(path, "000001.manifest") && what == "missing"
			keys := strings.HasSuffix(path, ".keys") && what == "missing"
			switch {
			case lost && err == nil, keys && err != nil && strings.Contains(err.Error(), "has no file of keys"):
			case missing && err != nil && strings.Contains(err.Error(), "the manifest before"):
			case !errors.Is(err, backup.ErrDamaged) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n"):
				t.Errorf("%s %s: %v", path, what, err)
			}
		}
		places := []int{0, 10, 25, len(text) / 3, len(text) / 2, len(text) - 60, len(text) - 30, len(text) - 2}
		if seedtest.Sampled() {
			places = []int{0, 25, len(text) / 2, len(text) - 2}
		}
		for _, at := range places {
			flipped := append([]byte(nil), text...)
			flipped[at] ^= 1 << (at % 8)
			changed(t, path, flipped, func() { named(fmt.Sprint("changed at ", at)) })
		}
		changed(t, path, text[:len(text)/2], func() { named("shortened") })
		changed(t, path, append(text[:len(text):len(text)], 'x'), func() { named("longer") })
		changed(t, path, nil, func() { named("missing") })
	}
	if err := r.refusal(t); err != nil {
		t.Errorf("the whole back-up: %v", err)
	}
}

// TestExchangedFiles: the file of another stream, of another log, and keys of another log or of an
// older run are refused.
func TestExchangedFiles(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	r, other := stopped(t), stopped(t)
	read := func(path string) []byte {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	refused := func(path string, by []byte, says string) {
		t.Helper()
		changed(t, path, by, func() {
			if err := r.refusal(t); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), filepath.Dir(path)) {
				t.Errorf("%s: %v", path, err)
			}
		})
	}
	one, two := filepath.Join(r.out, "000001-LEDGER_0_1-1.messages"), filepath.Join(r.out, "000001-LEDGER_1_1-1.messages")
	refused(one, read(two), one+" has ")
	refused(one, read(filepath.Join(other.out, filepath.Base(one))), one)
	for _, name := range []string{"000001.manifest", "000002.manifest"} {
		refused(filepath.Join(r.out, name), read(filepath.Join(other.out, name)), "000002.manifest")
	}
	keys := filepath.Join(r.keys, "000002.keys")
	refused(keys, read(filepath.Join(other.keys, "000002.keys")), "is not the file of keys of run 2 of this log")
	if err := os.Rename(keys, filepath.Join(r.keys, "000001.keys")); err != nil {
		t.Fatal(err)
	}
	if err := r.refusal(t); err == nil || !strings.Contains(err.Error(), "are of run 1, and the events") {
		t.Errorf("older keys: %v", err)
	}
}

// TestOtherLog: a run refuses the folders of another log, and a log that does not continue the
// back-up, and changes nothing.
func TestOtherLog(t *testing.T) {
	t.Parallel()
	r, other := stopped(t), stopped(t)
	refused := func(what, says string, c backup.Config) {
		t.Helper()
		before := map[string]string{}
		for _, path := range append(r.all(t), other.all(t)...) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			before[path] = string(text)
		}
		_, err := backup.Run(context.Background(), c)
		if err = errors.Join(err, c.Source.Close()); !errors.Is(err, backup.ErrOther) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", what, err)
		}
		for path, text := range before {
			if now, err := os.ReadFile(path); err != nil || string(now) != text {
				t.Errorf("%s: %s was changed: %v", what, path, err)
			}
		}
	}
	c := r.config(r.source(t))
	c.Out = other.out
	refused("another log", "name another folder with --out", c)
	c = r.config(r.source(t))
	c.Keys = other.keys
	refused("another log's keys", "name another folder with --keys-out", c)

	old := filepath.Join(t.TempDir(), "old")
	if err := os.CopyFS(old, os.DirFS(r.dir)); err != nil {
		t.Fatal(err)
	}
	r.start(t)
	r.fill(t, "d", 6)
	r.halt(t)
	r.backup(t)
	behind := &rig{dir: old}
	c = r.config(behind.source(t))
	refused("a log that lost its end", "up to which it was backed up", c)
	behind.start(t)
	behind.fill(t, "e", 30)
	behind.halt(t)
	c = r.config(behind.source(t))
	refused("a log that went on differently", "is another one", c)
}

// TestDamagedLog: a damaged log is not copied: the run names stream and sequence, and the back-up
// before stays.
func TestDamagedLog(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	r := newRig(t)
	r.fill(t, "a", 6)
	r.backup(t)
	r.fill(t, "b", 20)
	r.checkpointed(t)
	for _, stream := range []string{"LEDGER_1_1", "DELIVERIES_1", "CHECKPOINTS_1", "SECRETS_1"} {
		files, err := blocks.Files(blocks.Folder(r.dir, streams.Account, stream))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		path, place := "", int64(0)
		for _, file := range files { // the last one may be empty: the server has just begun it
			info, err := os.Stat(file.Path)
			if err != nil {
				t.Fatal(err)
			}
			if info.Size() > 0 {
				path, place = file.Path, info.Size()*2/3
			}
		}
		flip(t, path, place)
		_, err = backup.Run(context.Background(), r.config(r.source(t)))
		if !errors.Is(err, fault.ErrUnhealthy) || !strings.Contains(err.Error(), stream+" at sequence ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", stream, err)
		}
		flip(t, path, place)
	}
	if b, err := restore.Open(r.out, r.keys); err != nil || b.Number != 1 {
		t.Errorf("the back-up before: %v", err)
	}
	r.backup(t)
}

// flip changes a bit of a file in place.
func flip(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	_, err = f.ReadAt(b[:], at)
	b[0] ^= 1
	if err == nil {
		_, err = f.WriteAt(b[:], at)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}
