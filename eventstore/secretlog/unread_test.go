package secretlog_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore"
)

// TestUnread: a message was acknowledged, and its writer did not read it back. Then its value is
// there, for everybody who looks for it. A repeat leaves no second copy, and the next segment
// begins after it. Also after a start, with and without the index.
func TestUnread(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := mustKeep(t, dir)
	unread := func(i int) string {
		name := secretName(i)
		if err := k.secrets.SendUnread(testContext(t), name, secretOf(name)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	holds(t, k.secrets, unread(0), true)
	if err := k.secrets.Create(testContext(t), unread(1), []byte("another value")); !errors.Is(err, eventstore.ErrConflict) {
		t.Errorf("another value of the name: %v", err)
	}
	if err := k.secrets.Destroy(testContext(t), unread(2)); err != nil {
		t.Error(err)
	}
	before := k.deleted(t)
	if err := k.secrets.Retry(testContext(t), unread(3), secretOf(secretName(3))); err != nil {
		t.Error(err)
	}
	if copies := k.deleted(t) - before; copies != 1 {
		t.Errorf("a repeat deleted %d values, not its own", copies)
	}
	const full = 60
	for i := 4; i < full; i++ {
		unread(i)
	}
	if k.secrets.Roll(); len(k.secrets.Segments()) != 2 {
		t.Errorf("%d segments", len(k.secrets.Segments()))
	}
	create(t, k.secrets, secretName(full))
	for _, when := range []string{"now", "after a start", "without the index"} {
		if when != "now" {
			if err := k.close(); err != nil {
				t.Fatal(err)
			}
		}
		if when == "without the index" {
			remove(t, filepath.Join(dir, "tips"))
		}
		if when != "now" {
			k = mustKeep(t, dir)
		}
		for i := range full + 1 {
			holds(t, k.secrets, secretName(i), i != 2)
		}
	}
}

// deleted returns the number of deleted messages of the first segment.
func (k *keeper) deleted(t *testing.T) int {
	t.Helper()
	conn, err := k.server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(testContext(t), "SECRETS_1")
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State.NumDeleted
}
