package reconcile_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands/reconcile"
	"payledger/eventstore/engine"
)

// verify tokenizes a card of an account and requests two verifications: the first one fails, the
// second one succeeds. It returns the record of the second.
func verify(t *testing.T, store *engine.Store, id domain.AccountID, token domain.Token) processor.Record {
	t.Helper()
	asked := instrument.VerificationRequested{Processor: processor.Adyen, MerchantID: merchantAt, Currency: "EUR"}
	for i := range 4 {
		meta, err := store.NewMeta("test", "request")
		if err != nil {
			t.Fatal(err)
		}
		asked.At = meta.At
		e := []instrument.Event{
			instrument.Tokenized{At: meta.At, Token: token, Account: id, TokenType: instrument.SingleUse}, asked, asked,
			instrument.Vaulted{At: meta.At, CustomerID: "customer", Verified: 3},
		}[i]
		_, err = eventstore.Execute(context.Background(), store, eventstore.Instruments, eventstore.Instruments.Key(id, string(token)), meta,
			func(instrument.State) (instrument.Event, error) { return e, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	reference := domain.VerificationReference(id, token)
	return processor.Record{
		ID: "op-verified", Processor: processor.Adyen, MerchantID: merchantAt, Reference: reference, Kind: processor.Authorize,
		Key: domain.OperationKey(string(reference) + ".3"), Currency: "EUR", State: processor.Succeeded, CreatedAt: store.Now(),
	}
}

// TestVerifications: the verification of a card (D5.11) is no payment that the ledger lacks,
// neither for its account nor for another one under the same merchant account, also if it is
// requested during the comparison. Its record is compared as that of an operation.
func TestVerifications(t *testing.T) {
	store := open(t)
	fill(t, store, 1)
	addAccount(t, store, "acct2", merchantAt)
	verified := verify(t, store, owner, "01token")
	for _, c := range []struct {
		name   string
		change func(r *processor.Record)
		want   []string
	}{
		{"the same", func(*processor.Record) {}, nil},
		{"an amount", func(r *processor.Record) { r.Amount = 100 }, []string{"OTHER_AMOUNT op-verified"}},
		{"another currency", func(r *processor.Record) { r.Currency = "JPY" }, []string{"OTHER_AMOUNT op-verified"}},
		{"another merchant account", func(r *processor.Record) { r.MerchantID = "m-2" }, []string{"OTHER_MERCHANT op-verified"}},
		{"declined", func(r *processor.Record) { r.State = processor.Declined }, []string{"OTHER_STATE op-verified"}},
		{"waits there", func(r *processor.Record) { r.State = processor.Pending }, []string{"OTHER_STATE op-verified"}},
		{"failed here, waits there", func(r *processor.Record) {
			r.Key, r.State = domain.OperationKey(string(r.Reference)+".2"), processor.Pending
		}, []string{"MISSING_THERE "}},
		{"of a failed request", func(r *processor.Record) {
			r.Key = domain.OperationKey(string(r.Reference) + ".2")
		}, []string{"MISSING_THERE ", "OTHER_STATE op-verified"}},
		{"of no request", func(r *processor.Record) {
			r.Key = domain.OperationKey(string(r.Reference) + ".9")
		}, []string{"MISSING_HERE op-verified", "MISSING_THERE "}},
		{"of no token", func(r *processor.Record) {
			r.Reference, r.Key = "01lost", "01lost.3"
		}, []string{"MISSING_HERE op-verified", "MISSING_THERE "}},
	} {
		record := verified
		c.change(&record)
		books := nobodys{mirror{store: store}, record}
		got, list := compare(t, reconcile.Reconciler{Store: store, Books: books}, reconcile.Scope{Account: owner})
		if want := perPayment + 1; !slices.Equal(list, c.want) || got.Records != want || got.Operations != want+1 {
			t.Errorf("%s: %v, not %v; %+v", c.name, list, c.want, got)
		}
	}
	got, list := compare(t, reconcile.Reconciler{Store: store, Books: nobodys{mirror{store: store}, verified}}, reconcile.Scope{Account: "acct2"})
	if len(list) != 0 || got != (reconcile.Counts{}) {
		t.Errorf("of another account: %+v %v", got, list)
	}
	late := meanwhile{nobodys{mirror{store: store}, processor.Record{}}, func() processor.Record { return verify(t, store, owner, "01late") }}
	if _, list := compare(t, reconcile.Reconciler{Store: store, Books: &late}, reconcile.Scope{Account: owner}); !slices.Equal(list, []string{"MISSING_THERE "}) {
		t.Errorf("requested meanwhile: %v", list)
	}
}

// meanwhile are books with an operation that is requested while they are read.
type meanwhile struct {
	nobodys
	ask func() processor.Record
}

func (m *meanwhile) Operations(ctx context.Context, name processor.Name, from, to time.Time, handle func(processor.Record) error) error {
	m.one = m.ask()
	return m.nobodys.Operations(ctx, name, from, to, handle)
}
