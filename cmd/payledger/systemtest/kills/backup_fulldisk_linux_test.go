//go:build system

package kills

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/eventstoretest"
)

// TestBackupFullDisk: a back-up and a restore on a full disk end with one line and status 1. They
// leave nothing under a final name, and the next run ends well when there is room.
func TestBackupFullDisk(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	f := apptest.NewBackupFolders(t)
	if status, _, stderr := apptest.Invoke(t, "init", "--data", f.Data); status != 0 {
		t.Fatal(stderr)
	}
	disk := t.TempDir()
	mount(t, disk, smallDisk)
	f.Out, f.Restored = filepath.Join(disk, "out"), filepath.Join(disk, "restored")
	filler := filepath.Join(disk, "filler")
	refused := func(final string, status int, out, stderr string) {
		t.Helper()
		if status != 1 || out != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "no space left") {
			t.Errorf("on a full disk: exits %d: %s%s", status, out, stderr)
		}
		if apptest.There(final)() {
			t.Errorf("%s is there", final)
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	}
	back := func() (int, string, string) {
		return apptest.Invoke(t, "backup", "--data", f.Data, "--out", f.Out, "--keys-out", f.Keys)
	}
	fill(t, disk, 4<<10)
	status, out, stderr := back()
	refused(filepath.Join(f.Out, "*.manifest"), status, out, stderr)
	f.BackUp(t)
	fill(t, disk, 64<<10)
	status, out, stderr = f.Restore(t)
	refused(f.Restored, status, out, stderr)
	f.Restored += "-again" // the tip store of the first one may be open until its process ends, which is this one
	if status, out, stderr := f.Restore(t); status != 0 {
		t.Errorf("restore exits %d: %s%s", status, out, stderr)
	}
}
