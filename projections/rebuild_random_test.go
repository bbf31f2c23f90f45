package projections

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/projections/sqlitefile"
)

// town records random events of all kinds that views have rows of in a real log.
type town struct {
	*rand.Rand
	t        *testing.T
	store    *engine.Store
	n        int
	open     []domain.PaymentID // without an answer
	sessions []domain.SessionID
	tokens   []domain.Token // vaulted
}

// person draws a customer, or a guest of a session.
func (w *town) person() (customer string, guest domain.SessionID) {
	one := erasable[w.IntN(len(erasable))]
	return one.customer, one.session
}

func (w *town) act() {
	w.t.Helper()
	w.n++
	customer, guest := w.person()
	switch kind := w.IntN(10); {
	case kind < 3:
		command(w.t, w.store, eventstore.Payments, paymentKey(paymentID(w.n)), func(s payment.State, m eventstore.Meta) (payment.Event, error) {
			c := createCommand(m.At, w.n)
			c.CustomerID, c.Session = customer, guest
			c.Personal = &domain.Sealed{Key: keyOf(customer, guest), KeyNumber: uint64(w.n % 3), Box: []byte{1}, EmailHash: fmt.Sprint("hash-", w.n)}
			return payment.DecideCreate(s, c)
		})
		w.open = append(w.open, paymentID(w.n))
	case kind < 5 && len(w.open) > 0:
		i := w.IntN(len(w.open))
		answerPayment(w.t, w.store, w.open[i], []processor.Answer{approved(), {State: processor.Declined, Code: "05"}}[w.IntN(2)])
		w.open = slices.Delete(w.open, i, i+1)
	case kind < 7:
		w.session(customer)
	case kind == 7:
		w.erase(customer, guest)
	case kind == 8 && len(w.tokens) > 2:
		changeTool(w.t, w.store, w.tokens[0], instrument.DecideDelete)
		w.tokens = w.tokens[1:]
	case kind == 8:
		token := domain.Token(fmt.Sprintf("01tool%06d", w.n))
		tool(w.t, w.store, testAccount, token, instrument.MultiUse, "customer")
		w.tokens = append(w.tokens, token)
	default:
		tellDispute(w.t, w.store, testAccount, dispute.Subject{Payment: "01a", Processor: "ADYEN", ProcessorDisputeID: fmt.Sprint("dp_", w.n%5)},
			dispute.Fact{EventID: fmt.Sprint(w.n), At: start.Add(time.Duration(w.n) * time.Second), Type: "DISPUTE", Status: "OPEN"})
	}
}

// session opens a session of a customer, or lets one name the customer.
func (w *town) session(customer string) {
	w.t.Helper()
	i, fields := w.IntN(len(w.sessions)+1), session.Fields{OrderID: "o", CustomerID: customer, ApprovalMode: session.ApprovalAuto}
	if i == len(w.sessions) {
		w.sessions = append(w.sessions, domain.SessionID(fmt.Sprintf("44444444-0000-4000-8000-%012d", w.n)))
	}
	id := w.sessions[i]
	command(w.t, w.store, eventstore.Sessions, eventstore.Sessions.Key(testAccount, string(id)), func(s session.State, m eventstore.Meta) (session.Event, error) {
		if s.Exists() {
			return session.DecideChange(s, session.Change{At: m.At, Fields: fields})
		}
		return session.DecideCreate(s, session.Create{At: m.At, ID: id, Account: testAccount, ExpiresAt: m.At.Add(24 * time.Hour), Fields: fields})
	})
}

// erase erases a person, or destroys the key of the erasure before.
func (w *town) erase(customer string, guest domain.SessionID) {
	w.t.Helper()
	if customer != "" {
		guest = ""
	}
	id := domain.PersonIDFor(keyOf(customer, guest))
	command(w.t, w.store, eventstore.Persons, eventstore.Persons.Key(testAccount, string(id)), func(s person.State, m eventstore.Meta) (person.Event, error) {
		if s.Due() {
			return person.DecideKeyDestroyed(s, m.At, s.Erased)
		}
		return person.DecideErase(s, person.Erase{At: m.At, ID: id, Account: testAccount, CustomerID: customer, Session: guest})
	})
}

// rows opens the read model of a folder as a start does, applies the rest of the log event by
// event, and returns the rows.
func (w *town) rows(ctx context.Context, dir string) []string {
	w.t.Helper()
	path, err := sqlitefile.Settle(ctx, filepath.Join(dir, FileName), Identity(w.store.Shards()))
	if err != nil {
		w.t.Fatal(err)
	}
	m, err := openModel(ctx, path, w.store, w.store.Shards(), zerolog.Nop())
	if err != nil {
		w.t.Fatal(err)
	}
	defer mustClose(w.t, m)
	m.sizes = smallSizes
	errEnd := errors.New("the end of the shard")
	for shard := range w.store.Shards() {
		last, err := w.store.LastSeq(ctx, shard)
		if err != nil {
			w.t.Fatal(err)
		}
		if m.places[shard].seq >= last {
			continue
		}
		err = w.store.Subscribe(ctx, shard, m.places[shard].seq, func(r *eventstore.Recorded) error {
			mustApply(w.t, m, []*eventstore.Recorded{r})
			if r.Seq >= last {
				return errEnd
			}
			return nil
		})
		if !errors.Is(err, errEnd) {
			w.t.Fatal(err)
		}
	}
	checkBlocks(w.t, m)
	return dump(w.t, m)
}

// smallSizes give blocks to a few payments.
var smallSizes = sizes{block: 3, walk: 4, chunk: 2}

// TestRebuildAmongRandomEvents: the rows of a read model that is rebuilt while events are recorded,
// between any two of its batches, are those of the log applied event by event. So are those of a
// start after a crash between two batches.
func TestRebuildAmongRandomEvents(t *testing.T) {
	t.Parallel()
	store, dir, ctx := openStore(t), t.TempDir(), testContext(t)
	n := startNode(t, store, dir)
	n.applying.Lock()
	n.model.sizes = smallSizes
	n.applying.Unlock()
	w := &town{Rand: rand.New(rand.NewPCG(5, 8)), t: t, store: store}
	for range 60 {
		w.act()
	}
	crashes := 0
	for round := range 6 {
		crashed, steps, due := filepath.Join(t.TempDir(), "views"), 0, true
		err := n.Rebuild(ctx, func(uint64, uint64) {
			steps++
			first := steps == 1 && round%2 == 0
			if first {
				n.applying.Lock()
			}
			if first || due && steps > round/2 && n.applying.TryLock() { // at its end the rebuild itself has the lock
				crashes, due = crashes+1, false
				if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
					t.Error(err)
				}
				n.applying.Unlock()
			}
			if steps < 20 {
				for range w.IntN(6) {
					w.act()
				}
			}
		})
		if err == nil {
			err = n.CaughtUp(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		want := w.rows(ctx, t.TempDir())
		same := func(what string, got []string) {
			if !slices.Equal(got, want) {
				t.Fatalf("round %d, %s:\n%s\nthe log gives\n%s", round, what, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		same("rebuilt", dump(t, n.model))
		checkBlocks(t, n.model)
		if _, err := os.Stat(crashed); err == nil {
			same("after a crash", w.rows(ctx, crashed))
		}
	}
	if crashes < 3 {
		t.Errorf("%d crashes", crashes)
	}
}
