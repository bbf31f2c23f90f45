package servicetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
)

// TestRestoreFolders: restore into a symbolic link to an empty folder makes the ledger in the
// folder that the link names, and the link stays. A link to nothing, and a key before that cannot
// be read, are refused before the work (I1).
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
	inside := filepath.Join(f.Restored+".restoring", "events") // where restore would work, and remove it
	if err := os.CopyFS(inside, os.DirFS(f.Out)); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"restore", "--from", inside, "--keys", f.Keys, "--data", f.Restored}, key...)
	if status, _, stderr := apptest.Invoke(t, args...); status != command.ExitUsage || !strings.Contains(stderr, "is inside the folder of unfinished restores") {
		t.Errorf("a back-up in the folder of unfinished restores: %d, %s", status, stderr)
	}
	if err := os.RemoveAll(filepath.Dir(inside)); err != nil {
		t.Fatal(err)
	}
	target := f.Restored + "-disk"
	if err := os.Symlink(target, f.Restored); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := f.Restore(t); status != command.ExitFailure || !strings.Contains(stderr, "is a symbolic link to nothing") {
		t.Errorf("a link to nothing: %d, %s", status, stderr)
	}
	if err := os.Mkdir(target, 0o700); err != nil {
		t.Fatal(err)
	}
	if status, out, stderr := f.Restore(t); status != 0 || !strings.Contains(out, "the log is whole: ") {
		t.Fatalf("restore exits %d: %s%s", status, out, stderr)
	}
	if to, err := os.Readlink(f.Restored); err != nil || to != target {
		t.Errorf("the link is %s, %v", to, err)
	}
	for _, folder := range []string{target, f.Restored} {
		if status, out, stderr := apptest.Invoke(t, append([]string{"verify", "--data", folder}, key...)...); status != 0 {
			t.Errorf("verify of %s: %d, %s%s", folder, status, out, stderr)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(target), "*.restoring")); err != nil || len(left) > 0 {
		t.Errorf("%v stays: %v", left, err)
	}
}
