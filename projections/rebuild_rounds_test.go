package projections

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/person"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

// idle is projections that apply events only in follow.
type idle struct{ *Projections }

func openIdle(t *testing.T, store *engine.Store) idle {
	t.Helper()
	fanout := eventstore.NewFanout(store)
	p, err := Open(context.Background(), Config{
		Dir: t.TempDir(), Store: store, Fanout: fanout, Secrets: eventstoretest.Secrets(t, store), Logger: zerolog.Nop(), Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var feeding sync.WaitGroup
	feeding.Go(func() {
		if err := fanout.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		feeding.Wait()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return idle{p}
}

// follow applies the log up to its end.
func (p idle) follow(t *testing.T) {
	t.Helper()
	for read := uint64(0); read < p.Store.Events(); read = p.applied.Load() {
		if _, err := p.step(testContext(t)); err != nil {
			t.Fatal(err)
		}
	}
}

func changeAccount(t *testing.T, store *engine.Store, id domain.AccountID, decide func(account.State, time.Time) (account.Event, error)) {
	t.Helper()
	command(t, store, eventstore.Accounts, eventstore.Accounts.Key(id, string(id)), func(s account.State, m eventstore.Meta) (account.Event, error) {
		return decide(s, m.At)
	})
}

func createAccount(t *testing.T, store *engine.Store, id domain.AccountID) {
	t.Helper()
	changeAccount(t, store, id, func(s account.State, at time.Time) (account.Event, error) {
		return account.DecideCreate(s, account.Create{Created: account.Created{At: at, ID: id, APIKey: account.APIKey{ID: domain.APIKeyID("first-" + id)}}})
	})
}

func addAPIKey(t *testing.T, store *engine.Store, id domain.AccountID, key domain.APIKeyID) {
	t.Helper()
	changeAccount(t, store, id, func(s account.State, at time.Time) (account.Event, error) {
		return account.DecideCreateAPIKey(s, account.CreateAPIKey{At: at, Key: account.APIKey{ID: key}})
	})
}

// TestRebuildAhead: the new model of a rebuild may apply events that the old one never gets. The
// accounts and their keys are then those of a node that was made at a start.
func TestRebuildAhead(t *testing.T) {
	t.Parallel()
	store, ctx := openStore(t), testContext(t)
	p := openIdle(t, store)
	createAccount(t, store, testAccount)
	p.follow(t)
	addAPIKey(t, store, testAccount, "before")
	createAccount(t, store, "before")
	rounds := 0
	err := p.Rebuild(ctx, func(uint64, uint64) {
		if rounds++; rounds > 5 {
			return
		}
		addAPIKey(t, store, testAccount, domain.APIKeyID(fmt.Sprint("key-", rounds)))
		createAccount(t, store, domain.AccountID(fmt.Sprint("made-", rounds)))
	})
	if err != nil || rounds < 2 {
		t.Fatalf("%d rounds, %v", rounds, err)
	}
	for p.model.places[0].number+p.model.places[1].number+p.model.places[2].number < store.Events() {
		if _, err := p.step(ctx); err != nil {
			t.Fatal(err)
		}
	}
	fresh := startNode(t, store, t.TempDir())
	if err := fresh.CaughtUp(ctx); err != nil {
		t.Fatal(err)
	}
	all := fresh.Accounts()
	if got := p.Accounts(); !reflect.DeepEqual(got, all) || len(all) < 4 {
		t.Errorf("accounts after the rebuild\n%+v\nmade at a start\n%+v", got, all)
	}
	for _, s := range all {
		for _, k := range s.APIKeys {
			if got, found, err := p.AccountByKey(ctx, k.ID); !found || got.ID != s.ID || err != nil {
				t.Errorf("the account of %s: %+v, %v, %v", k.ID, got.ID, found, err)
			}
		}
	}
}

// TestRebuildForgets: after the exchange no key of a person is in memory whose erasure only the new
// model has: the node counts as having applied it.
func TestRebuildForgets(t *testing.T) {
	t.Parallel()
	store, ctx := openStore(t), testContext(t)
	p := openIdle(t, store)
	createAccount(t, store, testAccount)
	p.follow(t)
	key := keyOf("ada", "")
	sealed, err := p.Secrets.Seal(ctx, key, customer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Secrets.Open(ctx, sealed); err != nil {
		t.Fatal(err)
	}
	moment, id, rounds := p.Secrets.Moment(), domain.PersonIDFor(key), 0
	err = p.Rebuild(ctx, func(uint64, uint64) {
		if rounds++; rounds > 1 {
			return
		}
		command(t, store, eventstore.Persons, eventstore.Persons.Key(testAccount, string(id)), func(s person.State, m eventstore.Meta) (person.Event, error) {
			return person.DecideErase(s, person.Erase{At: m.At, ID: id, Account: testAccount, CustomerID: "ada"})
		})
	})
	if err != nil || rounds < 2 {
		t.Fatalf("%d rounds, %v", rounds, err)
	}
	if !p.Secrets.ErasedSince(moment, sealed) {
		t.Error("the erased key is not forgotten")
	}
}

// TestRebuildRounds: events that are appended during a rebuild are applied while the old model goes
// on, except for the last few.
func TestRebuildRounds(t *testing.T) {
	t.Parallel()
	store, ctx := openStore(t), testContext(t)
	p := openIdle(t, store)
	createPayment(t, store, 0)
	var last, still uint64
	err := p.Rebuild(ctx, func(done, _ uint64) {
		first := last == 0
		if p.applying.TryLock() {
			p.applying.Unlock()
		} else {
			still += done - last
		}
		if last = done; first {
			for i := range 3 * shortRound {
				createPayment(t, store, i+1)
			}
			p.follow(t)
		}
	})
	if err != nil || still > shortRound || last != 3*shortRound+1 {
		t.Errorf("%d of %d events were applied while the old model stood still, %v", still, last, err)
	}
}

// TestRebuildAfterRun: without a reader of the log a rebuild is refused, and the reason is named.
func TestRebuildAfterRun(t *testing.T) {
	t.Parallel()
	p := openIdle(t, openStore(t))
	broken := errors.New("the disk is broken")
	err := p.Rebuild(testContext(t), func(uint64, uint64) {})
	if err != nil {
		t.Fatal(err)
	}
	p.progress.stop(broken)
	err = p.Rebuild(testContext(t), func(uint64, uint64) {})
	if !errors.Is(err, ErrStopped) || !errors.Is(err, broken) || p.Healthy() == nil {
		t.Errorf("a rebuild after the end of Run: %v", err)
	}
}
