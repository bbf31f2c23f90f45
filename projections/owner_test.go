package projections

import (
	"testing"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
)

// TestPaymentAccountWithoutViews checks that a payment's account is known as soon as the payment is
// acknowledged, even if the views do not advance. That a payment does not exist is known at once,
// too. So a processor that notifies about a payment does not wait.
func TestPaymentAccountWithoutViews(t *testing.T) {
	store, dir := openStore(t), t.TempDir()
	first := startNode(t, store, dir)
	ctx := testContext(t)
	for _, id := range []domain.AccountID{"acct0", testAccount, "acct2"} {
		command(t, store, eventstore.Accounts, eventstore.Accounts.Key(id, string(id)), func(s account.State, m eventstore.Meta) (account.Event, error) {
			return account.DecideCreate(s, account.Create{Created: account.Created{At: m.At, ID: id}})
		})
	}
	if err := first.CaughtUp(ctx); err != nil {
		t.Fatal(err)
	}
	first.stop()
	views, err := Open(ctx, Config{
		Dir: dir, Store: store, Fanout: eventstore.NewFanout(store), Secrets: eventstoretest.Secrets(t, store), Logger: zerolog.Nop(), Now: store.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := views.Close(); err != nil {
			t.Error(err)
		}
	}()
	s := createPayment(t, store, 1)
	if owner, known, err := views.PaymentAccount(ctx, s.ID); err != nil || !known || owner != testAccount {
		t.Errorf("a new payment: %q, %t, %v", owner, known, err)
	}
	if owner, known, err := views.PaymentAccount(ctx, paymentID(2)); err != nil || known {
		t.Errorf("no payment: %q, %t, %v", owner, known, err)
	}
}
