package commands_test

import (
	"slices"
	"testing"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/eventstore"
)

// TestOutcomesBelongToTheirRequests: the outcome of an operation has the correlation id of its
// request, also when another operation was requested in between (§6.3, D19).
func TestOutcomesBelongToTheirRequests(t *testing.T) {
	r := newRig(t)
	s := r.Service(nil)
	p := r.Pay(s, "4000000000005126") // refunds fail later
	if _, err := s.Capture(background, r.By, p.ID, payment.Capture{Final: true}); err != nil {
		t.Fatal(err)
	}
	for _, request := range []string{"request-a", "request-b"} {
		amount := domain.Amount(500)
		by := r.By
		by.RequestID = request
		if _, err := s.Refund(background, by, p.ID, payment.Refund{Amount: &amount}); err != nil {
			t.Fatal(err)
		}
	}
	r.Settle()
	r.Until(p.ID, "both refunds have failed", func(p payment.State) bool {
		return !slices.ContainsFunc(p.Operations, func(op payment.Operation) bool { return op.State.Open() })
	})
	events, err := r.Store.History(background, eventstore.Payments.Key(r.By.Account, string(p.ID)))
	if err != nil {
		t.Fatal(err)
	}
	var failed []string
	for _, e := range events {
		if e.Type == "payment.refund_failed" {
			failed = append(failed, e.CorrelationID)
		}
	}
	if slices.Sort(failed); !slices.Equal(failed, []string{"request-a", "request-b"}) {
		t.Errorf("failed for %q", failed)
	}
}
