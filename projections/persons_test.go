package projections

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
	"payledger/projections/listing"
)

// persons are the persons of a logbook: customers, and guests of sessions.
type persons map[domain.PersonID]person.State

// keyOf names the keys of a customer, or of the guest of a session.
func keyOf(customer string, session domain.SessionID) domain.SecretID {
	return secrets.PersonalKeyName(testAccount, customer, session)
}

// erase records the erasure of a person, and the destruction of the key of an erasure before.
func (l *logbook) erase(all persons, customer string, session domain.SessionID) {
	if customer != "" {
		session = ""
	}
	id := domain.PersonIDFor(keyOf(customer, session))
	s, key := all[id], eventstore.Persons.Key(testAccount, string(id))
	if s.Due() {
		e, err := person.DecideKeyDestroyed(s, l.tick(), s.Erased)
		s = record(l, eventstore.Persons, s, key, e, err)
	}
	e, err := person.DecideErase(s, person.Erase{At: l.tick(), ID: id, Account: testAccount, CustomerID: customer, Session: session})
	all[id] = record(l, eventstore.Persons, s, key, e, err)
}

// createSealed records a payment with an e-mail hash under a key of its person.
func (l *logbook) createSealed(n int, customer string, session domain.SessionID, number uint64) payment.State {
	return l.recordPayment(n, l.tick(), func(c *payment.Create) {
		c.CustomerID, c.Session = customer, session
		c.Personal = &domain.Sealed{Key: keyOf(customer, session), KeyNumber: number, Box: []byte{1}, EmailHash: fmt.Sprintf("hash-%d", n)}
	})
}

var erasable = []struct {
	customer string
	session  domain.SessionID
}{{"ada", ""}, {"ada", "session-1"}, {"bob", "session-1"}, {"", "session-1"}, {"", "session-2"}}

// drawPerson draws one of erasable.
func drawPerson(r *rapid.T) (customer string, session domain.SessionID) {
	one := rapid.SampledFrom(erasable).Draw(r, "person")
	return one.customer, one.session
}

