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

// TestBackupRefused: every wrong use of backup and restore is one line, and changes nothing. A
// killed service's folder is copied as it is (I1).
func TestBackupRefused(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	f := apptest.NewBackupFolders(t)
	fails := func(want int, says string, args ...string) {
		t.Helper()
		status, out, stderr := apptest.Invoke(t, args...)
		if status != want || out != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, says) {
			t.Errorf("%v: exits %d: %s%s; want %q", args, status, out, stderr, says)
		}
	}
	fails(1, "holds no ledger", "backup", "--data", f.Data, "--out", f.Out, "--keys-out", f.Keys)
	p := apptest.ServeProcess(t, "--data", f.Data, "--log-level", "error")
	ids := paid(t, p.Ready.API, p.Credentials.APIKey, 3)
	p.Kill()
	before := files(t, f.Data)
	for says, folders := range map[string][2]string{
		"--out " + filepath.Join(f.Data, "out") + " is inside --data":   {filepath.Join(f.Data, "out"), f.Keys},
		"--keys-out " + filepath.Join(f.Data, "k") + " is inside --dat": {f.Out, filepath.Join(f.Data, "k")},
		"--keys-out " + filepath.Join(f.Out, "k") + " is inside --out":  {f.Out, filepath.Join(f.Out, "k")},
		"--out and --keys-out name the same folder":                     {f.Out, f.Out},
		"is inside --out": {filepath.Dir(f.Data), f.Keys},
	} {
		fails(2, says, "backup", "--data", f.Data, "--out", folders[0], "--keys-out", folders[1])
	}
	blocked := f.Out + "-blocked"
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fails(1, blocked, "backup", "--data", f.Data, "--out", blocked, "--keys-out", f.Keys)
	f.BackUp(t)
	same(t, before, files(t, f.Data))

	f.Refused(t, "restore needs the master key", "--keys", f.Keys)
	wrong := f.Out + "-key"
	if err := os.WriteFile(wrong, []byte(strings.Repeat("0", 64)), 0o600); err != nil {
		t.Fatal(err)
	}
	f.Refused(t, "the master key is not the one of this back-up", "--master-key-file", wrong)
	other := f
	other.Keys = f.Out
	status, _, stderr := other.Restore(t)
	if status != 2 || !strings.Contains(stderr, "name the same folder") {
		t.Errorf("one folder for both: %d %s", status, stderr)
	}
	other.Keys = f.Keys + "-none"
	other.Refused(t, "has no file of keys")
	other = f
	other.Out = f.Keys + "-none"
	other.Refused(t, "holds no complete back-up")
	fails(1, "is not empty", "restore", "--from", f.Out, "--keys", f.Keys, "--data", f.Data, "--master-key-file", filepath.Join(f.Data, "master.key"))
	same(t, before, files(t, f.Data))

	if err := os.MkdirAll(f.Restored, 0o700); err != nil { // an empty folder is replaced
		t.Fatal(err)
	}
	if status, out, stderr := f.Restore(t); status != 0 || !strings.Contains(out, "\nthe log is whole: ") {
		t.Fatalf("restore exits %d: %s%s", status, out, stderr)
	}
	f.Paid(t, p.Credentials.APIKey, ids, nil)
}
