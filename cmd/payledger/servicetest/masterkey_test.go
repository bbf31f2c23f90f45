package servicetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
	"payledger/eventstore/embedded"
)

// TestMasterKeyOfAnother: a ledger is opened with its own master key and no other one. Every
// command refuses another key, a damaged one and none with one line, and changes no byte; with the
// right key the ledger is then as it was.
func TestMasterKeyOfAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	status, _, stderr := apptest.Invoke(t, "init", "--data", dir)
	if status != 0 {
		t.Fatalf("init exits %d: %s", status, stderr)
	}
	own := filepath.Join(dir, "master.key")
	right, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	// A file where the simulator's folder would be ends every start that comes so far.
	obstacle := filepath.Join(dir, ledger.SimulatorFolder)
	if err := os.WriteFile(obstacle, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	serve := []string{"serve", "--data", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-level", "error"}
	commands := map[string][]string{
		"serve": serve, "credentials reset": {"credentials", "reset", "--data", dir}, "init": {"init", "--data", dir},
		"history": {"history", "pay1", "--data", dir}, "reconcile": {"reconcile", "--processor", "ADYEN", "--data", dir},
	}
	for _, c := range []struct {
		name, content string // of the folder's own key; "" for none
		args          []string
		says          string
	}{
		{"no key", "", nil, "its master key is missing"},
		{"another key in the folder", apptest.GoodMasterKey, nil, "the master key in " + own + " is not the one of this ledger"},
		{"another key beside the right one", string(right), []string{"--master-key-file", apptest.SecretFile(t, apptest.GoodMasterKey)}, "the master key in PAYLEDGER_MASTER_KEY (or --master-key-file) is not"},
		{"half a key", apptest.GoodMasterKey[:32], nil, own + ": secrets: a key is 64 hexadecimal digits"},
	} {
		if err := os.WriteFile(own, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.content == "" {
			if err := os.Remove(own); err != nil {
				t.Fatal(err)
			}
		}
		before := apptest.FolderState(t, dir)
		for name, args := range commands {
			status, out, stderr := apptest.Invoke(t, append(slices.Clone(args), c.args...)...)
			if status == 0 || out != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.says) || strings.Contains(stderr, apptest.GoodMasterKey[:32]) {
				t.Errorf("%s, %s: exits %d and says %q %q", c.name, name, status, out, stderr)
			}
			if changed := apptest.Differences(before, apptest.FolderState(t, dir)); len(changed) > 0 {
				t.Fatalf("%s, %s: it changed %q", c.name, name, changed)
			}
		}
	}
	if err := errors.Join(os.WriteFile(own, right, 0o600), os.Remove(obstacle)); err != nil {
		t.Fatal(err)
	}
	app, err := app.Start(context.Background(), apptest.TestOptions(dir), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Stop(); err != nil {
		t.Error(err)
	}
	if status, _, stderr := apptest.Invoke(t, "credentials", "reset", "--data", dir); status != 0 {
		t.Errorf("with its own key, reset exits %d: %s", status, stderr)
	}
}

// TestMasterKeyOfAnUnfinishedStart: a log that a start left without a sealed value takes a new key;
// nothing is lost with another one.
func TestMasterKeyOfAnUnfinishedStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, err := embedded.Start(embedded.Config{Dir: filepath.Join(dir, ledger.EventsFolder), Name: "payledger"})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if status, out, stderr := apptest.Invoke(t, "init", "--data", dir); status != 0 || !strings.Contains(out, "api key") {
		t.Errorf("init exits %d and says %q %q", status, out, stderr)
	}
}
