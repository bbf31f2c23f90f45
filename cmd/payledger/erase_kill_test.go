package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/person"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
)

// vaultAs saves a card of hers for a customer, and returns its token.
func (m *merchant) vaultAs(t *testing.T, customer string) string {
	t.Helper()
	token := m.token(t, "order-2", 500, "4111111111111111")
	m.must(t, "POST", "/payment-instruments/"+token+"/vault", m.headers(), map[string]any{"customerId": customer})
	return token
}

// keyDestroyed waits until the log has so many person.key_destroyed.
func (m *merchant) keyDestroyed(t *testing.T, n int) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(settleDeadline); ; <-tick.C {
		body := m.must(t, "GET", "/events?types=person.key_destroyed&limit=1000", m.headers(), nil).body
		if strings.Count(string(body), `"type":"person.key_destroyed"`) >= n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the key is not destroyed: %s", body)
		}
	}
}

// TestErasureAfterCrash crashes an erasure after each of its steps. The next start reads the data as erased at once, and then finishes the
// erasure: the saved card, the guest's key and the customer's key are destroyed.
func TestErasureAfterCrash(t *testing.T) {
	t.Parallel()
	for _, last := range []string{"the event", "the saved card", "the key"} {
		t.Run(last, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			p := serveProcess(t, "--data", data)
			account, apiKey := p.credentials.AccountID, p.credentials.APIKey
			m := newMerchant(p.ready.API, apiKey)
			id, token := m.payAs(t, herCustomer), m.vaultAs(t, herCustomer)
			p.stop()
			key := secrets.PersonalKeyName(account, herCustomer, "")
			if len(keysOf(t, data, key)) != 2 {
				t.Fatal("she has no key")
			}
			cutShort(t, data, account, key, domain.Token(token), last)
			if status, out, stderr := invoke(t, "history", id, "--data", data, "--json"); status != 0 || len(shown(out)) > 0 || !strings.Contains(out, id) {
				t.Errorf("the stopped folder's history: exits %d and shows %v: %s", status, shown(out), stderr)
			}

			p = serveProcess(t, "--data", data)
			m = newMerchant(p.ready.API, apiKey)
			if _, body := m.read(t, id); len(shown(string(body))) > 0 {
				t.Errorf("after the start the payment shows %v", shown(string(body)))
			}
			m.keyDestroyed(t, 2) // the customer's key, and the key of the session in which the card was entered
			if body := m.must(t, "GET", "/payment-instruments?customer_id="+herCustomer, m.headers(), nil).body; !strings.Contains(string(body), `"data":[]`) {
				t.Errorf("her saved cards: %s", body)
			}
			p.stop()
			kept := domain.SecretID("kept-card." + string(account) + "." + token)
			if left := keysOf(t, data, key, kept); len(left) > 0 {
				t.Errorf("%d of her secrets are left", len(left))
			}
			if status, out, stderr := invoke(t, "verify", "--data", data); status != 0 {
				t.Errorf("verify exits %d: %s%s", status, out, stderr)
			}
		})
	}
}

// cutShort does the steps of an erasure in a stopped folder, up to one.
func cutShort(t *testing.T, data string, account domain.AccountID, key domain.SecretID, token domain.Token, last string) {
	t.Helper()
	ctx := context.Background()
	l, err := ledger.Open(ctx, options.Options{Data: data}, ledger.Existing, eventstore.Config{Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	meta, err := l.Store.NewMeta("test", "request")
	if err != nil {
		t.Fatal(err)
	}
	id := domain.PersonIDFor(key)
	if _, err := eventstore.NewRepositories(l.Store).Persons.Execute(ctx, account, id, meta, func(s person.State) (person.Event, error) {
		return person.DecideErase(s, person.Erase{At: meta.At, ID: id, Account: account, CustomerID: herCustomer})
	}); err != nil {
		t.Fatal(err)
	}
	if last == "the event" {
		return
	}
	if meta, err = l.Store.NewMeta("test", "request"); err != nil {
		t.Fatal(err)
	}
	if _, err := eventstore.NewRepositories(l.Store).Instruments.Execute(ctx, account, token, meta, func(s instrument.State) (instrument.Event, error) {
		return instrument.DecideDelete(s, meta.At)
	}); err != nil {
		t.Fatal(err)
	}
	if last == "the saved card" {
		return
	}
	if err := l.Secrets.DestroyPersons(ctx, []secrets.PersonKeys{{Name: key, Through: 1}}); err != nil {
		t.Fatal(err)
	}
}

// TestKillDuringErasure kills the service while customers are erased: who was answered is erased after the next start, everybody
// else is erased or as before, a repeat erases the rest, and the log is whole.
func TestKillDuringErasure(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	const customers = 8
	const rounds = 10
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	data := t.TempDir()
	p := serveProcess(t, "--data", data)
	account, apiKey := p.credentials.AccountID, p.credentials.APIKey
	var names []domain.SecretID
	totals := map[string]int{}
	for round := range rounds {
		m := newMerchant(p.ready.API, apiKey)
		name := func(i int) string { return fmt.Sprintf("%s-%d-%d", herCustomer, round, i) }
		var ids [customers]string
		for i := range customers {
			ids[i] = m.payAs(t, name(i))
			m.vaultAs(t, name(i))
			names = append(names, secrets.PersonalKeyName(account, name(i), ""))
		}
		var answered [customers]bool
		var count atomic.Int64
		var running sync.WaitGroup
		var kill sync.Once
		wait := int64(random.IntN(customers+2)) - 2 // below zero: for no answer
		for i := range customers {
			running.Go(func() {
				a, err := m.call("POST", "/management/customers/"+name(i)+"/erase", m.headers(), nil)
				if answered[i] = err == nil && a.status == 200; err == nil && a.status != 200 {
					t.Errorf("the erasure answers %d %s", a.status, a.body)
				}
				if count.Add(1) > wait {
					kill.Do(p.kill)
				}
			})
		}
		if wait < 0 {
			kill.Do(p.kill)
		}
		running.Wait()
		m.client.CloseIdleConnections()
		p = serveProcess(t, "--data", data)
		m = newMerchant(p.ready.API, apiKey)
		for i := range customers {
			_, body := m.read(t, ids[i])
			found := shown(string(body))
			switch {
			case len(found) == 0 && answered[i]:
				totals["answered"]++
			case len(found) == 0:
				totals["not answered, erased"]++
			case len(found) == len(herValues) && !answered[i]:
				totals["not answered, not erased"]++
			default:
				t.Errorf("round %d, customer %d, answered %t: the payment shows %v", round, i, answered[i], found)
			}
			m.must(t, "POST", "/management/customers/"+name(i)+"/erase", m.headers(), nil)
			if _, body := m.read(t, ids[i]); len(shown(string(body))) > 0 {
				t.Errorf("round %d, customer %d: after the repeat the payment shows %v", round, i, shown(string(body)))
			}
		}
	}
	p.stop()
	t.Logf("%d rounds: %v", rounds, totals)
	if left := keysOf(t, data, names...); len(left) > 0 {
		t.Errorf("%d keys are left", len(left)/2)
	}
	if status, out, stderr := invoke(t, "verify", "--data", data); status != 0 {
		t.Errorf("verify exits %d: %s%s", status, out, stderr)
	}
}
