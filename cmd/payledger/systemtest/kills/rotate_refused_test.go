//go:build system

package kills

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
	"payledger/eventstore/commands/accounts"
)

// TestRotateMasterKeyRefused: every wrong use is one line, and changes no byte of the folder.
func TestRotateMasterKeyRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if status, _, stderr := apptest.Invoke(t, "init", "--data", dir); status != 0 {
		t.Fatal(stderr)
	}
	before := apptest.FolderState(t, dir)
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"a wrong old key", []string{"--master-key-file", apptest.SecretFile(t, apptest.GoodMasterKey)}, command.ExitFailure, "is not the one of this ledger"},
		{"the same key", []string{"--new-master-key-file", filepath.Join(dir, "master.key")}, command.ExitFailure, "the ledger has this master key already"},
		{"half a new key", []string{"--new-master-key-file", apptest.SecretFile(t, apptest.GoodMasterKey[:32])}, command.ExitUsage, "64 hexadecimal digits"},
		{"no file of the new key", []string{"--new-master-key-file", filepath.Join(dir, "none")}, command.ExitUsage, "no such file"},
		{"an empty file of the old key", []string{"--master-key-file", apptest.SecretFile(t, " ")}, command.ExitUsage, "is empty"},
		{"a cluster with one key", []string{"--nats-url", "nats://127.0.0.1:1", "--master-key-file", apptest.SecretFile(t, apptest.GoodMasterKey)}, command.ExitUsage, "PAYLEDGER_MASTER_KEY_PREVIOUS"},
		{"a cluster with one key twice", []string{"--nats-url", "nats://127.0.0.1:1", "--master-key-file", apptest.SecretFile(t, apptest.GoodMasterKey), "--master-key-previous-file", apptest.SecretFile(t, apptest.GoodMasterKey)}, command.ExitFailure, "the ledger has this master key already"},
		{"a cluster with a key for a folder", []string{"--nats-url", "nats://127.0.0.1:1", "--new-master-key-file", apptest.SecretFile(t, apptest.GoodMasterKey)}, command.ExitUsage, "is for a data folder"},
		{"a cluster and a folder", []string{"--data", dir, "--nats-url", "nats://127.0.0.1:1", "--master-key-file", apptest.SecretFile(t, apptest.GoodMasterKey), "--master-key-previous-file", apptest.SecretFile(t, strings.Repeat("12", 32))}, command.ExitUsage, "leave one out"},
		{"a key before of a folder", []string{"--master-key-previous-file", apptest.SecretFile(t, apptest.GoodMasterKey)}, command.ExitUsage, "is for --nats-url"},
	} {
		args := []string{"rotate-master-key"}
		if !slices.Contains(c.args, "--nats-url") {
			args = append(args, "--data", dir)
		}
		status, out, stderr := apptest.Invoke(t, append(args, c.args...)...)
		if status != c.status || out != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.says) || strings.Contains(stderr, apptest.GoodMasterKey[:32]) {
			t.Errorf("%s: exits %d and says %q %q", c.name, status, out, stderr)
		}
		if c.name == "the same key" { // the ledger was opened, as by every start
			before = apptest.FolderState(t, dir)
			continue
		}
		if changed := apptest.Differences(before, apptest.FolderState(t, dir)); len(changed) > 0 {
			t.Errorf("%s: it changed %q", c.name, changed)
		}
	}
	if status, _, stderr := apptest.Invoke(t, "rotate-master-key", "--data", filepath.Join(dir, "none")); status != command.ExitFailure || !strings.Contains(stderr, "holds no ledger") {
		t.Errorf("without a ledger it exits %d: %s", status, stderr)
	}
	app := apptest.Stoppable(t, dir)
	status, _, stderr := apptest.Invoke(t, "rotate-master-key", "--data", dir)
	if err := app.Stop(); err != nil {
		t.Error(err)
	}
	if status != command.ExitFailure || !strings.Contains(stderr, "stop it") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("beside the service it exits %d: %s", status, stderr)
	}
}

// TestRotateGivenKey: a key that is not in the data folder is printed once, or is given in a file;
// a second run with the same arguments says that the rotation is complete. A back-up from before is
// restored with the old key, and one from after with the new key.
func TestRotateGivenKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, first := filepath.Join(dir, "data"), apptest.SecretFile(t, strings.Repeat("12", 32))
	status, out, stderr := apptest.Invoke(t, "init", "--data", data, "--master-key-file", first, "--json")
	var made accounts.Credentials
	if err := json.Unmarshal([]byte(out), &made); status != 0 || err != nil {
		t.Fatalf("init exits %d: %s %v", status, stderr, err)
	}
	backedUp := func(name string) (restore []string) {
		t.Helper()
		from, keys := filepath.Join(dir, name), filepath.Join(dir, name+"-keys")
		if status, _, stderr := apptest.Invoke(t, "backup", "--data", data, "--out", from, "--keys-out", keys); status != 0 {
			t.Fatalf("backup exits %d: %s", status, stderr)
		}
		return []string{"restore", "--from", from, "--keys", keys, "--data", filepath.Join(dir, name+"-restored"), "--master-key-file"}
	}
	before := backedUp("before")
	status, out, stderr = apptest.Invoke(t, "rotate-master-key", "--data", data, "--master-key-file", first, "--json")
	var shown struct{ MasterKey string }
	if err := json.Unmarshal([]byte(out), &shown); status != 0 || err != nil || len(shown.MasterKey) != 64 || strings.Contains(stderr, shown.MasterKey) {
		t.Fatalf("it exits %d and says %q %q: %v", status, out, stderr, err)
	}
	second, third := apptest.SecretFile(t, shown.MasterKey), apptest.SecretFile(t, strings.Repeat("34", 32))
	for _, says := range []string{"values are sealed", "Nothing was changed"} {
		status, out, stderr = apptest.Invoke(t, "rotate-master-key", "--data", data, "--master-key-file", second, "--new-master-key-file", third)
		if status != 0 || !strings.Contains(out, says) || strings.Contains(out, "3434") {
			t.Errorf("with a file it exits %d and says %q %q", status, out, stderr)
		}
	}
	after := backedUp("after")
	for key, of := range map[string][]string{first: before, third: after} {
		other := second
		if status, _, stderr := apptest.Invoke(t, append(of, other)...); status != command.ExitFailure || !strings.Contains(stderr, "not the one of this back-up") {
			t.Errorf("with another key restore exits %d: %s", status, stderr)
		}
		if status, _, stderr := apptest.Invoke(t, append(of, key)...); status != 0 {
			t.Errorf("restore exits %d: %s", status, stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(data, "master.key")); err == nil {
		t.Error("the folder has a key file now")
	}
	if _, out, _ := apptest.Invoke(t, "rotate-master-key", "--help"); !strings.Contains(strings.Join(strings.Fields(out), " "), "restored with the old master key") {
		t.Errorf("the help says %s", out)
	}
}
