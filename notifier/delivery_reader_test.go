package notifier

import (
	"context"
	"testing"

	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/projections/deliveries"
)

// TestSent checks that an event's delivery is found by the event until it is dropped. Then the event is among the events whose deliveries
// may be dropped; a later event is not.
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
