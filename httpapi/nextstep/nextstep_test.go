package nextstep_test

import (
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/httpapi/client"
	"payledger/httpapi/nextstep"
)

var terminal = nextstep.Reader{Money: domain.Amount.Format, Calls: true}

// TestNextStepOfDisputes: the next step never advises a refund of money that a dispute returns or
// has returned.
func TestNextStepOfDisputes(t *testing.T) {
	t.Parallel()
	by := time.Date(2026, 12, 10, 8, 30, 0, 0, time.UTC)
	later := by.AddDate(0, 0, 3)
	p := client.Payment{ID: "01p", Status: "SETTLED", Amount: 2500, CurrencyCode: "EUR", Processor: &client.Processor{AmountCaptured: 2500}}
	one := func(kind processor.DisputeType, status processor.DisputeStatus, amount domain.Amount) nextstep.Dispute {
		return nextstep.Dispute{ID: "d", Type: kind, Status: status, Amount: amount, Currency: "EUR", ChallengeRequiredBy: &by}
	}
	foreign := one(processor.Chargeback, processor.DisputeLost, 1)
	foreign.Currency = "USD"
	late := one(processor.Chargeback, processor.DisputeOpen, 100)
	late.ChallengeRequiredBy = &later
	undated := late
	undated.ChallengeRequiredBy = nil
	for _, c := range []struct {
		all  []nextstep.Dispute
		want string
	}{
		{nil, "If the customer returns something, refund up to 25.00 EUR"},
		{[]nextstep.Dispute{one(processor.Chargeback, processor.DisputeOpen, 2500)}, "Answer the dispute by 10 Dec 2026 08:30 UTC, in the processor's own dashboard: challenge or accept it. Do not refund as well"},
		{[]nextstep.Dispute{late, undated, one(processor.Chargeback, processor.DisputeOpen, 2500)}, "Answer the dispute by 10 Dec 2026"},
		{[]nextstep.Dispute{undated}, "Answer the dispute soon (the processor names no deadline)"},
		{[]nextstep.Dispute{one(processor.Chargeback, processor.DisputeChallenged, 2500), late}, "Answer the dispute by 13 Dec 2026"},
		{[]nextstep.Dispute{one(processor.Chargeback, processor.DisputeChallenged, 2500)}, "Wait: you challenged the dispute"},
		{[]nextstep.Dispute{one(processor.Retrieval, processor.DisputeOpen, 2500)}, "Answer the dispute by 10 Dec 2026 08:30 UTC, in the processor's own dashboard: the customer's bank asks"},
		{[]nextstep.Dispute{one(processor.Retrieval, processor.DisputeExpired, 2500)}, "If the customer returns something, refund up to 25.00 EUR"},
		{[]nextstep.Dispute{one(processor.Chargeback, processor.DisputeLost, 2500)}, "Nothing: the dispute has already returned 25.00 EUR"},
		{[]nextstep.Dispute{one(processor.Prearbitration, processor.DisputeAccepted, 9900)}, "Nothing: the dispute has already returned 25.00 EUR"},
		{[]nextstep.Dispute{foreign}, "Nothing: the dispute has already returned 25.00 EUR"},
		{[]nextstep.Dispute{one(processor.Chargeback, processor.DisputeExpired, 1000)}, "Nothing about the dispute: it has already returned 10.00 EUR to the customer. If the customer returns something else, refund up to 15.00 EUR"},
		{[]nextstep.Dispute{one(processor.Chargeback, processor.DisputeWon, 2500)}, "Nothing about the dispute: you won it"},
		{[]nextstep.Dispute{one(processor.Chargeback, processor.DisputeCancelled, 2500)}, "If the customer returns something"},
	} {
		if got := terminal.Of(p, c.all); !strings.HasPrefix(got, c.want) {
			t.Errorf("%v: %s\nwanted: %s", c.all, got, c.want)
		}
	}
}

// TestNextStepOfOneDispute: the step of one dispute warns of a refund that pays the customer twice.
func TestNextStepOfOneDispute(t *testing.T) {
	t.Parallel()
	for status, want := range map[processor.DisputeStatus]string{
		processor.DisputeOpen:       "Do not refund as well: if the dispute is lost, the customer gets 25.00 EUR twice.",
		processor.DisputeChallenged: "Wait: you challenged the dispute",
		processor.DisputeLost:       "The dispute has returned 25.00 EUR to the customer. Do not refund the same money as well.",
	} {
		got := terminal.OfDispute(nextstep.Dispute{ID: "d", Type: processor.Chargeback, Status: status, Amount: 2500, Currency: "EUR"})
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s", status, got)
		}
	}
	for _, d := range []nextstep.Dispute{{Type: processor.Chargeback, Status: processor.DisputeWon}, {Type: processor.Retrieval, Status: processor.DisputeExpired}} {
		if got := terminal.OfDispute(d); got != "" {
			t.Errorf("%s %s: %s", d.Type, d.Status, got)
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
		if got := terminal.Of(p, nil); !strings.HasPrefix(got, c.want) {
			t.Errorf("%d refunded, %d pending: %s", c.refunded, c.pending, got)
		}
	}
}

