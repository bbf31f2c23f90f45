package backup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"payledger/eventstore/backup"
	"payledger/eventstore/backup/restore"
)

var errKilled = errors.New("killed")

// TestInterrupted: a run that ends after any of its steps leaves the back-up before it valid, and
// the next run continues: it copies no file twice. Old keys are gone after a complete run.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(t, "a", 40)
	r.backup(t)
	r.fill(t, "b", 20)
	var steps []string
	for stop := 0; ; stop++ {
		r.fill(t, "c"+strings.Repeat("c", stop), 2)
		before, err := restore.Open(r.out, r.keys)
		if err != nil {
			t.Fatal(err)
		}
		steps = steps[:0]
		c := r.config(r.source(t))
		c.Stepped(func(step string) error {
			if steps = append(steps, step); len(steps) == stop+1 {
				return errKilled
			}
			return nil
		})
		_, err = backup.Run(context.Background(), c)
		if err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		for _, torn := range []string{"000099-LEDGER_0_1-1.messages.part", "000099.manifest.part"} { // of a kill within a step
			if err := os.WriteFile(filepath.Join(r.out, torn), []byte("torn"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(r.keys, "000099.keys.part"), []byte("torn"), 0o600); err != nil {
			t.Fatal(err)
		}
		after, openErr := restore.Open(r.out, r.keys)
		if openErr != nil {
			t.Fatalf("after %v: %v", steps, openErr)
		}
		complete := slices.Contains(steps, "manifest")
		if complete != (after.Number > before.Number) {
			t.Errorf("after %v: run %d, before %d", steps, after.Number, before.Number)
		}
		if err == nil {
			break
		}
	}
	if !slices.Contains(steps, "keys") || len(steps) < 4 {
		t.Errorf("the last run had the steps %v", steps)
	}
	names, err := os.ReadDir(r.keys)
	if err != nil || len(names) != 3 { // the lock, the keys and the part above
		t.Errorf("the folder of keys has %v: %v", names, err)
	}
	if last := r.backup(t); last.Files > 1 || last.New > 0 { // a checkpoint may have been written meanwhile
		t.Errorf("a run after all: %+v", last)
	}
	for _, dir := range []string{r.out, r.keys} {
		if left, err := filepath.Glob(filepath.Join(dir, "*.part")); len(left) > 0 || err != nil {
			t.Errorf("left behind: %v %v", left, err)
		}
	}
	r.halt(t)
	r.backup(t) // the stop wrote a checkpoint
	dir, _ := r.restored(t)
	compare(t, messages(t, r.dir), messages(t, dir))
}

// TestContinued: the run after an interrupted one takes over the complete files, and does not write
// them again.
func TestContinued(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(t, "a", 40)
	files := 0
	c := r.config(r.source(t))
	c.Stepped(func(step string) error {
		if files++; step == "keys" {
			return errKilled
		}
		return nil
	})
	if _, err := backup.Run(context.Background(), c); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	if _, err := restore.Open(r.out, r.keys); err == nil || !strings.Contains(err.Error(), "holds no complete back-up") {
		t.Errorf("without a manifest: %v", err)
	}
	result := r.backup(t)
	if result.Adopted != files-1 || result.Files > 1 || result.Number != 2 { // a checkpoint may have been written meanwhile
		t.Errorf("after %d files: %+v", files-1, result)
	}
	r.halt(t)
	dir, _ := r.restored(t)
	verified(t, dir)
}
