package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/dispute"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands/reconcile"
	"payledger/eventstore/engine"
)

// garbled are books whose notifications about disputes of some payments cannot be read.
type garbled struct {
	mirror
	payments []domain.PaymentID
	nameless bool // others name no payment
}

func (g garbled) DisputesOf(_ context.Context, _ processor.Name, id domain.PaymentID) ([]processor.Notification, error) {
	if slices.Contains(g.payments, id) {
		return nil, fmt.Errorf("%w: a notification", processor.ErrUnreadable)
	}
	return nil, nil
}

func (g garbled) DisputesReported(_ context.Context, _ processor.Name, _, _ time.Time, handle func(processor.Notification) error) error {
	for _, id := range g.payments {
		if err := handle(processor.Notification{ID: "nt-" + string(id), Processor: processor.Adyen, Kind: processor.Dispute, Reference: id}); err != nil {
			return err
		}
	}
	if g.nameless {
		return fmt.Errorf("%w: a notification", processor.ErrUnreadable)
	}
	return nil
}

// disputed opens a dispute of a payment.
func disputed(t *testing.T, store *engine.Store, id domain.PaymentID) {
	t.Helper()
	meta, err := store.NewMeta("test", "request")
	if err != nil {
		t.Fatal(err)
	}
	named := domain.DisputeIDFor(owner, string(processor.Adyen), "dp-"+string(id))
	_, err = eventstore.Execute(t.Context(), store, eventstore.Disputes, eventstore.Disputes.Key(owner, string(named)), meta,
		func(dispute.State) (dispute.Event, error) {
			return dispute.Opened{
				At: meta.At, ID: named, Account: owner, Subject: dispute.Subject{Payment: id, Processor: processor.Adyen, ProcessorDisputeID: "dp-" + string(id)},
				Fact: dispute.Fact{EventID: "nt-dp-" + string(id), At: meta.At, Type: processor.Chargeback, Status: processor.DisputeOpen},
			}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
}

// TestUnreadableDisputes: a payment with a notification about a dispute that cannot be read is
// named once, and the comparison goes on. A notification that names no payment is an error after
// it.
func TestUnreadableDisputes(t *testing.T) {
	store := open(t)
	fill(t, store, 4)
	disputed(t, store, "01payment0000001")
	disputed(t, store, "01payment0000002")
	meta, err := store.NewMeta("test", "request")
	if err != nil {
		t.Fatal(err)
	}
	_, err = eventstore.ExecuteNew(t.Context(), store, eventstore.Accounts, eventstore.Accounts.Key("acct2", "acct2"), meta,
		func(account.State) (account.Event, error) { return account.Created{ID: "acct2"}, nil })
	if err != nil {
		t.Fatal(err)
	}
	books := garbled{mirror: mirror{store: store, hidden: processor.Record{ID: "op-01payment0000003-2"}}, payments: []domain.PaymentID{"01payment0000001", "01unknown"}}
	run := func(id domain.AccountID) (list []string, err error) {
		_, err = reconcile.Reconciler{Store: store, Books: books}.Run(t.Context(), reconcile.Scope{Account: id, Processor: processor.Adyen},
			func(d reconcile.Difference) error {
				list = append(list, fmt.Sprint(d.Kind, " ", d.Payment, " ", d.Operation))
				return nil
			}, func(reconcile.Progress) {})
		slices.Sort(list)
		return list, err
	}
	want := []string{
		"MISSING_THERE 01payment0000002 dispute", "MISSING_THERE 01payment0000003 capture", "UNREADABLE 01payment0000001 dispute", "UNREADABLE 01unknown dispute",
	}
	if list, err := run(owner); err != nil || !slices.Equal(list, want) {
		t.Errorf("%v %v, want %v", list, err, want)
	}
	if list, err := run("acct2"); err != nil || len(list) > 0 {
		t.Errorf("an account without this processor: %v %v", list, err)
	}
	books.nameless = true
	if list, err := run(owner); !errors.Is(err, processor.ErrUnreadable) || !slices.Equal(list, want) {
		t.Errorf("with one that names no payment: %v %v, want %v", list, err, want)
	}
}
