package engine_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"payledger/domain"
	"payledger/domain/person"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
)

// recordErasure appends the erasure of a person's newest key, and returns its number.
func recordErasure(t testing.TB, s *engine.Store, key domain.SecretID) uint64 {
	t.Helper()
	return changePerson(t, s, key, func(p person.State, m eventstore.Meta) (person.Event, error) {
		return person.DecideErase(p, person.Erase{At: m.At, ID: domain.PersonIDFor(key), Account: "acct", CustomerID: "customer"})
	}).Erased
}

func recordDestruction(t testing.TB, s *engine.Store, key domain.SecretID, number uint64) {
	t.Helper()
	changePerson(t, s, key, func(p person.State, m eventstore.Meta) (person.Event, error) {
		return person.DecideKeyDestroyed(p, m.At, number)
	})
}

func changePerson(t testing.TB, s *engine.Store, key domain.SecretID, decide func(person.State, eventstore.Meta) (person.Event, error)) person.State {
	t.Helper()
	meta, err := s.NewMeta("test", "request")
	if err != nil {
		t.Fatal(err)
	}
	tip, err := eventstore.NewRepositories(s).Persons.Execute(testContext(t), "acct", domain.PersonIDFor(key), meta, func(p person.State) (person.Event, error) { return decide(p, meta) })
	if err != nil {
		t.Fatal(err)
	}
	return tip.State
}

// hasKeys checks which numbers of a person's keys are in SECRETS.
func hasKeys(t testing.TB, v *secrets.Store, key domain.SecretID, through uint64, want ...uint64) {
	t.Helper()
	var have []uint64
	for number := uint64(1); number <= through; number++ {
		there, err := v.HasKey(testContext(t), key, number)
		if err != nil {
			t.Fatal(err)
		}
		if there {
			have = append(have, number)
		}
	}
	same(t, "keys", have, want)
}

// testErasedKeys: data of an erased key opens nowhere once the node has the event, before the key
// is destroyed too, and new data is sealed under the next key.
func testErasedKeys(t testing.TB, r *rig) {
	here, there := eventstoretest.Secrets(t, r.store()), eventstoretest.Secrets(t, r.other())
	key := secrets.PersonalKeyName("acct", "customer "+newKey().ID, "")
	first := sealFor(t, here, key)
	opens(t, there, first, true)
	if first.KeyNumber != 0 {
		t.Errorf("the first key has the number %d", first.KeyNumber)
	}
	for number := uint64(1); number <= 2; number++ {
		if erased := recordErasure(t, r.store(), key); erased != number {
			t.Fatalf("erasure %d has the number %d", number, erased)
		}
		if _, err := eventstore.NewRepositories(r.other()).Persons.Load(testContext(t), "acct", domain.PersonIDFor(key), eventstore.Latest); err != nil {
			t.Fatal(err) // the other node has the event now
		}
		here.Forget(key, number)
		there.Forget(key, number)
		hasKeys(t, here, key, number, number)
		opens(t, here, first, false)
		opens(t, there, first, false)
		next := sealFor(t, there, key)
		if next.KeyNumber != number+1 {
			t.Errorf("after erasure %d: the key has the number %d", number, next.KeyNumber)
		}
		hasKeys(t, there, key, number+1, number, number+1)
		if err := here.DestroyPersons(testContext(t), []secrets.PersonKeys{{Name: key, Through: number}}); err != nil {
			t.Fatal(err)
		}
		recordDestruction(t, r.store(), key, number)
		hasKeys(t, here, key, number+1, number+1)
		opens(t, here, first, false)
		opens(t, here, next, true)
		opens(t, there, next, true)
		text, err := here.SealText(testContext(t), key, next.KeyNumber, "a text")
		if err != nil || text.KeyNumber != next.KeyNumber {
			t.Fatalf("%+v, %v", text, err)
		}
		if gone, err := here.SealText(testContext(t), key, number, "a text"); err != nil || gone != nil {
			t.Errorf("a text under an erased key: %+v, %v", gone, err)
		}
		if plain, err := there.OpenText(testContext(t), text); err != nil || plain != "a text" {
			t.Errorf("%q, %v", plain, err)
		}
		first = next
	}
}

// TestSealDuringErasure seals for a person again and again while the person is erased. Data that
// was sealed after an erasure ended opens; no erased key exists at the end, and nothing opens that
// an erased key sealed.
func TestSealDuringErasure(t *testing.T) {
	t.Parallel()
	const erasures, sealers = 12, 4
	config := eventstoretest.Config(eventstoretest.Server(t, t.TempDir()))
	config.Shards = 2
	store := eventstoretest.OpenOn(t, config)
	v := eventstoretest.Secrets(t, store)
	key := secrets.PersonalKeyName("acct", "customer", "")
	type made struct {
		sealed *domain.Sealed
		after  uint64 // erasures that had ended before
	}
	var ended atomic.Uint64
	var all [sealers][]made
	var running sync.WaitGroup
	stop := make(chan struct{})
	sealed := make(chan struct{}, sealers)
	for i := range sealers {
		running.Go(func() {
			for {
				after := ended.Load()
				one, err := v.Seal(t.Context(), key, domain.Personal{CardholderName: "A. Person"})
				if err != nil {
					t.Error(err)
					return
				}
				all[i] = append(all[i], made{one, after})
				select {
				case <-stop:
					return
				case sealed <- struct{}{}:
				}
			}
		})
	}
	for range erasures {
		for range 8 * sealers {
			<-sealed
		}
		number := recordErasure(t, store, key)
		v.Forget(key, number)
		if err := v.DestroyPersons(testContext(t), []secrets.PersonKeys{{Name: key, Through: number}}); err != nil {
			t.Fatal(err)
		}
		recordDestruction(t, store, key, number)
		ended.Store(number)
	}
	for range 8 * sealers {
		<-sealed
	}
	close(stop)
	running.Wait()
	numbers := map[uint64]int{}
	for _, one := range all {
		for _, m := range one {
			number := max(m.sealed.KeyNumber, 1)
			numbers[number]++
			if number <= m.after {
				t.Errorf("data was sealed under key %d after erasure %d", number, m.after)
			}
			opens(t, v, m.sealed, number > erasures)
		}
	}
	if len(numbers) < erasures/2 || numbers[erasures+1] == 0 {
		t.Errorf("data was sealed under the keys %v", numbers)
	}
	hasKeys(t, v, key, erasures+1, erasures+1)
	t.Logf("seals by number of the key: %v", numbers)
}
