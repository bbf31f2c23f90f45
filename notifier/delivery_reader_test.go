package notifier

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/projections/deliveries"
)

// TestSent checks that an event's delivery is found by the event until it is dropped. Then the
// event is among the events whose deliveries may be dropped; a later event is not.
func TestSent(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newOldRig(t)
	id := r.endpoint(inbox.url)
	sent := NewDeliveryReader(r.store)
	ctx := context.Background()
	pay := func(finished int) (*eventstore.Recorded, deliveries.Row) {
		r.pay(processor.Succeeded)
		inbox.waitFor(1)
		row := r.settled(finished, deliveries.Filter{Statuses: []string{"SUCCEEDED"}})[0]
		_, d, err := r.notifier.last(ctx, row.Name)
		r.must(err)
		e, err := r.store.Read(ctx, d.Shard, d.Seq)
		r.must(err)
		return e, row
	}
	find := func(e *eventstore.Recorded, row deliveries.Row, found, dropped bool) {
		t.Helper()
		got, is, err := sent.Find(ctx, e, id, "PAYMENT.STATUS")
		if err != nil || is != found || sent.MayBeDropped(e) != dropped || is && (got.ID != row.ID || len(got.Tried) != 1 || got.Tried[0].StatusCode != 200) {
			t.Errorf("%+v, %t, %v, may be dropped: %t", got, is, err, sent.MayBeDropped(e))
		}
		if _, is, err := sent.Find(ctx, e, id, "PAYMENT.REFUND"); is || err != nil {
			t.Errorf("a webhook that was not sent: %t, %v", is, err)
		}
	}
	old, oldRow := pay(1)
	find(old, oldRow, true, false)
	r.dropAll()
	find(old, oldRow, false, true)
	later, row := pay(2)
	find(later, row, true, false)
}

// TestRecords checks that the records of deliveries are read in order and in pages, of one account
// or all, also after a drop: then without the dropped records. A place that the stream has not
// reached is refused.
func TestRecords(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newOldRig(t)
	r.endpoint(inbox.url)
	reader, ctx := NewDeliveryReader(r.store), context.Background()
	read := func(account domain.AccountID, after uint64, limit int) (all []deliveries.Recorded, next uint64) {
		t.Helper()
		next, err := reader.Records(ctx, account, after, limit, func(d deliveries.Recorded) error {
			all = append(all, d)
			return nil
		})
		r.must(err)
		return all, next
	}
	for range 3 {
		r.pay(processor.Succeeded)
		inbox.waitFor(1)
	}
	r.settled(3, deliveries.Filter{Statuses: []string{"SUCCEEDED"}})
	all, next := read("", 0, 0)
	if mine, _ := read(merchantID, 0, 0); next != 0 || len(all) != 6 || len(mine) != 6 {
		t.Fatalf("%d records, %d of the account, next %d", len(all), len(mine), next)
	}
	if others, next := read("somebody", 0, 10); len(others) != 0 || next != 0 {
		t.Errorf("of another account %v, next %d", others, next)
	}
	var parts []deliveries.Recorded
	for after, last := uint64(0), false; !last; {
		page, next := read(merchantID, after, 2)
		parts = append(parts, page...)
		after, last = next, next == 0
	}
	if !reflect.DeepEqual(parts, all) {
		t.Errorf("in pages %v\nin one %v", parts, all)
	}
	for i, d := range all {
		planned := d.Outcome == "PLANNED"
		if i > 0 && d.Place <= all[i-1].Place || d.RecordedAt.IsZero() || planned != d.DeliveredAt.IsZero() || planned != d.FirstAttemptAt.IsZero() || d.AggregateID == "" {
			t.Errorf("record %d: %+v", i, d)
		}
	}
	end := all[5].Place
	newest, err := r.store.Deliveries().End(ctx) // a note of the planner may follow the deliveries
	r.must(err)
	if _, err := reader.Records(ctx, "", newest+1000, 0, nil); !errors.Is(err, ErrNoPlace) {
		t.Errorf("a place that no record has: %v", err)
	}
	r.dropAll()
	r.pay(processor.Succeeded)
	inbox.waitFor(1)
	r.settled(4, deliveries.Filter{Statuses: []string{"SUCCEEDED"}})
	left, _ := read("", 0, 0)
	since, _ := read("", end, 0)
	if len(left) != 2 || !reflect.DeepEqual(left, since) {
		t.Errorf("after the drop %v\nbehind the former end %v", left, since)
	}
}
