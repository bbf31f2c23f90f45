package backup_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/eventstore/backup"
	"payledger/eventstore/verify"
)

// checkBackup verifies a back-up without its keys, and returns the result and the faults.
func checkBackup(t *testing.T, dir string) (result verify.Result, faults []string) {
	t.Helper()
	chain, err := backup.ReadChain(dir)
	if err == nil {
		result, err = verify.Run(context.Background(), verify.Config{Archive: chain.Archive(), Temp: t.TempDir(), Report: func(f verify.Fault) error {
			faults = append(faults, f.String())
			return nil
		}})
	}
	if err != nil {
		faults = append(faults, err.Error())
	}
	return result, faults
}

// TestVerifyBackup: verify reads a back-up of several runs without its keys and without the master
// key (I1): each event, each state, each checkpoint. It finds damage of any file.
func TestVerifyBackup(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(t, "a", 20)
	r.backup(t)
	r.fill(t, "b", 5)
	made := r.backup(t)
	result, faults := checkBackup(t, r.out)
	if len(faults) > 0 || result.Events != made.Events || result.Checkpoints != made.Checkpoint || result.Size != made.Events || result.Root == "" {
		t.Fatalf("%+v of %+v: %q", result, made, faults)
	}
	files, err := filepath.Glob(filepath.Join(r.out, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) == 0 || strings.HasSuffix(file, "LOCK") {
			continue
		}
		changed := append([]byte(nil), text...)
		changed[len(changed)/2] ^= 1
		if err := os.WriteFile(file, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, faults := checkBackup(t, r.out); len(faults) == 0 {
			t.Errorf("a changed bit of %s is not noticed", filepath.Base(file))
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
