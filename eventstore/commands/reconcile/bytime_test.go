package reconcile_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/eventstore/commands/reconcile"
)

// laterLists are books whose list by time has an operation that the list of its payment does not
// have.
type laterLists struct {
	mirror
	one processor.Record
}

func (l laterLists) Operations(ctx context.Context, name processor.Name, from, to time.Time, handle func(processor.Record) error) error {
	if err := l.mirror.Operations(ctx, name, from, to, handle); err != nil {
		return err
	}
	return handle(l.one)
}

// TestOnlyByTime: an operation that only the list by time has is a difference as any other.
func TestOnlyByTime(t *testing.T) {
	store := open(t)
	fill(t, store, 2)
	one := processor.Record{
		ID: "op-more", Processor: processor.Adyen, MerchantID: merchantAt, Reference: "01payment0000001", Kind: processor.Refund, Key: "sim",
		Amount: 5, Currency: "EUR", State: processor.Succeeded, CreatedAt: store.Now(),
	}
	ours, another, unreadable, unmoved := one, one, one, one
	ours.Key = "01payment0000001.9999"
	another.Reference, another.Key = "01another", "01another.1"
	unreadable.Unreadable = true
	unmoved.State = processor.Failed
	for name, c := range map[string]struct {
		one  processor.Record
		want []string
	}{
		"made elsewhere":     {one, []string{"MISSING_HERE op-more"}},
		"under a key of us":  {ours, []string{"MISSING_HERE op-more"}},
		"an unknown payment": {another, []string{"MISSING_HERE op-more"}},
		"unreadable":         {unreadable, []string{"UNREADABLE "}},
		"nothing moved":      {unmoved, nil},
	} {
		if _, list := compare(t, reconcile.Reconciler{Store: store, Books: laterLists{mirror{store: store}, c.one}}, reconcile.Scope{Account: owner}); !slices.Equal(list, c.want) {
			t.Errorf("%s: %v, not %v", name, list, c.want)
		}
	}
}
