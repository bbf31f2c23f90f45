package keyuse_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"payledger/domain"
	"payledger/httpapi/keyuse"
)

var at = time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantLast fails unless the key was last used in the minute; the zero time is never.
func wantLast(t *testing.T, u *keyuse.Uses, id domain.APIKeyID, minute time.Time) {
	t.Helper()
	if last, known := u.Last(id); known != !minute.IsZero() || known && !last.Equal(minute) {
		t.Errorf("%s was last used at %s (%v), not %s", id, last, known, minute)
	}
}

// TestSaved checks that a restart has the saved uses, cut to whole minutes, and not the uses noted
// after the save.
func TestSaved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "uses.json")
	u, err := keyuse.Open(file)
	must(t, err)
	wantLast(t, u, "a", time.Time{})
	u.Note("a", at)
	u.Note("b", at.Add(time.Hour))
	must(t, u.Save())
	u.Note("b", at.Add(2*time.Hour))
	wantLast(t, u, "b", at.Truncate(time.Minute).Add(2*time.Hour))
	again, err := keyuse.Open(file)
	must(t, err)
	wantLast(t, again, "a", at.Truncate(time.Minute))
	wantLast(t, again, "b", at.Truncate(time.Minute).Add(time.Hour))
}

// TestWrittenOnlyWhenTheMinuteChanges: uses in a known minute write nothing.
func TestWrittenOnlyWhenTheMinuteChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "uses.json")
	u, err := keyuse.Open(file)
	must(t, err)
	u.Note("a", at)
	must(t, u.Save())
	must(t, os.Remove(file))
	for range 1000 {
		u.Note("a", at.Add(20*time.Second))
	}
	must(t, u.Save())
	if _, err := os.Stat(file); err == nil {
		t.Error("the file was written although no minute has changed")
	}
	u.Note("a", at.Add(time.Minute))
	must(t, u.Save())
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// TestDamaged checks that an unreadable file is reported and replaced, and that a failed write is
// tried again.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "uses.json")
	for _, text := range []string{"", "{", "null", `{"a":"b"}`} {
		must(t, os.WriteFile(file, []byte(text), 0o600))
		u, err := keyuse.Open(file)
		if err == nil {
			t.Errorf("%q was read", text)
		}
		u.Note("c", at)
		must(t, u.Save())
		again, err := keyuse.Open(file)
		must(t, err)
		wantLast(t, again, "c", at.Truncate(time.Minute))
	}
	u, err := keyuse.Open(filepath.Join(dir, "later", "uses.json"))
	must(t, err)
	u.Note("d", at)
	if err := u.Save(); err == nil {
		t.Error("written to a folder that is not there")
	}
	must(t, os.Mkdir(filepath.Join(dir, "later"), 0o700))
	must(t, u.Save())
}

// TestRun checks that a crash loses at most the uses noted in the last minute, and an orderly stop
// none. Deleted keys are forgotten.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "uses.json")
	synctest.Test(t, func(t *testing.T) {
		u, err := keyuse.Open(file)
		must(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			u.Run(ctx, func(id domain.APIKeyID) bool { return id != "gone" }, func(err error) { t.Error(err) })
		}()
		saved := func(id domain.APIKeyID, minute time.Time) {
			t.Helper()
			again, err := keyuse.Open(file)
			must(t, err)
			wantLast(t, again, id, minute)
		}
		u.Note("a", at)
		u.Note("gone", at)
		saved("a", time.Time{})
		<-time.After(61 * time.Second)
		synctest.Wait()
		saved("a", at.Truncate(time.Minute))
		saved("gone", time.Time{})
		u.Note("b", at)
		stop()
		<-ended
		saved("b", at.Truncate(time.Minute))
	})
}
