package checkpointlog_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
)

// TestSignerOrigin checks that the signer of a new ledger has the ledger's own name, by the log's
// id or as it was set, and that no later start changes it.
func TestSignerOrigin(t *testing.T) {
	t.Parallel()
	for _, set := range []string{"", "ledger.example.com/payments"} {
		store := eventstoretest.Open(t, t.TempDir())
		id := store.ID()
		want := "payledger/" + hex.EncodeToString(id[:])
		vault := eventstoretest.Secrets(t, store)
		if set != "" {
			want = set
			vault.SetOrigin(set)
		}
		signer, key, err := vault.CheckpointSigner(t.Context())
		if err != nil || signer.Name() != want || !strings.HasPrefix(key, want+"+") {
			t.Errorf("%s %s %v; expected %s", signer.Name(), key, err, want)
		}
		again := eventstoretest.Secrets(t, store)
		if _, same, err := again.CheckpointSigner(t.Context()); err != nil || same != key {
			t.Errorf("%s, %v; expected %s", same, err, key)
		}
		again.SetOrigin("another.example.com")
		if _, _, err := again.CheckpointSigner(t.Context()); !errors.Is(err, secrets.ErrOrigin) || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
}
