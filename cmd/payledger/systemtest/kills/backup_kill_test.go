//go:build system

package kills

import (
	"os"
	"path/filepath"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
)

// TestBackupKilled: kill -9 of backup and of restore, at the first file that each writes, or at the
// last one: the next run ends well, and no half result has the final name.
func TestBackupKilled(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	f := apptest.NewBackupFolders(t)
	if status, _, stderr := apptest.Invoke(t, "init", "--data", f.Data); status != 0 {
		t.Fatal(stderr)
	}
	for _, file := range []string{"*.messages*", "*.manifest.part"} {
		apptest.KilledWhen(t, apptest.There(filepath.Join(f.Out, file)), nil, "backup", "--data", f.Data, "--out", f.Out, "--keys-out", f.Keys)
	}
	f.BackUp(t)
	key := filepath.Join(f.Data, "master.key")
	for _, file := range []string{"", "events/tips/*"} {
		apptest.KilledWhen(t, apptest.There(filepath.Join(f.Restored+".restoring", file)), nil, "restore", "--from", f.Out, "--keys", f.Keys, "--data", f.Restored, "--master-key-file", key)
		if _, err := os.Stat(f.Restored); err == nil {
			if status, out, stderr := apptest.Invoke(t, "verify", "--data", f.Restored, "--master-key-file", key); status != 0 {
				t.Fatalf("a killed restore left %s%s", out, stderr)
			}
			if err := os.RemoveAll(f.Restored); err != nil {
				t.Fatal(err)
			}
		}
	}
	if status, _, stderr := f.Restore(t); status != 0 {
		t.Errorf("restore exits %d: %s", status, stderr)
	}
}

// TestClusterInitKilled kills `init --nats-url` with SIGKILL when the first stream exists. The next
// init makes the ledger, unless the first one did.
func TestClusterInitKilled(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	c := clustertest.Start(t, 3, nil).Formed(t)
	url, js := c.URL(clustertest.User), apptest.StreamsOf(t, c, clustertest.User)
	apptest.KilledWhen(t, func() bool { return len(apptest.StreamNames(t, js)) > 0 }, []string{"PAYLEDGER_NATS_URL=" + url}, "init", "--shards", "1")
	made := apptest.InitCluster(t, url)
	(&apptest.CutRig{C: c, URL: url}).Serves(t, &made)
}
