//go:build system

package kills

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/person"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
)

// TestErasureAfterCrash crashes an erasure after each of its steps. The next start reads the data
// as erased at once, and then finishes the erasure: the saved card, the guest's key and the
// customer's key are destroyed.
func TestErasureAfterCrash(t *testing.T) {
	t.Parallel()
	for _, last := range []string{"the event", "the saved card", "the key"} {
		t.Run(last, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			p := apptest.ServeProcess(t, "--data", data)
			account, apiKey := p.Credentials.AccountID, p.Credentials.APIKey
			m := apptest.NewMerchant(p.Ready.API, apiKey)
			id, token := m.PayAs(t, apptest.HerCustomer), m.VaultAs(t, apptest.HerCustomer)
			p.Stop()
			key := secrets.PersonalKeyName(account, apptest.HerCustomer, "")
			if len(keysOf(t, data, key)) != 2 {
				t.Fatal("she has no key")
			}
			cutShort(t, data, account, key, domain.Token(token), last)
			if status, out, stderr := apptest.Invoke(t, "history", id, "--data", data, "--json"); status != 0 || len(apptest.Shown(out)) > 0 || !strings.Contains(out, id) {
				t.Errorf("the stopped folder's history: exits %d and shows %v: %s", status, apptest.Shown(out), stderr)
			}

			p = apptest.ServeProcess(t, "--data", data)
			m = apptest.NewMerchant(p.Ready.API, apiKey)
			if _, body := m.Read(t, id); len(apptest.Shown(string(body))) > 0 {
				t.Errorf("after the start the payment shows %v", apptest.Shown(string(body)))
			}
			m.KeyDestroyed(t, 2) // the customer's key, and the key of the session in which the card was entered
			if body := m.Must(t, "GET", "/payment-instruments?customer_id="+apptest.HerCustomer, m.Headers(), nil).Body; !strings.Contains(string(body), `"data":[]`) {
				t.Errorf("her saved cards: %s", body)
			}
			p.Stop()
			kept := domain.SecretID("kept-card." + string(account) + "." + token)
			if left := keysOf(t, data, key, kept); len(left) > 0 {
				t.Errorf("%d of her secrets are left", len(left))
			}
			if status, out, stderr := apptest.Invoke(t, "verify", "--data", data); status != 0 {
				t.Errorf("verify exits %d: %s%s", status, out, stderr)
			}
		})
	}
}

// cutShort does the steps of an erasure in a stopped folder, up to one.
func cutShort(t *testing.T, data string, account domain.AccountID, key domain.SecretID, token domain.Token, last string) {
	t.Helper()
	ctx := context.Background()
	l, err := ledger.Open(ctx, options.Options{Data: data}, ledger.Existing, engine.Config{Logger: zerolog.Nop()})
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
		return person.DecideErase(s, person.Erase{At: meta.At, ID: id, Account: account, CustomerID: apptest.HerCustomer})
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

// TestKillDuringErasure kills the service while customers are erased: who was answered is erased
// after the next start, everybody else is erased or as before, a repeat erases the rest, and the
// log is whole.
func TestKillDuringErasure(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	const customers = 8
	rounds, share := seedtest.Share(10, 3)
	random := rand.New(rand.NewPCG(seedtest.Seed(t), share))
	data := t.TempDir()
	p := apptest.ServeProcess(t, "--data", data)
	account, apiKey := p.Credentials.AccountID, p.Credentials.APIKey
	var names []domain.SecretID
	totals := map[string]int{}
	for round := range rounds {
		m := apptest.NewMerchant(p.Ready.API, apiKey)
		name := func(i int) string { return fmt.Sprintf("%s-%d-%d", apptest.HerCustomer, round, i) }
		var ids [customers]string
		for i := range customers {
			ids[i] = m.PayAs(t, name(i))
			m.VaultAs(t, name(i))
			names = append(names, secrets.PersonalKeyName(account, name(i), ""))
		}
		var answered [customers]bool
		var count atomic.Int64
		var running sync.WaitGroup
		var kill sync.Once
		wait := int64(random.IntN(customers+2)) - 2 // below zero: for no answer
		for i := range customers {
			running.Go(func() {
				a, err := m.Call("POST", "/management/customers/"+name(i)+"/erase", m.Headers(), nil)
				if answered[i] = err == nil && a.Status == 200; err == nil && a.Status != 200 {
					t.Errorf("the erasure answers %d %s", a.Status, a.Body)
				}
				if count.Add(1) > wait {
					kill.Do(p.Kill)
				}
			})
		}
		if wait < 0 {
			kill.Do(p.Kill)
		}
		running.Wait()
		m.Client.CloseIdleConnections()
		p = apptest.ServeProcess(t, "--data", data)
		m = apptest.NewMerchant(p.Ready.API, apiKey)
		for i := range customers {
			_, body := m.Read(t, ids[i])
			found := apptest.Shown(string(body))
			switch {
			case len(found) == 0 && answered[i]:
				totals["answered"]++
			case len(found) == 0:
				totals["not answered, erased"]++
			case len(found) == len(apptest.HerValues) && !answered[i]:
				totals["not answered, not erased"]++
			default:
				t.Errorf("round %d, customer %d, answered %t: the payment shows %v", round, i, answered[i], found)
			}
			m.Must(t, "POST", "/management/customers/"+name(i)+"/erase", m.Headers(), nil)
			if _, body := m.Read(t, ids[i]); len(apptest.Shown(string(body))) > 0 {
				t.Errorf("round %d, customer %d: after the repeat the payment shows %v", round, i, apptest.Shown(string(body)))
			}
		}
	}
	p.Stop()
	t.Logf("%d rounds: %v", rounds, totals)
	if left := keysOf(t, data, names...); len(left) > 0 {
		t.Errorf("%d keys are left", len(left)/2)
	}
	if status, out, stderr := apptest.Invoke(t, "verify", "--data", data); status != 0 {
		t.Errorf("verify exits %d: %s%s", status, out, stderr)
	}
}
