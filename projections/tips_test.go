package projections

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/projections/listing"
)

// standing opens the projections of dir as they were left: nothing is applied to them any more.
func standing(t *testing.T, store *engine.Store, dir string) *Projections {
	t.Helper()
	p, err := Open(context.Background(), Config{
		Dir: dir, Store: store, Fanout: eventstore.NewFanout(store), Secrets: eventstoretest.Secrets(t, store), Logger: zerolog.Nop(), Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestListsHoldTheirFilter: a payment that no longer fits the filter is not in the list, and the
// next payments fill the page (D11). The list has the newest states, not those of the rows.
func TestListsHoldTheirFilter(t *testing.T) {
	store, dir, ctx := openStore(t), t.TempDir(), testContext(t)
	n := startNode(t, store, dir)
	for i := range 5 {
		createPayment(t, store, i)
	}
	report := func(foreign, event string, status processor.DisputeStatus) {
		tellDispute(t, store, testAccount, dispute.Subject{Payment: "01a", Processor: "ADYEN", ProcessorDisputeID: foreign},
			dispute.Fact{EventID: event, At: start, Type: "DISPUTE", Status: status})
	}
	for _, foreign := range []string{"dp_1", "dp_2", "dp_3"} {
		report(foreign, "1", "OPEN")
	}
	for _, token := range []domain.Token{"01a", "01b"} {
		tool(t, store, testAccount, token, instrument.MultiUse, "customer")
	}
	if err := n.CaughtUp(ctx); err != nil {
		t.Fatal(err)
	}
	n.stop()
	for _, moved := range []int{4, 2} {
		answerPayment(t, store, paymentID(moved), approved())
	}
	report("dp_3", "2", "CHALLENGED")
	changeTool(t, store, "01b", instrument.DecideDelete)
	p := standing(t, store, dir)
	for limit, want := range map[int][]int{1: {3}, 2: {3, 1}, 3: {3, 1, 0}, 9: {3, 1, 0}} {
		found, err := p.listed(ctx, testAccount, PaymentFilter{Statuses: []string{"PENDING"}}, nil, limit)
		if got := ids(found, func(s payment.State) domain.PaymentID { return s.ID }); err != nil || !slices.Equal(got, ids(want, paymentID)) {
			t.Errorf("%d that are pending: %v, %v", limit, got, err)
		}
	}
	all, err := p.listed(ctx, testAccount, PaymentFilter{}, nil, 9)
	if err != nil || len(all) != 5 || all[0].Status() != payment.StatusAuthorized {
		t.Errorf("without a filter %+v, %v", all, err)
	}
	open, err := p.disputes(ctx, testAccount, DisputeFilter{Statuses: []string{"OPEN"}}, nil, 2)
	if err != nil || len(open) != 2 || open[0].Subject.ProcessorDisputeID != "dp_2" || open[1].Subject.ProcessorDisputeID != "dp_1" {
		t.Errorf("disputes that are open: %+v, %v", open, err)
	}
	vaulted, err := p.instruments(ctx, testAccount, "customer", selectOldest, listing.Place{}, 1, func(instrument.State) bool { return true })
	if err != nil || len(vaulted) != 1 || vaulted[0].Token != "01a" {
		t.Errorf("vaulted: %+v, %v", vaulted, err)
	}
}

// TestTipsFail: a page of which one state cannot be read is an error, and so is a row ahead of the
// log.
func TestTipsFail(t *testing.T) {
	store := openStore(t)
	var rows []rowKey
	for i := range 30 {
		rows = append(rows, rowKey{createPaymentKey(t, store, i), 1})
	}
	states, err := tips(testContext(t), store, eventstore.Payments, rows)
	if err != nil || len(states) != 30 || states[7].ID != paymentID(7) {
		t.Fatalf("%d states, %v", len(states), err)
	}
	for _, ahead := range []rowKey{{paymentKey(paymentID(99)), 1}, {rows[3].key, 2}} {
		if _, err := tips(testContext(t), store, eventstore.Payments, append(slices.Clone(rows), ahead)); err == nil {
			t.Errorf("%v is read", ahead)
		}
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tips(gone, store, eventstore.Payments, rows); err == nil {
		t.Error("a caller who has given up is answered")
	}
}

func createPaymentKey(t *testing.T, store *engine.Store, n int) eventstore.Key {
	t.Helper()
	return paymentKey(createPayment(t, store, n).ID)
}
