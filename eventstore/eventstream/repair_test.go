package eventstream_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/eventstream"
)

// TestDamagedBlock: the next start detects damage that a stopped server's stream got in a middle
// block.
func TestDamagedBlock(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	dir := t.TempDir()
	start := func() *rig {
		t.Helper()
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
	r.write(t, 300, 100_000) // several blocks
	last := r.last
	r.Close()
	for _, name := range []string{"intact", "damaged"} {
		whole := name == "intact"
		if name == "damaged" {
			blocks, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "EVENTS", "msgs", "2.blk"))
			if err != nil || len(blocks) != 1 {
				t.Fatalf("the second block is %v, %v", blocks, err)
			}
			text, err := os.ReadFile(blocks[0])
			if err != nil {
				t.Fatal(err)
			}
			for n := range 16 {
				text[len(text)/2+n] ^= 0x5a
			}
			if err := os.WriteFile(blocks[0], text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r := start()
		state, err := r.writer.State(t.Context())
		if whole && (err != nil || state != eventstream.State{First: 1, Last: last, Whole: true}) {
			t.Errorf("the stream is %+v, %v", state, err)
		}
		if !whole && (err == nil && state.Whole || err != nil && !errors.Is(err, eventstream.ErrMissing)) {
			t.Errorf("the damaged stream is %+v, %v", state, err)
		}
		if whole {
			r.Close()
			continue
		}
		err = r.writer.Create(t.Context(), 1, 0)
		if errors.Is(err, eventstream.ErrFailed) { // as the feed does
			if err = r.Restart(); err == nil {
				r.writer, err = r.Connect()
			}
			if err == nil {
				defer r.writer.Close()
				err = r.writer.Create(t.Context(), 1, 0)
			}
		}
		if err != nil {
			t.Errorf("it cannot be written again: %v", err)
		}
		r.Close()
	}
}

// TestShortIntervals: heartbeats and repeated deliveries come at most once a second, and no request
// asks for more bytes than may wait for a connection.
func TestShortIntervals(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		"": "", "5": `{"batch":5,"max_bytes":2097152}`, "bad": "{", "{": "{", `{"batch":"x"}`: "{", " {\"batch\":1} ": `{"batch":1,"max_bytes":2097152}`,
		`{"batch":1,"expires":3600000000000,"idle_heartbeat":1}`:         `{"expires":3600000000000,"batch":1,"max_bytes":2097152,"idle_heartbeat":1000000000}`,
		`{"batch":1,"expires":1000000000,"idle_heartbeat":500000000}`:    `{"expires":2000000000,"batch":1,"max_bytes":2097152,"idle_heartbeat":1000000000}`,
		`{"batch":1,"Idle_Heartbeat":500000000}`:                         `{"batch":1,"max_bytes":2097152}`, // the server would take it
		`{"batch":1,"batch":2}`:                                          "{",
		`{"batch":7,"max_bytes":9,"no_wait":true,"group":"g"}`:           `{"batch":7,"max_bytes":9,"no_wait":true}`,
		`{"batch":7,"max_bytes":9000000}`:                                `{"batch":7,"max_bytes":2097152}`,
		`{"batch":1,"expires":30000000000,"idle_heartbeat":15000000000}`: `{"expires":30000000000,"batch":1,"max_bytes":2097152,"idle_heartbeat":15000000000}`,
	} {
		if got := string(eventstream.Pull([]byte(asked))); got != want {
			t.Errorf("%s becomes %s, expected %s", asked, got, want)
		}
	}
	r := newRig(t, 64<<20)
	path, _ := r.credentials(t, ours)
	u := r.connect(t, path)
	c, err := u.js.CreateConsumer(t.Context(), eventstream.Name, jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, AckWait: 1})
	if err != nil || c.CachedInfo().Config.AckWait != time.Second {
		t.Errorf("the consumer is %+v, %v", c, err)
	}
}

// TestUnknownFields: a field of a consumer that does not reach the server is refused with its name,
// unless it is empty.
func TestUnknownFields(t *testing.T) {
	t.Parallel()
	r := newRig(t, 64<<20)
	path, _ := r.credentials(t, ours)
	u := r.connect(t, path)
	_, err := u.js.CreateConsumer(t.Context(), eventstream.Name, jetstream.ConsumerConfig{Durable: "a", BackOff: []time.Duration{time.Second}, MaxDeliver: 3})
	if err == nil || !strings.Contains(err.Error(), `"backoff"`) {
		t.Errorf("a consumer with backoff: %v", err)
	}
	if _, err := u.js.CreateConsumer(t.Context(), eventstream.Name, jetstream.ConsumerConfig{Durable: "a", SampleFrequency: "100"}); err == nil || !strings.Contains(err.Error(), `"sample_freq"`) {
		t.Errorf("a consumer with samples: %v", err)
	}
	c, err := u.js.CreateConsumer(t.Context(), eventstream.Name, jetstream.ConsumerConfig{Durable: "a", Replicas: 1, MemoryStorage: true, Metadata: map[string]string{"team": "books"}})
	if err != nil || c.CachedInfo().Config.Metadata["team"] != "books" {
		t.Errorf("the consumer is %+v, %v", c, err)
	}
}
