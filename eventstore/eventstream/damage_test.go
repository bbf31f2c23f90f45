package eventstream_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/disk"
	"payledger/eventstore/eventstream"
)

// TestDamagedMessage: a request for one message that the server cannot read is not answered as if
// the message did not exist. The clients' connections end, and none connects until the writer has
// restarted the server and admits clients.
func TestDamagedMessage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func() *rig {
		server, err := eventstream.Start(eventstream.Config{Dir: dir, Listen: "127.0.0.1:0", Derive: derive, Memory: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		writer, err := server.Connect()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(writer.Close)
		return &rig{Server: server, writer: writer}
	}
	r := start()
	if err := r.writer.Create(t.Context(), 1, 0); err != nil {
		t.Fatal(err)
	}
	r.write(t, 20, 10)
	r.Close()
	r = start() // it has no message in memory
	path, _ := r.credentials(t, ours)
	u := r.connect(t, path)
	stream, err := u.js.Stream(t.Context(), eventstream.Name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.GetMsg(t.Context(), 21); err == nil || r.Damage() != "" {
		t.Errorf("a message beyond the end: %v, damage %q", err, r.Damage())
	}
	block := filepath.Join(dir, "jetstream", "*", "streams", "EVENTS", "msgs", "*.blk")
	names, err := filepath.Glob(block)
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(names[0], bytes.Replace(data, []byte(`"position":5,`), []byte(`"position":6,`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	runtime.GC() // the server keeps blocks in weak pointers
	if m, err := stream.GetMsg(t.Context(), 5); err == nil {
		t.Errorf("the damaged message is %s", m.Data)
	}
	<-r.Damaged()
	if conn, err := nats.Connect(r.URL(), nats.UserCredentials(path), nats.NoReconnect(), patient); err == nil {
		conn.Close()
		t.Error("a client connects to a damaged stream")
	}
	r.Suspect("again")
	r.Admit()
	if r.Damage() == "" {
		t.Error("clients are admitted without a restart")
	}
	if err := r.Restart(); err != nil {
		t.Fatal(err)
	}
	r.Admit()
	r.connect(t, path)
}

// TestNoteIsDurable: a note about damage counts as kept only after a sync, and replaces an earlier
// one as a whole.
func TestNoteIsDurable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keep := func(reason string) {
		if err := eventstream.NoteIn(dir, reason); err != nil {
			t.Error(err)
		}
		if noted := eventstream.NotedIn(dir); noted != reason {
			t.Errorf("noted %q, want %q", noted, reason)
		}
	}
	for _, reason := range []string{"", "the first reason", "another", "", ""} {
		keep(reason)
	}
	keep("the reason of before")
	if err := os.Symlink("/dev/null", filepath.Join(dir, "rewrite"+disk.Unfinished)); err != nil { // it takes every byte and refuses a sync
		t.Log("NOT RUN: no symbolic links: ", err)
		return
	}
	if err := eventstream.NoteIn(dir, "not on the disk"); err == nil {
		t.Error("a note that was not synced counts as kept")
	}
	if noted := eventstream.NotedIn(dir); noted != "the reason of before" {
		t.Errorf("after a failed note: %q", noted)
	}
}
