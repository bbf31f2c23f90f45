package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
)

// killedWhen starts the program with arguments, and kills it with signal 9 as soon as begun returns true. The program may have ended before.
func killedWhen(t *testing.T, begun func() bool, env []string, args ...string) {
	t.Helper()
	command := exec.Command(os.Args[0], args...)
	command.Env = append(append(os.Environ(), asProgram+"=1"), env...)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !begun() {
		select {
		case err := <-ended:
			t.Logf("%s ended before the kill: %v", args[0], err)
			return
		case <-deadline:
			_ = command.Process.Kill() // the test fails anyway
			t.Fatalf("%s did not begin", args[0])
		case <-tick.C:
		}
	}
	_ = command.Process.Kill() // it may have ended
	<-ended
}

// there returns a function that reports whether a file exists.
func there(pattern string) func() bool {
	return func() bool {
		found, _ := filepath.Glob(pattern) // the pattern is valid
		return len(found) > 0
	}
}

// TestBackupKilled: kill -9 of backup and of restore, at the first file that each writes, or at the last one: the next run ends well, and
// no half result has the final name.
func TestBackupKilled(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	f := newBackupFolders(t)
	if status, _, stderr := invoke(t, "init", "--data", f.data); status != 0 {
		t.Fatal(stderr)
	}
	for _, file := range []string{"*.messages*", "*.manifest.part"} {
		killedWhen(t, there(filepath.Join(f.out, file)), nil, "backup", "--data", f.data, "--out", f.out, "--keys-out", f.keys)
	}
	f.backUp(t)
	key := filepath.Join(f.data, "master.key")
	for _, file := range []string{"", "events/tips/*"} {
		killedWhen(t, there(filepath.Join(f.restored+".restoring", file)), nil, "restore", "--from", f.out, "--keys", f.keys, "--data", f.restored, "--master-key-file", key)
		if _, err := os.Stat(f.restored); err == nil {
			if status, out, stderr := invoke(t, "verify", "--data", f.restored, "--master-key-file", key); status != 0 {
				t.Fatalf("a killed restore left %s%s", out, stderr)
			}
			if err := os.RemoveAll(f.restored); err != nil {
				t.Fatal(err)
			}
		}
	}
	if status, _, stderr := f.restore(t); status != 0 {
		t.Errorf("restore exits %d: %s", status, stderr)
	}
}

// TestClusterInitKilled kills `init --nats-url` with SIGKILL when the first stream exists. The next init makes the ledger, unless the
// first one did.
func TestClusterInitKilled(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	c := clustertest.Start(t, 3, nil).Formed(t)
	url, js := c.URL(clustertest.User), streamsOf(t, c, clustertest.User)
	killedWhen(t, func() bool { return len(streamNames(t, js)) > 0 }, []string{"PAYLEDGER_NATS_URL=" + url}, "init", "--shards", "1")
	made := initCluster(t, url)
	(&cutRig{c: c, url: url}).serves(t, &made)
}
