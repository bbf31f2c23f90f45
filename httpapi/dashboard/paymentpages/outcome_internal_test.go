package paymentpages

import (
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
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
		if before.failed(done, of) != c.failed || done.refundFailed() != c.failed {
			t.Errorf("%+v: failed is %t and %t, want %t", c.now, before.failed(done, of), done.refundFailed(), c.failed)
		}
	}
}
