package reconcile_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands/reconcile"
	"payledger/eventstore/engine"
)

// addAccount makes another account, under merchant accounts that follow one another.
func addAccount(t *testing.T, store *engine.Store, id domain.AccountID, merchants ...string) {
	t.Helper()
	for i, merchant := range merchants {
		one := account.Processor{Name: processor.Adyen, MerchantID: merchant, Enabled: true}
		var e account.Event = account.ProcessorChanged{Processor: one}
		if i == 0 {
			e = account.Created{ID: id, Processors: []account.Processor{one}}
		}
		changeAccount(t, store, id, e)
	}
}

func changeAccount(t *testing.T, store *engine.Store, id domain.AccountID, e account.Event) {
	t.Helper()
	meta, err := store.NewMeta("test", "request")
	if err != nil {
		t.Fatal(err)
	}
	_, err = eventstore.Execute(context.Background(), store, eventstore.Accounts, eventstore.Accounts.Key(id, string(id)), meta,
		func(account.State) (account.Event, error) { return e, nil })
	if err != nil {
		t.Fatal(err)
	}
}

// TestSharedMerchantAccount checks two accounts under one merchant account, also a former one:
// neither reports an operation of the other as missing. Both report an operation that belongs to
// neither.
func TestSharedMerchantAccount(t *testing.T) {
	store := open(t)
	fill(t, store, 1)
	addAccount(t, store, "acct2", merchantAt)
	addAccount(t, store, "acct3", merchantAt, "m-3")
	addAccount(t, store, "acct4", "m-4")
	accounts, err := reconcile.Accounts(context.Background(), store)
	slices.Sort(accounts)
	if want := []domain.AccountID{owner, "acct2", "acct3", "acct4"}; err != nil || !slices.Equal(accounts, want) {
		t.Errorf("accounts %v %v", accounts, err)
	}
	for _, id := range accounts[1:] {
		got, list := compare(t, reconcile.Reconciler{Store: store, Books: mirror{store: store}}, reconcile.Scope{Account: id})
		if len(list) != 0 || got != (reconcile.Counts{}) {
			t.Errorf("%s: %+v %v", id, got, list)
		}
	}
	lost := nobodys{mirror{store: store}, processor.Record{
		ID: "op-lost", Processor: processor.Adyen, MerchantID: merchantAt, Reference: "01lost", Kind: processor.Capture, Key: "01lost.2",
		Amount: 500, Currency: "EUR", State: processor.Succeeded, CreatedAt: store.Now(),
	}}
	for id, want := range map[domain.AccountID][]string{
		owner: {"MISSING_HERE op-lost"}, "acct2": {"MISSING_HERE op-lost"}, "acct3": {"MISSING_HERE op-lost"}, "acct4": nil,
	} {
		if _, list := compare(t, reconcile.Reconciler{Store: store, Books: lost}, reconcile.Scope{Account: id}); !slices.Equal(list, want) {
			t.Errorf("%s: %v, not %v", id, list, want)
		}
	}
}

// TestFormerMerchantAccount checks that an operation under the account's former merchant account
// belongs to the account, whether or not its payment is known.
func TestFormerMerchantAccount(t *testing.T) {
	store := open(t)
	fill(t, store, 1)
	changeAccount(t, store, owner, account.ProcessorChanged{Processor: account.Processor{Name: processor.Adyen, MerchantID: "m-new"}})
	changeAccount(t, store, owner, account.ProcessorChanged{Processor: account.Processor{Name: processor.Stripe, MerchantID: "m-stripe"}})
	for merchant, want := range map[string][]string{
		merchantAt: {"MISSING_HERE op-lost"}, "m-new": {"MISSING_HERE op-lost"}, "m-stripe": nil, "m-else": nil,
	} {
		lost := nobodys{mirror{store: store}, processor.Record{
			ID: "op-lost", Processor: processor.Adyen, MerchantID: merchant, Reference: "01lost", Kind: processor.Capture, Key: "01lost.2",
			Amount: 500, Currency: "EUR", State: processor.Succeeded, CreatedAt: store.Now(),
		}}
		got, list := compare(t, reconcile.Reconciler{Store: store, Books: lost}, reconcile.Scope{Account: owner})
		if !slices.Equal(list, want) || got.Operations != perPayment {
			t.Errorf("under %s: %+v %v, not %v", merchant, got, list, want)
		}
	}
}

// nobodys is a mirror with an operation of a payment that there is not.
type nobodys struct {
	mirror
	one processor.Record
}

func (n nobodys) Operations(ctx context.Context, name processor.Name, from, to time.Time, handle func(processor.Record) error) error {
	if err := n.mirror.Operations(ctx, name, from, to, handle); err != nil {
		return err
	}
	return handle(n.one)
}

func (n nobodys) ByReference(ctx context.Context, name processor.Name, id domain.PaymentID) ([]processor.Record, error) {
	if id == n.one.Reference {
		return []processor.Record{n.one}, nil
	}
	return n.mirror.ByReference(ctx, name, id)
}
