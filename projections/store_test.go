package projections

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/dispute"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands/pending"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
)

// node is projections on a real store, with the loops that feed them.
type node struct {
	*Projections
	stop   func()
	result chan error // the error that Run returned
}

// openStore opens a store of few shards on a separate server.
func openStore(t testing.TB) *engine.Store {
	t.Helper()
	c := eventstoretest.Config(eventstoretest.Server(t, t.TempDir()))
	c.Shards = 3
	return eventstoretest.OpenOn(t, c)
}

// startNode opens projections in dir and runs them until the test ends, or stop is called.
func startNode(t testing.TB, store *engine.Store, dir string) *node {
	t.Helper()
	return startNodeOf(t, store, dir, false)
}

func startNodeOf(t testing.TB, store *engine.Store, dir string, noRows bool) *node {
	t.Helper()
	fanout := eventstore.NewFanout(store)
	p, err := Open(context.Background(), Config{
		Dir: dir, Store: store, Fanout: fanout, Secrets: eventstoretest.Secrets(t, store), Logger: zerolog.Nop(), Now: time.Now, NoRows: noRows,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	n := &node{Projections: p, result: make(chan error, 1)}
	loops.Go(func() { n.result <- p.Run(ctx) })
	loops.Go(func() {
		if err := fanout.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	n.stop = sync.OnceFunc(func() {
		cancel()
		loops.Wait()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(n.stop)
	return n
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func paymentKey(id domain.PaymentID) eventstore.Key {
	return eventstore.Payments.Key(testAccount, string(id))
}

// command runs a command at the store; its event is acknowledged when it returns.
func command[S any, E domain.Event](t testing.TB, store eventstore.Store, a *eventstore.Aggregate[S, E], key eventstore.Key, decide func(S, eventstore.Meta) (E, error)) S {
	t.Helper()
	meta, err := store.NewMeta("test", "correlation-1")
	if err != nil {
		t.Fatal(err)
	}
	tip, err := eventstore.Execute(context.Background(), store, a, key, meta, func(s S) (E, error) { return decide(s, meta) })
	if err != nil {
		t.Fatal(err)
	}
	return tip.State
}

func createPayment(t testing.TB, store *engine.Store, n int) payment.State {
	t.Helper()
	return command(t, store, eventstore.Payments, paymentKey(paymentID(n)), func(s payment.State, m eventstore.Meta) (payment.Event, error) {
		return payment.DecideCreate(s, createCommand(m.At, n))
	})
}

func answerPayment(t testing.TB, store *engine.Store, id domain.PaymentID, a processor.Answer) payment.State {
	t.Helper()
	return command(t, store, eventstore.Payments, paymentKey(id), func(s payment.State, m eventstore.Meta) (payment.Event, error) {
		return payment.DecideAnswer(s, payment.RecordAnswer{At: m.At, EventID: m.EventID, Request: 1, Answer: a})
	})
}

// TestReadsWithoutViews checks that one payment, one dispute and an account's settings are read at
// once as they were acknowledged, while no projector runs and the views contain none of them.
func TestReadsWithoutViews(t *testing.T) {
	store := openStore(t)
	n := startNode(t, store, t.TempDir())
	n.stop()
	ctx := testContext(t)
	s := createPayment(t, store, 1)
	if now, err := n.Payment(ctx, testAccount, s.ID); err != nil || now.Revision != 1 || now.Status() != payment.StatusPending {
		t.Errorf("after its creation %+v, %v", now, err)
	}
	answerPayment(t, store, s.ID, approved())
	if now, err := n.Payment(ctx, testAccount, s.ID); err != nil || now.Revision != 2 || now.Status() != payment.StatusAuthorized {
		t.Errorf("after its authorization %+v, %v", now, err)
	}
	opened := tellDispute(t, store, testAccount, dispute.Subject{Payment: s.ID, Processor: "ADYEN", ProcessorDisputeID: "dp_1"},
		dispute.Fact{EventID: "1", At: start, Type: "DISPUTE", Status: "OPEN"})
	if d, err := n.Dispute(ctx, testAccount, opened); err != nil || d.Current.Status != "OPEN" {
		t.Errorf("after its opening %+v, %v", d, err)
	}
	if now, err := n.Settings(ctx, testAccount); err != nil || now.First6Digits {
		t.Errorf("an unknown account has the settings %+v, %v", now, err)
	}
	key := eventstore.Accounts.Key(testAccount, string(testAccount))
	command(t, store, eventstore.Accounts, key, func(s account.State, m eventstore.Meta) (account.Event, error) {
		return account.DecideCreate(s, account.Create{Created: account.Created{At: m.At, ID: testAccount}})
	})
	command(t, store, eventstore.Accounts, key, func(s account.State, m eventstore.Meta) (account.Event, error) {
		return account.DecideChangeSettings(s, account.ChangeSettings{At: m.At, First6Digits: new(true)})
	})
	if now, err := n.Settings(ctx, testAccount); err != nil || !now.First6Digits {
		t.Errorf("after their change %+v, %v", now, err)
	}
}

// TestPaymentIsLinearizable: 64 goroutines append and read at once; each read shows every event
// that was acknowledged before it began, its own and those of others (see the package comment).
func TestPaymentIsLinearizable(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	n := startNode(t, store, t.TempDir())
	const writers, rounds = 64, 6
	var mu sync.Mutex
	acknowledged := map[domain.PaymentID]uint64{} // revision
	some := func() (domain.PaymentID, uint64) {
		mu.Lock()
		defer mu.Unlock()
		for id, revision := range acknowledged { // any
			return id, revision
		}
		return "", 0
	}
	saw := func(id domain.PaymentID, at uint64) {
		s, err := n.Payment(testContext(t), testAccount, id) // a minute for each, not for all
		if err != nil || s.Revision < at {
			t.Errorf("%s: read revision %d (%v), acknowledged was %d", id, s.Revision, err, at)
		}
	}
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for round := range rounds {
				s := createPayment(t, store, w*rounds+round)
				for _, a := range []processor.Answer{{}, {State: processor.Pending}, approved()} {
					if a.State != "" {
						s = answerPayment(t, store, s.ID, a)
					}
					mu.Lock()
					acknowledged[s.ID] = s.Revision
					mu.Unlock()
					saw(s.ID, s.Revision)
					id, revision := some()
					saw(id, revision)
				}
			}
		})
	}
	running.Wait()
}

// TestPaymentRefusals checks that a payment that does not exist, belongs to another account, or has
// an impossible id is not found. A cancelled context returns ServiceUnavailable.
func TestPaymentRefusals(t *testing.T) {
	t.Parallel()
	config := eventstoretest.Cluster(t)
	config.MajorityReads = true // else a read may be from memory, and not need the context
	store := eventstoretest.OpenOn(t, config)
	n := startNode(t, store, t.TempDir())
	ctx := testContext(t)
	s := createPayment(t, store, 1)
	for name, ask := range map[string]struct {
		account domain.AccountID
		id      domain.PaymentID
	}{
		"unknown": {testAccount, paymentID(99)}, "another account's": {"acct2", s.ID}, "no id": {testAccount, "a.b>*"}, "empty": {testAccount, ""},
	} {
		if _, err := n.Payment(ctx, ask.account, ask.id); domain.ReasonOf(err) != domain.ReasonPayment {
			t.Errorf("%s: %v", name, err)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := n.Payment(gone, testAccount, s.ID); domain.ReasonOf(err) != domain.ReasonServiceUnavailable {
		t.Errorf("given up: %v", err)
	}
	n.stop()
	if n.Healthy() != nil || <-n.result != nil {
		t.Errorf("an orderly stop is unhealthy: %v", n.Healthy())
	}
}

// TestReopenAndRebuild: projections that were stopped go on where they were, and end with the rows
// of ones made from zero by the same log.
func TestReopenAndRebuild(t *testing.T) {
	store := openStore(t)
	dir := t.TempDir()
	ctx := testContext(t)
	for round := range 3 {
		n := startNode(t, store, dir)
		for i := range 10 {
			s := createPayment(t, store, round*10+i)
			if i%2 == 0 {
				answerPayment(t, store, s.ID, approved())
			}
		}
		if err := n.CaughtUp(ctx); err != nil {
			t.Fatal(err)
		}
		n.stop()
	}
	live := startNode(t, store, dir)
	rebuilt := startNode(t, store, t.TempDir())
	for _, n := range []*node{live, rebuilt} {
		if err := n.CaughtUp(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := dump(t, live.model), dump(t, rebuilt.model); !slices.Equal(got, want) {
		t.Errorf("live\n%s\nrebuilt\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	waiting := openOperations(t, live, time.Now())
	if len(waiting) != 15 {
		t.Fatalf("%d pending", len(waiting))
	}
	for _, op := range waiting {
		if op.Account != testAccount || op.At != pending.Slot(live.payment(t, op.ID).Operations[0].RequestedAt) {
			t.Errorf("pending %+v", op)
		}
	}
}

// TestPoisonInTheLog: Run ends with an error that names the event, Healthy returns the same error,
// earlier events are shown, and waiters for later events get an error.
func TestPoisonInTheLog(t *testing.T) {
	store := openStore(t)
	ctx := testContext(t)
	s := createPayment(t, store, 1)
	newer := format.NewAggregate("parcel", 1, []payment.Event{payment.AuthorizationTimedOut{}}, payment.Evolve)
	key := newer.Key(testAccount, string(s.ID)) // the same id: the same shard, right after it
	command(t, store, newer, key, func(s payment.State, m eventstore.Meta) (payment.Event, error) {
		return payment.AuthorizationTimedOut{NoAnswer: payment.NoAnswer{At: m.At, Request: 1}}, nil
	})
	answerPayment(t, store, s.ID, approved())
	bad, err := store.Load(ctx, key, eventstore.Applied)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for restart := range 2 {
		n := startNode(t, store, dir)
		err := <-n.result
		if !errors.Is(err, format.ErrUnknownEvent) || n.Healthy() == nil || n.Healthy().Error() != err.Error() {
			t.Fatalf("restart %d: Run gives %v, Healthy %v", restart, err, n.Healthy())
		}
		for _, part := range []string{key.String(), fmt.Sprintf("sequence %d", bad.Seq), "revision 1", payment.AuthorizationTimedOut{}.Type()} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("the error does not name %s: %v", part, err)
			}
		}
		if at := n.model.places[bad.Shard].number; at != bad.Number-1 {
			t.Errorf("restart %d: the shard is at %d", restart, at)
		}
		if err := n.CaughtUp(ctx); !errors.Is(err, ErrStopped) || !errors.Is(err, format.ErrUnknownEvent) {
			t.Errorf("restart %d: waiting gives %v", restart, err)
		}
		if now, err := n.Payment(ctx, testAccount, s.ID); err != nil || now.Revision != 2 { // it needs no view
			t.Errorf("restart %d: reading past it gives revision %d, %v", restart, now.Revision, err)
		}
		if _, err := n.ListPayments(ctx, testAccount, PaymentFilter{}, nil, 9); domain.ReasonOf(err) != domain.ReasonServiceUnavailable {
			t.Errorf("restart %d: a list past it gives %v", restart, err)
		}
		n.stop()
	}
}

// TestLogReplaced: a read model of another log is not added to.
func TestLogReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx := testContext(t)
	first := openStore(t)
	n := startNode(t, first, dir)
	for i := range 30 {
		createPayment(t, first, i)
	}
	if err := n.CaughtUp(ctx); err != nil {
		t.Fatal(err)
	}
	n.stop()
	second := openStore(t)
	createPayment(t, second, 1)
	shorter := startNode(t, second, dir)
	if err := <-shorter.result; !errors.Is(err, eventstore.ErrUnhealthy) || shorter.Healthy() == nil || second.Healthy() == nil {
		t.Errorf("on a shorter log Run gives %v, Healthy %v", err, shorter.Healthy())
	}
	shorter.stop()
	third := openStore(t)
	for i := range 90 {
		createPayment(t, third, i)
	}
	other := startNode(t, third, dir)
	if err := <-other.result; err == nil || !strings.Contains(err.Error(), "differs from the event that was applied") || other.Healthy() == nil {
		t.Errorf("on another log Run gives %v", err)
	}
}

// TestSessionAccount: a session is found as soon as its creation was acknowledged; an unknown id is
// known to be unknown.
func TestSessionAccount(t *testing.T) {
	for _, noRows := range []bool{false, true} {
		testSessionAccount(t, noRows)
	}
}

func testSessionAccount(t *testing.T, noRows bool) {
	store := openStore(t)
	n := startNodeOf(t, store, t.TempDir(), noRows)
	command(t, store, eventstore.Accounts, eventstore.Accounts.Key(testAccount, string(testAccount)), func(s account.State, m eventstore.Meta) (account.Event, error) {
		return account.DecideCreate(s, account.Create{Created: account.Created{At: m.At, ID: testAccount}})
	})
	if err := n.CaughtUp(testContext(t)); err != nil {
		t.Fatal(err)
	}
	ctx := testContext(t)
	for i := range 20 {
		id := domain.SessionID(fmt.Sprintf("11111111-0000-4000-8000-%012d", i))
		command(t, store, eventstore.Sessions, eventstore.Sessions.Key(testAccount, string(id)), func(s session.State, m eventstore.Meta) (session.Event, error) {
			return session.DecideCreate(s, session.Create{At: m.At, ID: id, Account: testAccount, ExpiresAt: m.At.Add(time.Hour)})
		})
		if owner, found, err := n.SessionAccount(ctx, id); err != nil || !found || owner != testAccount {
			t.Errorf("session %d is of %q, %t, %v", i, owner, found, err)
		}
	}
	for _, id := range []domain.SessionID{"11111111-0000-4000-8000-999999999999", "no.id", ""} {
		if _, found, err := n.SessionAccount(ctx, id); err != nil || found {
			t.Errorf("%q is found: %t, %v", id, found, err)
		}
	}
}

// TestAccounts: the directory follows the log, also across a restart.
func TestAccounts(t *testing.T) {
	for _, noRows := range []bool{false, true} {
		testDirectory(t, noRows)
	}
}

func testDirectory(t *testing.T, noRows bool) {
	store := openStore(t)
	dir := t.TempDir()
	ctx := testContext(t)
	n := startNodeOf(t, store, dir, noRows)
	if _, found := n.Account("acct1"); found || len(n.Accounts()) != 0 {
		t.Error("an empty log has accounts")
	}
	for _, id := range []domain.AccountID{"acct2", "acct1"} {
		command(t, store, eventstore.Accounts, eventstore.Accounts.Key(id, string(id)), func(s account.State, m eventstore.Meta) (account.Event, error) {
			return account.DecideCreate(s, account.Create{Created: account.Created{At: m.At, ID: id, APIKey: account.APIKey{ID: domain.APIKeyID("first-" + id)}}})
		})
	}
	command(t, store, eventstore.Accounts, eventstore.Accounts.Key("acct1", "acct1"), func(s account.State, m eventstore.Meta) (account.Event, error) {
		return account.DecideCreateAPIKey(s, account.CreateAPIKey{At: m.At, Key: account.APIKey{ID: "second"}})
	})
	for restart := range 2 {
		if err := n.CaughtUp(ctx); err != nil {
			t.Fatal(err)
		}
		if all := n.Accounts(); len(all) != 2 || all[0].ID != "acct1" || all[1].ID != "acct2" {
			t.Errorf("restart %d: accounts %+v", restart, all)
		}
		for key, owner := range map[domain.APIKeyID]domain.AccountID{"first-acct1": "acct1", "first-acct2": "acct2", "second": "acct1"} {
			if s, found, err := n.AccountByKey(ctx, key); err != nil || !found || s.ID != owner {
				t.Errorf("restart %d: key %s is of %q", restart, key, s.ID)
			}
		}
		if _, found, err := n.AccountByKey(ctx, "third"); err != nil || found {
			t.Errorf("restart %d: a key that is not there is found", restart)
		}
		n.stop()
		n = startNodeOf(t, store, dir, noRows)
	}
}

// TestPersonal: sealed data opens; there is nothing in nil.
func TestPersonal(t *testing.T) {
	store := openStore(t)
	n := startNode(t, store, t.TempDir())
	ctx := testContext(t)
	sealed, err := n.Secrets.Seal(ctx, "customer-key.acct1.x", customer)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := n.Personal(ctx, sealed); err != nil || p.Customer.Email != customer.Customer.Email {
		t.Errorf("opened %+v, %v", p, err)
	}
	if p, err := n.Personal(ctx, nil); err != nil || !p.Empty() {
		t.Errorf("nil opens as %+v, %v", p, err)
	}
	if err := n.Secrets.Destroy(ctx, sealed.Key); err != nil {
		t.Fatal(err)
	}
	if p, err := n.Personal(ctx, sealed); err != nil || !p.Empty() {
		t.Errorf("erased data opens as %+v, %v", p, err)
	}
}

// TestWaitFor: waiting ends with the context, and for a shard that is not there.
func TestWaitFor(t *testing.T) {
	store := openStore(t)
	n := startNode(t, store, t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	waiting := make(chan error)
	go func() { waiting <- n.WaitFor(ctx, 0, 1000) }()
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled wait gives %v", err)
	}
	if err := n.WaitFor(context.Background(), 3, 1); err == nil {
		t.Error("there is no shard 3")
	}
	if path := filepath.Base(n.model.Path()); path != FileName {
		t.Errorf("the file is %s", path)
	}
}
