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
	"log.initialized",
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

// mayBeMissing are the values of first events that may be empty or zero, as their fields in package domain say.
var mayBeMissing = []string{
	"$.event.paymentId",                 // a key may be claimed so that no payment is ever made
	"$.attempt.decidedAt",               // nobody has decided
	"$.event.paymentMethod.tokenizedAt", // a vaulted card, without CVV
}

// checkFirst checks the first event of an aggregate: its type is in firstTypes, and it has no empty id and no zero time.
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
	for _, at := range missing(event, "$") {
		if !slices.Contains(mayBeMissing, at) {
			return fmt.Errorf("%s, the first event of its aggregate, has no value at %s: %s", kind, at, text)
		}
	}
	return nil
}

// missing returns the paths of empty ids and zero times.
func missing(value any, path string) (all []string) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			at := path + "." + name
			if text, ok := inner.(string); ok && (text == "" && (name == "id" || strings.HasSuffix(name, "Id")) || strings.HasPrefix(text, "0001-01-01")) {
				all = append(all, at)
			}
			all = append(all, missing(inner, at)...)
		}
	case []any:
		for i, inner := range v {
			all = append(all, missing(inner, fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	return all
}
