package eventstoretest

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"payledger/eventstore"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/due"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/secrets"
)

// readTimeout bounds a read: a server that stands still on a busy machine does not count as a
// server without an answer.
const readTimeout = time.Minute

// Config is what Open uses for a store on server.
func Config(server *embedded.Server) engine.Config {
	c := config()
	c.Server = server
	return c
}

// ConfigAt is Config for a node of a cluster of three servers.
func ConfigAt(url string) engine.Config {
	c := config()
	c.External.URL, c.Replicas = url, 3
	return c
}

// Own makes a store of a new log on a cluster the owner of all shards of events and deliveries:
// other nodes hand it theirs.
func Own(t testing.TB, store *engine.Store) {
	t.Helper()
	if _, err := store.Deliveries().Last(t.Context(), "nobody"); !errors.Is(err, eventstore.ErrNotFound) {
		t.Fatal(err)
	}
	for shard := range store.Shards() {
		if _, err := store.LastSeq(t.Context(), shard); err != nil { // it appends an empty group
			t.Fatal(err)
		}
	}
}

func config() engine.Config {
	return engine.Config{Now: time.Now, Random: rand.Reader, Logger: zerolog.Nop(), ReadTimeout: readTimeout}
}

// Cluster starts a cluster of three servers for the test's life. The first store with the
// configuration makes a log there; all stores with it are nodes of this log.
func Cluster(t testing.TB) engine.Config {
	t.Helper()
	return ConfigAt(clustertest.Start(t, 3, nil).Formed(t).URL(clustertest.User))
}

// Again repeats a read, or a write that is safe to repeat, while it has no answer in time, or
// nobody to answer it: the disk of a busy machine can stand still for longer, and servers can
// choose a leader.
func Again(ctx context.Context, do func() error) error {
	for end := time.Now().Add(readTimeout); ; {
		err := do()
		silent := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrNoResponders)
		if !silent || time.Now().After(end) || due.Rest(ctx, 10*time.Millisecond, nil) != nil {
			return err
		}
	}
}

// Server starts an embedded server on dir for the test's life.
func Server(t testing.TB, dir string) *embedded.Server {
	t.Helper()
	server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// Open opens a store on an embedded server of its own.
func Open(t testing.TB, dir string) *engine.Store {
	t.Helper()
	return OpenOn(t, Config(Server(t, dir)))
}

// OpenOn opens a store for the test's life.
func OpenOn(t testing.TB, c engine.Config) *engine.Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var store *engine.Store
	err := Again(ctx, func() (err error) { // a test may give its reads little time
		store, err = engine.Open(ctx, c)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// MasterKey is the key of Secrets.
var MasterKey = secrets.Key{1, 2, 3}

// Secrets opens the store's secrets under a fixed master key.
func Secrets(t testing.TB, store *engine.Store) *secrets.Store {
	t.Helper()
	ctx := context.Background()
	var vault *secrets.Store
	err := Again(ctx, func() (err error) {
		vault, err = secrets.Open(ctx, store, MasterKey, rand.Reader)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return vault
}

// CleanCards runs the cleaner at now, after a run that saw the same keys long enough before.
func CleanCards(ctx context.Context, v *secrets.Store, now time.Time, needed secrets.Needed) (int, error) {
	early, earlyErr := v.Clean(ctx, now, needed)
	v.Skip(3 * time.Minute)
	late, lateErr := v.Clean(ctx, now, needed)
	return early + late, errors.Join(earlyErr, lateErr)
}
