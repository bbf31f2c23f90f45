package secrets

import (
	"errors"
	"os"
	"testing"

	"payledger/eventstore/disk"
)

// TestNoKeyIsLeft: with the next key, what a kill left of its writing is removed, also that of an
// earlier build.
func TestNoKeyIsLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, ending := range []string{"", disk.Unfinished, ".new"} {
		if err := os.WriteFile(nextKeyPath(dir)+ending, []byte("a key"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 {
		t.Fatal(left, err)
	}
	err = DropNext(dir)
	left, failed := os.ReadDir(dir)
	if err := errors.Join(err, failed); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}
