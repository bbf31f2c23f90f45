package secretlog_test

import (
	"errors"
	"path/filepath"
	"testing"

	"payledger/eventstore/secretlog"
)

// TestResealedBesideDuplicate: a reader without an index finds a replaced value deleted, and a duplicate of it not yet. The value sealed
// anew counts for it too. A later rotation of the folder keeps the value: its messages name no generation.
func TestResealedBesideDuplicate(t *testing.T) {
	t.Parallel()
	dir, name := t.TempDir(), secretName(1)
	k := mustKeep(t, dir)
	create(t, k.secrets, name)
	if err := errors.Join(k.secrets.ReplaceHalf(testContext(t), name, secretOf(name)), k.close()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first start destroys what it takes for surplus
		remove(t, filepath.Join(dir, "tips"))
		k = mustKeep(t, dir)
		holds(t, k.secrets, name, true)
		if err := k.close(); err != nil {
			t.Fatal(err)
		}
	}
	k = mustKeep(t, dir)
	_, err := k.secrets.Rotate(testContext(t), secretlog.Rotation{
		Keep:   func() error { return nil },
		Reseal: func(_ string, value []byte) (string, []byte, error) { return "", value, nil },
	})
	if err := errors.Join(err, k.close()); err != nil {
		t.Fatal(err)
	}
	k = mustKeep(t, dir)
	holds(t, k.secrets, name, true)
	create(t, k.secrets, secretName(2))
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
	remove(t, filepath.Join(dir, "tips"))
	k = mustKeep(t, dir)
	holds(t, k.secrets, name, true)
	holds(t, k.secrets, secretName(2), true)
}
