//go:build system

package kills

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
)

// TestRestoreToAVolume: restore refuses the root of a volume before the work, whether it is named
// itself or by a link. A folder inside it gets the ledger.
func TestRestoreToAVolume(t *testing.T) {
	t.Parallel()
	f := apptest.NewBackupFolders(t)
	if status, _, stderr := apptest.Invoke(t, "init", "--data", f.Data, "--shards", "1"); status != 0 {
		t.Fatal(stderr)
	}
	f.BackUp(t)
	volume, link := f.Restored, f.Restored+"-link"
	if err := os.Mkdir(volume, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(volume, link); err != nil {
		t.Fatal(err)
	}
	mount(t, volume, 200<<20)
	for _, named := range []string{volume, link} {
		f.Restored = named
		status, out, stderr := f.Restore(t)
		if status != command.ExitUsage || out != "" || !strings.Contains(stderr, "name a folder inside the volume") {
			t.Errorf("%s: restore exits %d: %s%s", named, status, out, stderr)
		}
		if apptest.There(volume + ".restoring")() {
			t.Error("the folder of the restore stays")
		}
	}
	f.Restored = filepath.Join(link, "ledger")
	if status, out, stderr := f.Restore(t); status != 0 {
		t.Errorf("restore exits %d: %s%s", status, out, stderr)
	}
}
