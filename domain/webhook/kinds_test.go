package webhook

import (
	"testing"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/payment"
	"payledger/domain/workflow"
)

// TestEveryEvent checks that the table has exactly the events of the aggregates with webhooks, also
// the events without a webhook (D17).
func TestEveryEvent(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	events := []domain.Event{}
	for _, e := range payment.Events() {
		events = append(events, e)
	}
	for _, e := range workflow.RunEvents() {
		events = append(events, e)
	}
	for _, e := range dispute.Events() {
		events = append(events, e)
	}
	for _, e := range events {
		known[e.Type()] = true
	}
	for name := range known {
		if _, there := candidates[name]; !there {
			t.Errorf("%s has no row in candidates: add its webhooks, or nil", name)
		}
	}
	caused := map[Kind]bool{}
	for name, row := range candidates {
		if !known[name] {
			t.Errorf("candidates has %s, which is not an event", name)
		}
		for _, c := range row {
			caused[c.Kind] = true
			if versions[c.Kind] == "" || !domain.ValidID(c.Kind.Token()) {
				t.Errorf("%s has no payload version, or no token", c.Kind)
			}
		}
	}
	for kind := range versions {
		if !caused[kind] {
			t.Errorf("no event causes %s", kind)
		}
	}
}
