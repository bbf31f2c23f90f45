package engine_test

import (
	"errors"
	"path/filepath"
	"testing"

	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secretlog"
)

// TestSecretCheck checks that the oldest value is verified before a stopped folder, or a log
// elsewhere, is opened. A refusal is the start's error, and changes nothing.
func TestSecretCheck(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	dir, ctx := filepath.Join(t.TempDir(), "events"), testContext(t)
	refused := errors.New("refused")
	var seen []string
	check := func(verdict error) secretlog.Check {
		seen = nil
		return func(name string, value []byte) error {
			seen = append(seen, name+"="+string(value))
			return verdict
		}
	}
	stopped := embedded.Config{Dir: dir, Name: "test", Secret: check(refused)}
	server, err := embedded.Start(stopped)
	if err != nil || len(seen) > 0 {
		t.Fatalf("of an empty folder it saw %q: %v", seen, err)
	}
	store, err := engine.Open(ctx, eventstoretest.Config(server))
	if err != nil {
		t.Fatal(err)
	}
	config := eventstoretest.Cluster(t)
	elsewhere := eventstoretest.OpenOn(t, config)
	open := func(verdict error) error {
		config.Secret = check(verdict)
		other, err := engine.Open(ctx, config)
		if err == nil {
			err = other.Close()
		}
		return err
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	first := func(s *engine.Store) (values *secretlog.Stream) {
		values, err := s.OpenSecrets(ctx)
		must(err)
		must(values.CreateIn(ctx, "card.1", "card.1.a", []byte("of a group")))
		return values
	}
	others := func(values *secretlog.Stream) {
		for _, name := range []string{"a.first", "a.second", "a.third"} {
			must(values.Create(ctx, name, []byte("value of "+name)))
		}
		must(values.Destroy(ctx, "a.first"))
	}
	there := first(elsewhere)
	if err := open(refused); err != nil || len(seen) > 0 {
		t.Errorf("it saw %q of a log that has a group's value alone: %v", seen, err)
	}
	others(there)
	others(first(store))
	for _, verdict := range []error{refused, nil} {
		if err := open(verdict); !errors.Is(err, verdict) || len(seen) != 1 || seen[0] != "a.second=value of a.second" {
			t.Errorf("of a log elsewhere it saw %q: %v", seen, err)
		}
	}
	must(store.Close())
	must(server.Close())
	for _, verdict := range []error{refused, nil} {
		stopped.Secret = check(verdict)
		server, err := embedded.Start(stopped)
		if !errors.Is(err, verdict) || len(seen) != 1 || seen[0] != "a.second=value of a.second" {
			t.Errorf("of a folder it saw %q: %v", seen, err)
		}
		if server != nil {
			must(server.Close())
		}
	}
}
