package reconcile_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands/reconcile"
	"payledger/eventstore/engine"
)

// request creates a payment with a request at the processor and no answer.
func request(t *testing.T, store *engine.Store, id domain.PaymentID) {
	t.Helper()
	meta, err := store.NewMeta("test", "request")
	if err != nil {
		t.Fatal(err)
	}
	_, err = eventstore.ExecuteNew(context.Background(), store, eventstore.Payments, eventstore.Payments.Key(owner, string(id)), meta,
		func(payment.State) (payment.Event, error) {
			return payment.Created{
				At: meta.At, ID: id, Account: owner, Currency: "EUR", Amount: 1000, OrderID: "order",
				Route: []payment.Target{{Processor: processor.Adyen, MerchantID: merchantAt}},
			}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
}

// TestGrace: a result that the processor has, and that is not known here, is a difference once it
// is older than the grace time, by whichever clock; before, it is counted as too fresh to judge.
// Without a grace time it is one at once.
func TestGrace(t *testing.T) {
	store := open(t)
	request(t, store, "01payment1")
	const name = "op-01payment1.1"
	for _, c := range []struct {
		grace, age time.Duration
		state      processor.State
		want       reconcile.Counts
	}{
		{time.Minute, 0, processor.Pending, reconcile.Counts{}},
		{time.Minute, time.Hour, processor.Pending, reconcile.Counts{}},
		{time.Minute, 30 * time.Second, processor.Succeeded, reconcile.Counts{Fresh: 1}},
		{time.Minute, -30 * time.Second, processor.Failed, reconcile.Counts{Fresh: 1}},
		{time.Minute, 2 * time.Minute, processor.Succeeded, reconcile.Counts{Differences: 1}},
		{time.Minute, -2 * time.Minute, processor.Declined, reconcile.Counts{Differences: 1}},
		{0, 0, processor.Succeeded, reconcile.Counts{Differences: 1}},
	} {
		decided := store.Now().Add(-c.age)
		books := mirror{store: store, alter: func(r *processor.Record) { r.State, r.UpdatedAt = c.state, decided }}
		got, list := compare(t, reconcile.Reconciler{Store: store, Books: books, Grace: c.grace}, reconcile.Scope{Account: owner})
		c.want.Payments, c.want.Operations, c.want.Records, c.want.Open = 1, 1, 1, 1
		if got != c.want || got.Differences == 1 && !slices.Equal(list, []string{"OTHER_STATE " + name}) {
			t.Errorf("%s there for %s of %s: %+v %v", c.state, c.age, c.grace, got, list)
		}
	}
	books := mirror{store: store, alter: func(r *processor.Record) { r.State, r.UpdatedAt, r.Amount = processor.Succeeded, store.Now(), 7 }}
	got, list := compare(t, reconcile.Reconciler{Store: store, Books: books, Grace: time.Hour}, reconcile.Scope{Account: owner})
	if got.Fresh != 1 || !slices.Equal(list, []string{"OTHER_AMOUNT " + name}) {
		t.Errorf("another amount waits for nothing: %+v %v", got, list)
	}
}

// TestSecondOutsideTheTime checks that an operation that was done twice under one key is named if
// the period contains only the second, and not if it contains only the first.
func TestSecondOutsideTheTime(t *testing.T) {
	store := open(t)
	fill(t, store, 1)
	end := store.Now()
	second := processor.Record{}
	first := mirror{store: store}
	_ = first.Operations(context.Background(), processor.Adyen, time.Time{}, time.Time{}, func(r processor.Record) error {
		if r.Kind == processor.Authorize {
			second = r
		}
		return nil
	})
	second.ID, second.CreatedAt = "op-again", end.Add(time.Hour)
	twice := mirror{store: store, more: second}
	for q, want := range map[reconcile.Scope][]string{
		{Account: owner}: {"MISSING_HERE op-again"},
		{Account: owner, From: end.Add(time.Second)}:   {"MISSING_HERE op-again"},
		{Account: owner, To: end.Add(time.Second)}:     nil,
		{Account: owner, From: end.Add(2 * time.Hour)}: nil,
	} {
		if _, list := compare(t, reconcile.Reconciler{Store: store, Books: twice}, q); !slices.Equal(list, want) {
			t.Errorf("from %s to %s: %v, not %v", q.From, q.To, list, want)
		}
	}
	_, err := reconcile.Reconciler{Store: store, Books: twice}.Run(context.Background(), reconcile.Scope{Account: owner, From: end, To: end.Add(-1)}, nil, nil)
	if !errors.Is(err, reconcile.ErrReversed) {
		t.Errorf("a time that begins after its end: %v", err)
	}
}
