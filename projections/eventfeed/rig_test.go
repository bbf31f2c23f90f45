package eventfeed_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/eventstream"
	"payledger/eventstore/ordered"
	"payledger/projections/eventfeed"
	"payledger/projections/eventjson"
)

func TestMain(m *testing.M) {
	flag.Parse()
	eventstoretest.AtOnce(6, 2)
	eventstoretest.RunWithoutLeaks(m)
}

// rig is a log with its checkpoints.
type rig struct {
	store *engine.Store
	log   *ordered.Log
}

var account = domain.NewAccountID([16]byte{7})

func newRig(t testing.TB) *rig {
	t.Helper()
	store := eventstoretest.Open(t, t.TempDir())
	signer, _, err := eventstoretest.Secrets(t, store).CheckpointSigner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fanout := eventstore.NewFanout(store)
	c, err := checkpointlog.NewWriter(t.Context(), store.Checkpoints(), fanout.Reader, signer)
	if err != nil {
		t.Fatal(err)
	}
	c.Every = time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = fanout.Run(ctx) })
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return &rig{store, ordered.New(store)}
}

// payments appends the events of n payments, and returns the number of events of the log when all
// have their positions.
func (r *rig) payments(t testing.TB, n int) uint64 {
	t.Helper()
	if _, err := eventstoretest.Generate(t.Context(), r.store, account, n, 8); err != nil {
		t.Fatal(err)
	}
	size := r.store.Events()
	if err := r.log.Await(t.Context(), size-1); err != nil {
		t.Fatal(err)
	}
	return size
}

// analysts starts the server for analysts on a folder.
func analysts(t testing.TB, dir string) *eventstream.Server {
	t.Helper()
	s, err := eventstream.Start(eventstream.Config{
		Dir: dir, Listen: "127.0.0.1:0", Memory: 64 << 20,
		Derive: func(purpose string) []byte { sum := sha256.Sum256([]byte(purpose)); return sum[:] },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// feed runs a feed until end is called.
func (r *rig) feed(t testing.TB, server *eventstream.Server, change func(*eventfeed.Config)) (f *eventfeed.Feed, end func()) {
	t.Helper()
	c := eventfeed.Config{
		Store: r.store, Server: server, Now: time.Now, Logger: zerolog.New(zerolog.NewTestWriter(t)),
		Pause: func(ctx context.Context, _ int) error { return ctx.Err() },
	}
	if change != nil {
		change(&c)
	}
	f = eventfeed.New(c)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := f.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	end = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(end)
	return f, end
}

// await waits until a condition is true.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(3 * time.Minute); !holds(); <-tick.C {
		if time.Now().After(limit) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// fed waits until a feed has written up to a position.
func fed(t testing.TB, f *eventfeed.Feed, position uint64) {
	t.Helper()
	await(t, "the feed does not reach the end of the log", func() bool { return f.Position() >= position })
}

// equal checks that the stream has the log's events from first on, each at its position, and
// nothing else.
func (r *rig) equal(t testing.TB, server *eventstream.Server, first uint64) {
	t.Helper()
	stream, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	state, err := stream.State(t.Context())
	if size := r.store.Events(); err != nil || !state.Whole || state.First != first || state.Last != size {
		t.Errorf("the stream is %+v, %v; want the positions from %d to %d", state, err, first, size)
	}
	_, err = r.log.Read(t.Context(), first-1, func(e ordered.Event) error {
		m, err := r.message(t, e)
		if err != nil {
			return err
		}
		same, err := stream.Has(t.Context(), m)
		if err == nil && !same {
			t.Errorf("the message %d is not the event %s of %s", e.Position, e.Type, e.Key.ID)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// files returns the files of the stream that match a pattern.
func files(t testing.TB, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "EVENTS", pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("no file %s: %v", pattern, err)
	}
	return found
}

// message returns the message of an event.
func (r *rig) message(t testing.TB, e ordered.Event) (m eventstream.Message, err error) {
	t.Helper()
	rendered, err := eventjson.Render(t.Context(), r.store, e)
	if err != nil {
		return m, err
	}
	var body strings.Builder
	lines := json.NewEncoder(&body)
	lines.SetEscapeHTML(false)
	err = lines.Encode(rendered)
	return eventstream.Message{
		Position: e.Position, Account: string(e.Account), Type: e.Type, ID: e.EventID, Revision: e.Revision, Hash: e.Hash.String(),
		Subject: string(e.Account) + "." + e.Aggregate + "." + rendered.AggregateID, Time: e.Time.UTC().Format(time.RFC3339Nano),
		Body: []byte(strings.TrimSuffix(body.String(), "\n")),
	}, err
}
