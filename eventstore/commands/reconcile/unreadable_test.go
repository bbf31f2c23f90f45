package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/commands/reconcile"
)

// spoiled are books in which some operations cannot be read, in the list of their payment and in
// the list by time.
type spoiled struct {
	nobodys
	ids []string
}

func (s spoiled) ByReference(ctx context.Context, name processor.Name, id domain.PaymentID) ([]processor.Record, error) {
	records, err := s.nobodys.ByReference(ctx, name, id)
	readable := slices.DeleteFunc(slices.Clone(records), func(r processor.Record) bool { return slices.Contains(s.ids, r.ID) })
	if err == nil && (len(readable) < len(records) || id == "01lost") {
		err = fmt.Errorf("%w: an operation", processor.ErrUnreadable)
	}
	return readable, err
}

func (s spoiled) Operations(ctx context.Context, name processor.Name, from, to time.Time, handle func(processor.Record) error) error {
	return s.nobodys.Operations(ctx, name, from, to, func(r processor.Record) error {
		if slices.Contains(s.ids, r.ID) {
			r = processor.Record{ID: r.ID, Processor: r.Processor, MerchantID: r.MerchantID, Reference: r.Reference, Unreadable: true}
		}
		return handle(r)
	})
}

// TestUnreadable: a payment with an operation in the books that cannot be read is named once, and
// hides no other difference. An unknown payment is named to the account of its merchant account.
func TestUnreadable(t *testing.T) {
	store := open(t)
	fill(t, store, 6)
	lost := processor.Record{
		ID: "op-lost", Processor: processor.Adyen, MerchantID: merchantAt, Reference: "01lost", Kind: processor.Capture, Key: "01lost.2",
		Amount: 500, Currency: "EUR", State: processor.Succeeded, CreatedAt: store.Now(),
	}
	elsewhere := lost
	elsewhere.MerchantID = "m-else"
	for name, c := range map[string]struct {
		one  processor.Record
		ids  []string
		want []string
	}{
		"one":       {processor.Record{}, []string{"op-01payment0000003-2"}, []string{"MISSING_THERE 01payment0000005", "UNREADABLE 01payment0000003"}},
		"two":       {processor.Record{}, []string{"op-01payment0000003-2", "op-01payment0000003-3"}, []string{"MISSING_THERE 01payment0000005", "UNREADABLE 01payment0000003"}},
		"unknown":   {lost, []string{"op-lost"}, []string{"MISSING_THERE 01payment0000005", "UNREADABLE 01lost"}},
		"elsewhere": {elsewhere, []string{"op-lost"}, []string{"MISSING_THERE 01payment0000005"}},
	} {
		books := spoiled{nobodys{mirror{store: store, hidden: processor.Record{ID: "op-01payment0000005-2"}}, c.one}, c.ids}
		var list []string
		counts, err := reconcile.Reconciler{Store: store, Books: books}.Run(context.Background(), reconcile.Scope{Account: owner, Processor: processor.Adyen},
			func(d reconcile.Difference) error {
				list = append(list, string(d.Kind)+" "+string(d.Payment))
				return nil
			}, func(reconcile.Progress) {})
		slices.Sort(list)
		if err != nil || !slices.Equal(list, c.want) || counts.Differences != len(c.want) {
			t.Errorf("%s: %v, not %v; %+v %v", name, list, c.want, counts, err)
		}
	}
	broken := errors.New("the line broke")
	_, err := reconcile.Reconciler{Store: store, Books: failing{spoiled{}, broken}}.Run(context.Background(), reconcile.Scope{Account: owner, Processor: processor.Adyen},
		func(reconcile.Difference) error { return nil }, func(reconcile.Progress) {})
	if !errors.Is(err, broken) {
		t.Errorf("books without an answer: %v", err)
	}
	verified := verify(t, store, owner, "01token")
	books := spoiled{nobodys{mirror{store: store}, verified}, []string{verified.ID}}
	if _, list := compare(t, reconcile.Reconciler{Store: store, Books: books}, reconcile.Scope{Account: owner}); !slices.Equal(list, []string{"UNREADABLE "}) {
		t.Errorf("the verification of a card: %v", list)
	}
}

// failing are books without an answer.
type failing struct {
	spoiled
	err error
}

func (f failing) ByReference(context.Context, processor.Name, domain.PaymentID) ([]processor.Record, error) {
	return nil, f.err
}
