package paymentpages

import (
	"context"
	"net/http"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/httpapi/dashboard/frame"
)

// TestWhichRefund: the message after a refund is about this one, also when the outcome of an older
// one comes beside it and stands last. Beside another new one there is no amount.
func TestWhichRefund(t *testing.T) {
	t.Parallel()
	refund := func(minute int, amount domain.Amount, status payment.Status) transaction {
		kind := map[payment.Status]string{payment.StatusFailed: "REFUND_FAILED", payment.StatusSettled: "REFUND_SUCCEEDED"}[status]
		return transaction{
			TransactionType: "REFUND", Date: time.Date(2026, 3, 14, 14, minute, 0, 0, time.UTC), Amount: amount, CurrencyCode: "EUR",
			ProcessorStatus: string(status), Events: []struct{ Type string }{{kind}},
		}
	}
	before := form{kind: kinds["refund"], Name: "refund"}
	before.Payment.Transactions = []transaction{refund(0, 100, payment.StatusPending)}
	for _, c := range []struct {
		now    []transaction
		failed bool
		said   string
	}{
		{[]transaction{refund(0, 100, payment.StatusPending), refund(1, 200, payment.StatusSettled)}, false, "€2.00 was refunded."},
		{[]transaction{refund(1, 200, payment.StatusPending), refund(0, 100, payment.StatusSettled)}, false, "The refund of €2.00 was requested. The processor has not decided yet."},
		{[]transaction{refund(1, 200, payment.StatusPending), refund(0, 100, payment.StatusFailed)}, false, "The refund of €2.00 was requested. The processor has not decided yet."},
		{[]transaction{refund(1, 200, payment.StatusFailed), refund(0, 100, payment.StatusSettled)}, true, ""},
		{[]transaction{refund(0, 100, payment.StatusPending), refund(1, 200, payment.StatusSettled), refund(2, 300, payment.StatusSettled)}, false, ""},
		{[]transaction{refund(0, 100, payment.StatusSettled)}, false, ""},
	} {
		done := operated{Transactions: c.now}
		of := before.refundOf(done)
		after := paymentData{Transactions: append(c.now, refund(9, 900, payment.StatusSettled))}
		if said := after.refundSaid("refunded", of.values().Get(refundField)); said != c.said {
			t.Errorf("%+v: %q, want %q", c.now, said, c.said)
		}
		if before.failed(done, of) != c.failed {
			t.Errorf("%+v: failed is %t, want %t", c.now, !c.failed, c.failed)
		}
	}
}

// TestWhichRefundOfMany: the failure of one refund of many is that of the new one, also beside an
// older one of the payment whose request has a later time, by another node's clock.
func TestWhichRefundOfMany(t *testing.T) {
	t.Parallel()
	refund := func(minute int, status payment.Status) map[string]any {
		return map[string]any{"transactionType": "REFUND", "date": time.Date(2026, 3, 14, 14, minute, 0, 0, time.UTC), "amount": 100, "processorStatus": status}
	}
	for _, c := range []struct {
		older, newer payment.Status // after the operation
		failed       bool
	}{
		{payment.StatusSettled, payment.StatusFailed, true}, {payment.StatusFailed, payment.StatusSettled, false}, {payment.StatusFailed, payment.StatusPending, false},
	} {
		api := func(_ context.Context, _ frame.Identity, r frame.Request) frame.Answer {
			if r.Method == http.MethodGet {
				return encoded(map[string]any{"id": "p", "transactions": []any{refund(5, payment.StatusPending)}})
			}
			return encoded(map[string]any{"id": "p", "transactions": []any{refund(1, c.newer), refund(5, c.older)}})
		}
		v, _ := visitOf(t, pathBulk, api, time.Now)
		if err := refundOne(v, refundItem{ID: "p", Amount: 100, Currency: "EUR", Revision: 7}, "", "key"); (err != nil) != c.failed {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestCancelledAtTheSecondTry: a cancel that failed before the approval, and succeeded after it,
// has not failed (D7).
func TestCancelledAtTheSecondTry(t *testing.T) {
	t.Parallel()
	f := form{Name: "cancel", kind: kind{failure: "CANCELLATION_FAILED"}}
	once := []transaction{{Events: []struct{ Type string }{{"CANCELLATION_FAILED"}}}}
	for status, failed := range map[string]bool{"CANCELLED": false, "AUTHORIZED": true, "PENDING": true} {
		if got := f.failed(operated{Status: status, Transactions: once}, nil); got != failed {
			t.Errorf("%s: %t", status, got)
		}
	}
}