// TestReaders: the terminal gets the calls of the API, the page of the dashboard none of their
// words.
func TestReaders(t *testing.T) {
	t.Parallel()
	page := nextstep.Reader{Money: func(a domain.Amount, c domain.Currency) string {
		return "€" + strings.TrimSuffix(a.Format(c), " EUR")
	}}
	failed := func(status, kind string) client.Payment {
		p := client.Payment{ID: "01p", Status: status, Amount: 2500, CurrencyCode: "EUR", Processor: &client.Processor{AmountCaptured: 500}}
		p.Transactions = make([]client.Transaction, 1)
		p.Transactions[0].Events = append(p.Transactions[0].Events, struct {
			ID     string    `json:"id"`
			Type   string    `json:"type"`
			Date   time.Time `json:"date"`
			Amount int64     `json:"amount"`
		}{Type: kind, Date: time.Unix(1, 0)})
		return p
	}
	unanswered := failed("AUTHORIZED", "CANCELLATION_FAILED")
	unanswered.StatusReason = &client.StatusReason{Type: string(domain.GatewayTimeout)}
	if got := page.Of(unanswered, nil); !strings.HasPrefix(got, "Wait: the cancel failed, and the processor has not answered") {
		t.Error(got)
	}
	for _, c := range []struct {
		p               client.Payment
		onPage, byCalls string
	}{
		{
			client.Payment{ID: "01p", Status: "AUTHORIZED", Amount: 2500, CurrencyCode: "EUR"}, "Capture €25.00 or a part of it when the goods leave, or cancel.",
			"Capture 25.00 EUR or a part of it when the goods leave, or cancel: POST /payments/01p/capture or /cancel.",
		},
		{
			failed("AUTHORIZED", "CAPTURE_FAILED"), "The capture failed, and took no money; the amount stays reserved. Capture again. Or cancel. If it fails",
			"The capture failed, and took no money; the amount stays reserved. Capture again with another X-Idempotency-Key: POST /payments/01p/capture. Or cancel: POST",
		},
		{
			failed("PARTIALLY_SETTLED", "CANCELLATION_FAILED"), "The cancel failed; the amount stays reserved on the customer's card. Cancel again. Or capture. If",
			"The cancel failed; the amount stays reserved on the customer's card. Cancel again with another X-Idempotency-Key: POST /payments/01p/cancel. Or capture: POST",
		},
		{
			failed("PENDING", "CANCELLATION_FAILED"), "Wait: the cancel failed, and is tried again when the processor answers",
			"Wait: the cancel failed, and is tried again when the processor answers",
		},
		{
			failed("SETTLED", "REFUND_FAILED"), "The refund failed, and the customer got no money. Refund up to €5.00 again. If",
			"The refund failed, and the customer got no money. Refund up to 5.00 EUR again with another X-Idempotency-Key: POST /payments/01p/refund. If",
		},
		{
			client.Payment{ID: "01p", Status: "PENDING", RequiredAction: &client.RequiredAction{Name: "3DS_AUTHENTICATION"}}, "Wait for the customer, who must act in the browser (3DS_AUTHENTICATION).",
			"The customer must act (3DS_AUTHENTICATION): pass requiredAction.clientToken",
		},
		{
			client.Payment{ID: "01p", Status: "DECLINED", StatusReason: &client.StatusReason{AdvisedAction: "RETRY_LATER"}}, "Nothing was charged. The customer can try again later or with another card (RETRY_LATER).",
			"Nothing was charged. The customer can try again later or with another card, each time with a new token (RETRY_LATER).",
		},
		{client.Payment{ID: "01p", Status: "CANCELLED"}, "Nothing: the reserved amount is released.", "Nothing: the reserved amount is released. A new payment needs a new token."},
		{client.Payment{ID: "01p", Status: "FAILED"}, "The payment failed without a charge. Let the customer pay again; if", "The payment failed without a charge. Let the customer pay again with a new token; if"},
	} {
		onPage, byCalls := page.Of(c.p, nil), terminal.Of(c.p, nil)
		if !strings.HasPrefix(onPage, c.onPage) || !strings.HasPrefix(byCalls, c.byCalls) {
			t.Errorf("%s: %s\n%s", c.p.Status, onPage, byCalls)
		}
		for _, word := range []string{"POST", "X-Idempotency-Key", "token"} {
			if strings.Contains(onPage, word) {
				t.Errorf("%s: the page says %s: %s", c.p.Status, word, onPage)
			}
		}
	}
}
