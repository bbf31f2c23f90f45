package secretlog_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/secretlog"
)

// TestResealedBesideDuplicate: a reader without an index finds a replaced value deleted, and a
// duplicate of it not yet. The value sealed anew counts for it too. A later rotation keeps the
// value.
func TestResealedBesideDuplicate(t *testing.T) {
	t.Parallel()
	dir, name := t.TempDir(), secretName(1)
	k := mustKeep(t, dir)
	create(t, k.secrets, name)
	if err := errors.Join(k.secrets.ReplaceHalf(testContext(t), name, secretOf(name)), k.close()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first start destroys surplus values
		remove(t, filepath.Join(dir, "tips"))
		k = mustKeep(t, dir)
		holds(t, k.secrets, name, true)
		if err := k.close(); err != nil {
			t.Fatal(err)
		}
	}
	k = mustKeep(t, dir)
	_, err := k.secrets.Rotate(testContext(t), nil)
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

// TestDestroyedUnread: a destruction by name does not list the value, and a late value sealed anew
// follows. A reader that finds the value deleted already gets the same result as the writer: the
// name has no value.
func TestDestroyedUnread(t *testing.T) {
	t.Parallel()
	dir, name := t.TempDir(), secretName(1)
	k := mustKeep(t, dir)
	create(t, k.secrets, name)
	if err := k.secrets.DestroyedUnread(testContext(t), name, secretOf(name)); err != nil {
		t.Fatal(err)
	}
	holds(t, k.secrets, name, false)
	for range 2 {
		if err := k.close(); err != nil {
			t.Fatal(err)
		}
		remove(t, filepath.Join(dir, "tips"))
		k = mustKeep(t, dir)
		holds(t, k.secrets, name, false)
	}
	create(t, k.secrets, name)
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
}

// TestSettle: after Settle the process sends no value of an earlier generation, so that none comes
// into the logs of the servers.
func TestSettle(t *testing.T) {
	t.Parallel()
	k := mustKeep(t, t.TempDir())
	if err := k.secrets.Begin(testContext(t), 0, []byte("proof")); err != nil {
		t.Fatal(err)
	}
	generation, err := k.secrets.Settle(testContext(t))
	if err != nil || generation == 0 {
		t.Fatal(generation, err)
	}
	end := k.secrets.End()
	if err := k.secrets.CreateSealed(testContext(t), 0, secretName(1), []byte("sealed with the old key")); !errors.Is(err, secretlog.ErrGeneration) {
		t.Errorf("a value of the earlier generation: %v", err)
	}
	if now := k.secrets.End(); now != end {
		t.Errorf("%d messages were sent", now-end)
	}
	if err := errors.Join(k.secrets.CreateSealed(testContext(t), generation, secretName(1), secretOf(secretName(1))), k.close()); err != nil {
		t.Fatal(err)
	}
}

// TestReplicas: a rotation needs every server that holds the stream.
func TestReplicas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		others []*jetstream.PeerInfo
		says   string // "": nothing
	}{
		{[]*jetstream.PeerInfo{{Name: "b", Current: true}, {Name: "c", Current: true}}, ""},
		{[]*jetstream.PeerInfo{{Name: "b", Current: true}, {Name: "c", Current: true, Offline: true}}, "or lacks messages: c: start it"},
		{[]*jetstream.PeerInfo{{Name: "b"}, {Name: "c", Current: true}}, "or lacks messages: b: start it"},
		{[]*jetstream.PeerInfo{{Name: "b", Current: true}, {Name: "c", Current: true, Lag: 1}}, "or lacks messages: c: start it"},
		{[]*jetstream.PeerInfo{{Name: "b", Current: true}}, "2 servers hold stream SECRETS_1, and 3 must"},
	} {
		err := secretlog.CheckReplicas(&jetstream.StreamInfo{Config: jetstream.StreamConfig{Name: "SECRETS_1", Replicas: 3}, Cluster: &jetstream.ClusterInfo{Leader: "a", Replicas: c.others}})
		if (err == nil) != (c.says == "") || err != nil && (!errors.Is(err, secretlog.ErrReplicas) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%v, want %q", err, c.says)
		}
	}
}

// TestSpent: a value sealed anew comes twice, and the name is destroyed in between by its sequence.
// The second one does not count.
func TestSpent(t *testing.T) {
	t.Parallel()
	dir, name := t.TempDir(), secretName(1)
	k := mustKeep(t, dir)
	create(t, k.secrets, name)
	if err := k.secrets.Spend(testContext(t), name, secretOf(name)); err != nil {
		t.Fatal(err)
	}
	holds(t, k.secrets, name, false)
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
	remove(t, filepath.Join(dir, "tips"))
	k = mustKeep(t, dir)
	holds(t, k.secrets, name, false)
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
}
