package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// TestBackupRefused: every wrong use of backup and restore is one line, and changes nothing. A killed service's folder is copied as it is
// (I1).
func TestBackupRefused(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	f := newBackupFolders(t)
	fails := func(want int, says string, args ...string) {
		t.Helper()
		status, out, stderr := invoke(t, args...)
		if status != want || out != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, says) {
			t.Errorf("%v: exits %d: %s%s; want %q", args, status, out, stderr, says)
		}
	}
	fails(1, "holds no ledger", "backup", "--data", f.data, "--out", f.out, "--keys-out", f.keys)
	p := serveProcess(t, "--data", f.data, "--log-level", "error")
	ids := paid(t, p.ready.API, p.credentials.APIKey, 3)
	p.kill()
	before := files(t, f.data)
	for says, folders := range map[string][2]string{
		"--out " + filepath.Join(f.data, "out") + " is inside --data":   {filepath.Join(f.data, "out"), f.keys},
		"--keys-out " + filepath.Join(f.data, "k") + " is inside --dat": {f.out, filepath.Join(f.data, "k")},
		"--keys-out " + filepath.Join(f.out, "k") + " is inside --out":  {f.out, filepath.Join(f.out, "k")},
		"--out and --keys-out name the same folder":                     {f.out, f.out},
		"is inside --out": {filepath.Dir(f.data), f.keys},
	} {
		fails(2, says, "backup", "--data", f.data, "--out", folders[0], "--keys-out", folders[1])
	}
	blocked := f.out + "-blocked"
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fails(1, blocked, "backup", "--data", f.data, "--out", blocked, "--keys-out", f.keys)
	f.backUp(t)
	same(t, before, files(t, f.data))

	f.refused(t, "restore needs the master key", "--keys", f.keys)
	wrong := f.out + "-key"
	if err := os.WriteFile(wrong, []byte(strings.Repeat("0", 64)), 0o600); err != nil {
		t.Fatal(err)
	}
	f.refused(t, "the master key is not the one of this back-up", "--master-key-file", wrong)
	other := f
	other.keys = f.out
	status, _, stderr := other.restore(t)
	if status != 2 || !strings.Contains(stderr, "name the same folder") {
		t.Errorf("one folder for both: %d %s", status, stderr)
	}
	other.keys = f.keys + "-none"
	other.refused(t, "has no file of keys")
	other = f
	other.out = f.keys + "-none"
	other.refused(t, "holds no complete back-up")
	fails(1, "is not empty", "restore", "--from", f.out, "--keys", f.keys, "--data", f.data, "--master-key-file", filepath.Join(f.data, "master.key"))
	same(t, before, files(t, f.data))

	if err := os.MkdirAll(f.restored, 0o700); err != nil { // an empty folder is replaced
		t.Fatal(err)
	}
	if status, out, stderr := f.restore(t); status != 0 || !strings.Contains(out, "\nthe log is whole: ") {
		t.Fatalf("restore exits %d: %s%s", status, out, stderr)
	}
	f.paid(t, p.credentials.APIKey, ids, nil)
}
