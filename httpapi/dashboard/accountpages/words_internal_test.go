package accountpages

import (
	"slices"
	"testing"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/webhook"
	"payledger/domain/workflow"
	"payledger/httpapi/dashboard/frame"
	"payledger/projections/eventjson"
)

// TestActionsHaveWords: each event that is always in the audit log has words in its filter, and the
// filter has no type that does not exist.
func TestActionsHaveWords(t *testing.T) {
	t.Parallel()
	var listed []string
	for _, g := range actions {
		for _, a := range g.Actions {
			if slices.Contains(listed, a.Type) {
				t.Errorf("%s is there twice", a.Type)
			}
			if !slices.Contains(eventjson.Types(), a.Type) {
				t.Errorf("there is no event %s", a.Type)
			}
			listed = append(listed, a.Type)
		}
	}
	always := slices.Concat(types(account.Events()), types(workflow.Events()), types(webhook.Events()))
	for _, kind := range always {
		if !slices.Contains(listed, kind) {
			t.Errorf("the filter lacks %s: %s", kind, frame.Plain(kind))
		}
	}
}

func types[E domain.Event](events []E) (all []string) {
	for _, e := range events {
		all = append(all, e.Type())
	}
	return all
}
