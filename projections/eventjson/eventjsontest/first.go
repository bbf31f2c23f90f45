package eventjsontest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// firstTypes are the event types that can be the first event of their aggregate. A new one is added here, with a test of its JSON, of the
// views and of the export: without an earlier event they know only what this event has.
var firstTypes = []string{
	"payment.created",
	"payment.key_claimed", // at an id of its own: there is no payment
	"session.created",
	"instrument.tokenized",
	"attempt.created",
	"account.created",
	"dispute.opened",
	"dispute.rejected", // the first notification was impossible
	"inbox.received",
	"inbox.swept", // the processor's list was read before any notification came
	"person.erased",
	"workflow.created",
	"workflow_run.started", "workflow_run.skipped",
	"webhook.resend_requested", "webhook.replay_requested",
}

// checkFirst checks the first event of an aggregate: its type may be the first, and no value stands for one that is missing.
func checkFirst(revision uint64, kind string, text []byte) error {
	if revision != 1 {
		return nil
	}
	if !slices.Contains(firstTypes, kind) {
		return fmt.Errorf("%s is the first event of its aggregate, and is not in firstTypes", kind)
	}
	var event any
	if err := json.Unmarshal(text, &event); err != nil {
		return err
	}
	if at := missing(event, "$"); at != "" && at != "$.event.paymentId" { // a key may be claimed so that no payment is ever made
		return fmt.Errorf("%s, the first event of its aggregate, has no value at %s: %s", kind, at, text)
	}
	return nil
}

// missing returns the path of an empty id or a zero time; "" if there is none.
func missing(value any, path string) string {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			at := path + "." + name
			if text, ok := inner.(string); ok && (text == "" && (name == "id" || strings.HasSuffix(name, "Id")) || strings.HasPrefix(text, "0001-01-01")) {
				return at
			}
			if at := missing(inner, at); at != "" {
				return at
			}
		}
	case []any:
		for i, inner := range v {
			if at := missing(inner, fmt.Sprintf("%s[%d]", path, i)); at != "" {
				return at
			}
		}
	}
	return ""
}
