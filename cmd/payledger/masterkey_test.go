package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/ledger"
	"payledger/eventstore/embedded"
)

// folderState is the content of a folder: each file with its mode and the hash of its bytes, and each subfolder.
func folderState(t *testing.T, dir string) map[string]string {
	t.Helper()
	state := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if state[path] = info.Mode().String(); d.IsDir() {
			return nil
		}
		content, err := os.ReadFile(path)
		state[path] += fmt.Sprintf(" %x", sha256.Sum256(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// differences names the paths at which two states of a folder differ.
func differences(before, after map[string]string) (paths []string) {
	for path := range maps.Keys(before) {
		if before[path] != after[path] {
			paths = append(paths, path)
		}
	}
	for path := range maps.Keys(after) {
		if before[path] == "" {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// TestMasterKeyOfAnother: a ledger is opened with its own master key and no other one. Every command refuses another key, a
// damaged one and none with one line, and changes no byte; with the right key the ledger is then as it was.
func TestMasterKeyOfAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	status, _, stderr := invoke(t, "init", "--data", dir)
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
		{"another key in the folder", goodMasterKey, nil, "the master key in " + own + " is not the one of this ledger"},
		{"another key beside the right one", string(right), []string{"--master-key-file", secretFile(t, goodMasterKey)}, "the master key in PAYLEDGER_MASTER_KEY (or --master-key-file) is not"},
		{"half a key", goodMasterKey[:32], nil, own + ": secrets: a key is 64 hexadecimal digits"},
	} {
		if err := os.WriteFile(own, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.content == "" {
			if err := os.Remove(own); err != nil {
				t.Fatal(err)
			}
		}
		before := folderState(t, dir)
		for name, args := range commands {
			status, out, stderr := invoke(t, append(slices.Clone(args), c.args...)...)
			if status == 0 || out != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.says) || strings.Contains(stderr, goodMasterKey[:32]) {
				t.Errorf("%s, %s: exits %d and says %q %q", c.name, name, status, out, stderr)
			}
			if changed := differences(before, folderState(t, dir)); len(changed) > 0 {
				t.Fatalf("%s, %s: it changed %q", c.name, name, changed)
			}
		}
	}
	if err := errors.Join(os.WriteFile(own, right, 0o600), os.Remove(obstacle)); err != nil {
		t.Fatal(err)
	}
	app, err := Start(context.Background(), testOptions(dir), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Stop(); err != nil {
		t.Error(err)
	}
	if status, _, stderr := invoke(t, "credentials", "reset", "--data", dir); status != 0 {
		t.Errorf("with its own key, reset exits %d: %s", status, stderr)
	}
}

// TestMasterKeyOfAnUnfinishedStart: a log that a start left without a sealed value takes a new key; nothing is lost with
// another one.
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
	if status, out, stderr := invoke(t, "init", "--data", dir); status != 0 || !strings.Contains(out, "api key") {
		t.Errorf("init exits %d and says %q %q", status, out, stderr)
	}
}