// hashesOf returns the numbers of the payments whose rows have an e-mail hash.
func hashesOf(t *testing.T, m *model) (numbers []string) {
	t.Helper()
	rows, err := m.Readers().Query("SELECT email_hash FROM payments WHERE email_hash <> '' ORDER BY email_hash")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var hash string
		if err := rows.Scan(&hash); err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, strings.TrimPrefix(hash, "hash-"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return numbers
}

// TestErasedRows: the rows of a person's payments lose the e-mail hash with the person's key,
// whichever event is applied first, in blocks, too; those of other persons and of the person's
// later keys keep it.
func TestErasedRows(t *testing.T) {
	t.Parallel()
	l, all := newLogbook(3), persons{}
	l.createSealed(1, "ada", "session-1", 0)
	l.createSealed(2, "bob", "session-1", 0)
	l.createSealed(3, "", "session-1", 0)
	l.createSealed(4, "", "session-2", 0)
	l.erase(all, "ada", "")
	l.createSealed(5, "ada", "", 2)
	l.createSealed(6, "ada", "", 0) // it was sealed before the erasure
	l.createSealed(7, "ada", "", 3)
	l.erase(all, "ada", "")
	l.erase(all, "", "session-1")
	l.createSealed(8, "", "session-1", 2)
	want := []string{"2", "4", "7", "8"}
	for name, order := range map[string]func([]*eventstore.Recorded){
		"as recorded": func([]*eventstore.Recorded) {},
		"persons first": func(events []*eventstore.Recorded) {
			slices.SortStableFunc(events, func(a, b *eventstore.Recorded) int { return strings.Compare(b.Aggregate, a.Aggregate) })
		},
		"payments first": func(events []*eventstore.Recorded) {
			slices.SortStableFunc(events, func(a, b *eventstore.Recorded) int { return strings.Compare(a.Aggregate, b.Aggregate) })
		},
	} {
		for _, together := range []bool{false, true} {
			m := openTestModel(t, filepath.Join(t.TempDir(), fmt.Sprint("views-", together)), 3)
			m.sizes.block = 2
			events := slices.Clone(l.all)
			order(events)
			numbers := map[int]uint64{}
			for i, r := range events { // as a log in this order numbers them
				one := *r
				numbers[r.Shard]++
				one.Number, one.Seq = numbers[r.Shard], numbers[r.Shard]*addresses
				events[i] = &one
			}
			if together {
				mustApply(t, m, events)
			} else {
				for _, r := range events {
					mustApply(t, m, []*eventstore.Recorded{r})
				}
			}
			if got := hashesOf(t, m); !slices.Equal(got, want) {
				t.Errorf("%s, together %t: %v have the hash, want %v", name, together, got, want)
			}
			checkBlocks(t, m)
			mustClose(t, m)
		}
	}
}

// TestErasureOnAnotherNode checks that a node with the key in memory reads the data as erased once
// its views have the erasure, before the key is destroyed. The node's clock does not advance, so
// the key does not expire in its memory.
func TestErasureOnAnotherNode(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	config := eventstoretest.Cluster(t)
	config.Shards, config.Now = 3, func() time.Time { return start }
	here, there := startNode(t, eventstoretest.OpenOn(t, config), t.TempDir()), startNode(t, eventstoretest.OpenOn(t, config), t.TempDir())
	key := keyOf("ada", "")
	sealed, err := here.Secrets.Seal(ctx, key, customer)
	if err != nil {
		t.Fatal(err)
	}
	opens := func(n *node) bool {
		t.Helper()
		opened, err := n.Personal(ctx, sealed)
		if err != nil {
			t.Fatal(err)
		}
		return !opened.Empty()
	}
	if !opens(here) || !opens(there) {
		t.Fatal("the data does not open before the erasure")
	}
	id := domain.PersonIDFor(key)
	command(t, here.Store, eventstore.Persons, eventstore.Persons.Key(testAccount, string(id)), func(s person.State, m eventstore.Meta) (person.Event, error) {
		return person.DecideErase(s, person.Erase{At: m.At, ID: id, Account: testAccount, CustomerID: "ada"})
	})
	for _, n := range []*node{here, there} {
		if err := n.CaughtUp(ctx); err != nil {
			t.Fatal(err)
		}
		if opens(n) {
			t.Error("the data opens after the erasure")
		}
	}
	if has, err := there.Secrets.HasKey(ctx, key, 1); err != nil || !has {
		t.Errorf("the key is destroyed already, %v", err)
	}
	if next, err := there.Secrets.Seal(ctx, key, customer); err != nil || next.KeyNumber != 2 {
		t.Errorf("new data is sealed under key %+v, %v", next, err)
	}
}

// TestCustomers: every customer of an account is listed once, in the order of the ids and in pages,
// whether a client session, a payment or a saved card names it; with the newest erasure (D20).
func TestCustomers(t *testing.T) {
	store, dir := openStore(t), t.TempDir()
	n := startNode(t, store, dir)
	for i, id := range []string{"b", "b", "ä/ö", ""} {
		command(t, store, eventstore.Sessions, eventstore.Sessions.Key(testAccount, fmt.Sprint("session", i)), func(s session.State, m eventstore.Meta) (session.Event, error) {
			return session.DecideCreate(s, session.Create{
				At: m.At, ID: domain.SessionID(fmt.Sprint("session", i)), Account: testAccount, ExpiresAt: m.At.Add(time.Hour), Fields: session.Fields{CustomerID: id},
			})
		})
	}
	tool(t, store, testAccount, "01a", instrument.MultiUse, "a")
	tool(t, store, testAccount, "01b", instrument.MultiUse, "b")
	tool(t, store, "acct2", "01c", instrument.MultiUse, "other")
	for limit, want := range map[int]string{10: "a b ä/ö /", 2: "a b /ä/ö /", 1: "a /b /ä/ö /"} {
		got := ""
		for from := (*listing.Place)(nil); ; {
			page, err := n.Customers(testContext(t), testAccount, from, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range page.Data {
				got += c.ID + " "
			}
			got += "/"
			if from = page.Next; from == nil {
				break
			}
		}
		if got != want {
			t.Errorf("%d at a time: %q, not %q", limit, got, want)
		}
	}
	if c, known, err := n.Customer(testContext(t), testAccount, "b"); err != nil || !known || c.ErasedAt != nil {
		t.Errorf("%+v %t %v", c, known, err)
	}
	if _, known, err := n.Customer(testContext(t), testAccount, "other"); err != nil || known {
		t.Errorf("a customer of another account: %t %v", known, err)
	}
}
