package servicetest

import (
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
)

// TestRestoreFolders: restore refuses a key before that it cannot use, before the work (I1).
func TestRestoreFolders(t *testing.T) {
	t.Parallel()
	f := apptest.NewBackupFolders(t)
	if status, _, stderr := apptest.Invoke(t, "init", "--data", f.Data, "--shards", "1"); status != 0 {
		t.Fatal(stderr)
	}
	f.BackUp(t)
	key := []string{"--master-key-file", filepath.Join(f.Data, "master.key")}
	for _, c := range []struct {
		previous string // what the file of the key before holds
		says     string
	}{{"half a key", "--master-key-previous"}, {"", "is empty"}} {
		status, out, stderr := f.Restore(t, append(key, "--master-key-previous-file", apptest.SecretFile(t, c.previous))...)
		if status != command.ExitUsage || out != "" || !strings.Contains(stderr, c.says) {
			t.Errorf("the key before is %q: %d, %s", c.previous, status, stderr)
		}
	}
}
