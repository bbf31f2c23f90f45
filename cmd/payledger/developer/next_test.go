package developer

import (
	"strings"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/httpapi/client"
)

// TestNextStepOfDisputes: the next step never advises a refund of money that a dispute returns or
// has returned.
func TestNextStepOfDisputes(t *testing.T) {
	t.Parallel()
	by := time.Date(2026, 12, 10, 8, 30, 0, 0, time.UTC)
	later := by.AddDate(0, 0, 3)
	p := client.Payment{ID: "01p", Status: "SETTLED", Amount: 2500, CurrencyCode: "EUR", Processor: &client.Processor{AmountCaptured: 2500}}
	one := func(kind processor.DisputeType, status processor.DisputeStatus, amount int64) dispute {
		return dispute{ID: "d", Type: kind, Status: status, Amount: amount, Currency: "EUR", By: &by}
	}
	foreign := one(processor.Chargeback, processor.DisputeLost, 1)
	foreign.Currency = "USD"
	late := one(processor.Chargeback, processor.DisputeOpen, 100)
	late.By = &later
	undated := late
	undated.By = nil
	for _, c := range []struct {
		all  []dispute
		want string
	}{
		{nil, "If the customer returns something, refund up to 25.00 EUR"},
		{[]dispute{one(processor.Chargeback, processor.DisputeOpen, 2500)}, "Answer the dispute by 10 Dec 2026 08:30 UTC, in the processor's own dashboard: challenge or accept it. Do not refund as well"},
		{[]dispute{late, undated, one(processor.Chargeback, processor.DisputeOpen, 2500)}, "Answer the dispute by 10 Dec 2026"},
		{[]dispute{undated}, "Answer the dispute soon (the processor names no deadline)"},
		{[]dispute{one(processor.Chargeback, processor.DisputeChallenged, 2500), late}, "Answer the dispute by 13 Dec 2026"},
		{[]dispute{one(processor.Chargeback, processor.DisputeChallenged, 2500)}, "Wait: you challenged the dispute"},
		{[]dispute{one(processor.Retrieval, processor.DisputeOpen, 2500)}, "Answer the dispute by 10 Dec 2026 08:30 UTC, in the processor's own dashboard: the customer's bank asks"},
		{[]dispute{one(processor.Retrieval, processor.DisputeExpired, 2500)}, "If the customer returns something, refund up to 25.00 EUR"},
		{[]dispute{one(processor.Chargeback, processor.DisputeLost, 2500)}, "Nothing: the dispute has already returned 25.00 EUR"},
		{[]dispute{one(processor.Prearbitration, processor.DisputeAccepted, 9900)}, "Nothing: the dispute has already returned 25.00 EUR"},
		{[]dispute{foreign}, "Nothing: the dispute has already returned 25.00 EUR"},
		{[]dispute{one(processor.Chargeback, processor.DisputeExpired, 1000)}, "Nothing about the dispute: it has already returned 10.00 EUR to the customer. If the customer returns something else, refund up to 15.00 EUR"},
		{[]dispute{one(processor.Chargeback, processor.DisputeWon, 2500)}, "Nothing about the dispute: you won it"},
		{[]dispute{one(processor.Chargeback, processor.DisputeCancelled, 2500)}, "If the customer returns something"},
	} {
		if got := nextStep(p, disputes{all: c.all}); !strings.HasPrefix(got, c.want) {
			t.Errorf("%v: %s\nwanted: %s", c.all, got, c.want)
		}
	}
}

// TestNextStepOfRefunds: a refund without an outcome counts as refunded.
func TestNextStepOfRefunds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		refunded, pending int64
		want              string
	}{
		{0, 2500, "Wait, and do not refund again: a refund of 25.00 EUR has no outcome yet."}, {2500, 0, "Nothing: the captured amount is refunded."},
		{500, 1000, "If the customer returns something, refund up to 10.00 EUR"},
	} {
		p := client.Payment{ID: "01p", Status: "SETTLED", Amount: 2500, CurrencyCode: "EUR", Processor: &client.Processor{AmountCaptured: 2500, AmountRefunded: c.refunded}}
		p.Transactions = []client.Transaction{{Type: "SALE", Status: "SETTLED", Amount: 2500}, {Type: "REFUND", Status: "PENDING", Amount: c.pending}}
		if got := nextStep(p, disputes{}); !strings.HasPrefix(got, c.want) {
			t.Errorf("%d refunded, %d pending: %s", c.refunded, c.pending, got)
		}
	}
}
