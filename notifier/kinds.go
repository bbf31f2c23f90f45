package notifier

import (
	"fmt"
	"strings"

	"payledger/eventstore"
)

// Kind is a webhook's eventType (§6.2).
type Kind string

// The kinds that tell about payments (§6.2).
const (
	PaymentStatus      Kind = "PAYMENT.STATUS" // the status changed, or a wait began (D17)
	PaymentRefund      Kind = "PAYMENT.REFUND" // a refund reached its final state
	CaptureFailed      Kind = "PAYMENT.CAPTURE.FAILED"
	RefundFailed       Kind = "PAYMENT.REFUND.FAILED"
	CancellationFailed Kind = "PAYMENT.CANCELLATION.FAILED"
	AdjustmentFailed   Kind = "PAYMENT.AUTHORIZATION_ADJUSTMENT.FAILED"
)

// The kinds that tell about disputes (§6.2).
const (
	DisputeOpened Kind = "DISPUTE.OPENED" // at first sight, whatever its type (D16)
	DisputeStatus Kind = "DISPUTE.STATUS" // with it, and on every change of type or status
)

// WorkflowRunFailed tells that a run of a workflow failed (§6.5).
const WorkflowRunFailed Kind = "WORKFLOW_RUN.FAILED"

// versions is the payload version of each kind (§9, D17).
var versions = map[Kind]string{
	PaymentStatus: "2.1", PaymentRefund: "2.1",
	CaptureFailed: "2.4", RefundFailed: "2.4", CancellationFailed: "2.4", AdjustmentFailed: "2.4",
	DisputeOpened: "2.1", DisputeStatus: "2.4",
	WorkflowRunFailed: "1.0",
}

// token is the kind as one token of a delivery's name.
func (k Kind) token() string { return strings.ReplaceAll(string(k), ".", "-") }

// condition is what must be true besides the event's type. It is decided from the log alone, so that an event
// is planned the same however often.
type condition int

const (
	always        condition = iota
	statusChanges           // the status after the event is not the one before it
	waitBegins              // the payment is PENDING and waits for its processor or its customer (D17)
	actionShows             // as waitBegins, for an action that was there already and hidden by an intended void (D7)
)

// candidate is a webhook that an event causes if its condition holds.
type candidate struct {
	kind Kind
	when condition
}

// kindsOf is the whole table: event type → the webhooks it may cause (§6.2, D17). Every event of an aggregate
// that webhooks tell about has a row, those that cause none too: a type that is not here stops the planner.
// PAYMENT.STATUS depends on the payment's other facts: a second partial capture, or a late answer of an
// authorization that has its result, changes nothing.
var kindsOf = map[string][]candidate{
	"payment.created":                 nil, // PENDING at first is the answer to the request itself
	"payment.authorized":              {{PaymentStatus, statusChanges}},
	"payment.declined":                {{PaymentStatus, statusChanges}},
	"payment.authorization_failed":    {{PaymentStatus, statusChanges}},
	"payment.authorization_pending":   {{PaymentStatus, waitBegins}},
	"payment.authorization_timed_out": nil, // the status stays; the outcome will be told
	"payment.authorization_rerouted":  nil, // the next processor is asked at once

	"payment.action_required":      {{PaymentStatus, waitBegins}}, // none when a cancellation was intended (D7)
	"payment.resumed":              nil,
	"payment.completion_failed":    {{PaymentStatus, waitBegins}}, // the action is required once more
	"payment.completion_timed_out": nil,

	"payment.capture_requested": nil,
	"payment.capture_refused":   {{CaptureFailed, always}},
	"payment.captured":          {{PaymentStatus, statusChanges}},
	"payment.capture_pending":   {{PaymentStatus, statusChanges}},
	"payment.capture_failed":    {{PaymentStatus, statusChanges}, {CaptureFailed, always}}, // from SETTLING it goes back
	"payment.capture_timed_out": nil,

	"payment.cancellation_intended": nil,
	"payment.void_requested":        nil,
	"payment.voided":                {{PaymentStatus, statusChanges}},
	"payment.void_pending":          nil,
	"payment.void_failed":           {{PaymentStatus, actionShows}, {CancellationFailed, always}},
	"payment.void_timed_out":        nil,

	"payment.refund_requested": nil,
	"payment.refund_refused":   {{RefundFailed, always}}, // no refund came to be, so no PAYMENT.REFUND (D7)
	"payment.refunded":         {{PaymentRefund, always}},
	"payment.refund_pending":   nil,
	"payment.refund_failed":    {{PaymentRefund, always}, {RefundFailed, always}},
	"payment.refund_timed_out": nil,

	"payment.adjustment_requested": nil,
	"payment.adjustment_unneeded":  nil,
	"payment.adjusted":             nil, // the status stays AUTHORIZED (D7)
	"payment.adjustment_pending":   nil,
	"payment.adjustment_failed":    {{AdjustmentFailed, always}},
	"payment.adjustment_timed_out": nil,

	"payment.capture_found":    {{PaymentStatus, statusChanges}}, // somebody acted at the processor (§6.3)
	"payment.void_found":       {{PaymentStatus, statusChanges}},
	"payment.refund_found":     {{PaymentRefund, always}},
	"payment.adjustment_found": nil,

	"payment.key_claimed": nil, // makes no payment (D9)

	"dispute.opened":                {{DisputeOpened, always}, {DisputeStatus, always}},
	"dispute.changed":               {{DisputeStatus, always}},
	"dispute.noted":                 nil, // neither type nor status changed (D16)
	"dispute.rejected":              nil,
	"workflow_run.started":          nil,
	"workflow_run.skipped":          nil,
	"workflow_run.action_requested": nil,
	"workflow_run.action_succeeded": nil,
	"workflow_run.failed":           {{WorkflowRunFailed, always}},
}

// told are the aggregates that webhooks tell about, with the schema that this build can render.
var payloadSchemas = map[string]int{
	eventstore.Payments.Name:     eventstore.Payments.Schema,
	eventstore.Disputes.Name:     eventstore.Disputes.Schema,
	eventstore.WorkflowRuns.Name: eventstore.WorkflowRuns.Schema,
}

// withoutWebhooks are the aggregates that webhooks never tell about.
var withoutWebhooks = map[string]bool{
	eventstore.Sessions.Name: true, eventstore.Instruments.Name: true, eventstore.Attempts.Name: true, eventstore.Accounts.Name: true,
	eventstore.Inboxes.Name: true, eventstore.Logs.Name: true, eventstore.Workflows.Name: true,
}

// candidates gives the webhooks that an event may cause, from its headers alone. An event that this build
// does not know is an error: a newer build wrote it, and skipping it would lose its webhooks.
func candidates(r *eventstore.Recorded) ([]candidate, error) {
	if withoutWebhooks[r.Aggregate] {
		return nil, nil
	}
	schema, known := payloadSchemas[r.Aggregate]
	if !known {
		return nil, fmt.Errorf("notifier: %w: aggregate %q", eventstore.ErrUnknownEvent, r.Aggregate)
	}
	if r.Schema > schema {
		return nil, fmt.Errorf("notifier: %w: schema %d, known is %d", eventstore.ErrNewerSchema, r.Schema, schema)
	}
	row, known := kindsOf[r.Type]
	if !known {
		return nil, fmt.Errorf("notifier: %w: %q", eventstore.ErrUnknownEvent, r.Type)
	}
	return row, nil
}
