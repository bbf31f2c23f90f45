package webhook

import (
	"maps"
	"slices"
	"strings"

	"payledger/domain/payment"
	"payledger/domain/processor"
)

// Kind is the eventType of a webhook (§6.2).
type Kind string

// Kinds about payments (§6.2).
const (
	PaymentStatus      Kind = "PAYMENT.STATUS" // the status changed, or a wait began (D17)
	PaymentRefund      Kind = "PAYMENT.REFUND" // a refund reached its final state
	CaptureFailed      Kind = "PAYMENT.CAPTURE.FAILED"
	RefundFailed       Kind = "PAYMENT.REFUND.FAILED"
	CancellationFailed Kind = "PAYMENT.CANCELLATION.FAILED"
	AdjustmentFailed   Kind = "PAYMENT.AUTHORIZATION_ADJUSTMENT.FAILED"
)

// Kinds about disputes (§6.2).
const (
	DisputeOpened Kind = "DISPUTE.OPENED" // the processor's first notification, of any type (D16)
	DisputeStatus Kind = "DISPUTE.STATUS" // with DISPUTE.OPENED, and on each change of type or status
)

// WorkflowRunFailed means that a run of a workflow failed (§6.5).
const WorkflowRunFailed Kind = "WORKFLOW_RUN.FAILED"

// versions maps each kind to its payload version (§9, D17).
var versions = map[Kind]string{
	PaymentStatus: "2.1", PaymentRefund: "2.1",
	CaptureFailed: "2.4", RefundFailed: "2.4", CancellationFailed: "2.4", AdjustmentFailed: "2.4",
	DisputeOpened: "2.1", DisputeStatus: "2.4",
	WorkflowRunFailed: "1.0",
}

// Kinds returns all kinds in alphabetical order.
func Kinds() []Kind { return slices.Sorted(maps.Keys(versions)) }

// Version returns the version of the kind's payload.
func (k Kind) Version() string { return versions[k] }

// Token returns the kind with "-" for ".", so that the kind is one token of a subject.
func (k Kind) Token() string { return strings.ReplaceAll(string(k), ".", "-") }

// Condition is a condition besides the event's type. It depends on the log alone: planning an event
// again gives the same webhooks.
type Condition int

const (
	Always        Condition = iota
	StatusChanges           // the status after the event differs from the status before it
	WaitBegins              // the payment is PENDING and waits for its processor or its customer (D17)
	ActionAppears           // a failed void reveals the customer's action that it had hidden (D7)
)

// Holds reports whether the condition is true for an event of a payment, with the status before and
// the state after the event, which has its past if the condition needs it.
func (c Condition) Holds(before payment.Status, after payment.State) bool {
	switch c {
	case StatusChanges:
		return before != after.Status()
	case WaitBegins:
		return after.Status() == payment.StatusPending && (after.Waiting() || after.RequiredAction() != nil)
	case ActionAppears:
		return actionAppears(after)
	}
	return true
}

// NeedsPast reports whether Holds reads operations that may have left the payment's state
// (payment.State.HasPast).
func (c Condition) NeedsPast() bool { return c == ActionAppears }

// actionAppears reports whether the failed void has hidden the customer's action: an answer
// requested the void, or the action was required while the void was pending, for the first time or
// again after a completion that failed. If the void was requested later, an earlier webhook has
// shown the action.
func actionAppears(s payment.State) bool {
	action, last := s.RequiredAction(), s.NewestRequest()
	if action == nil || last.Kind != processor.Void {
		return false
	}
	required := action.RequiredAt
	authorization, _ := s.Operation(action.Revision)
	for _, answer := range authorization.Answers {
		if answer.State == payment.StateAction {
			required = answer.At
		}
	}
	return s.FollowsAnswer(last) || !last.RequestedAt.After(required)
}

// Candidate is a webhook that an event causes if the condition holds.
type Candidate struct {
	Kind Kind
	When Condition
}

// Candidates returns the webhooks that events of a type may cause. It reports false for an unknown
// type.
func Candidates(eventType string) (row []Candidate, known bool) {
	row, known = candidates[eventType]
	return row, known
}

// candidates has a row for each event type of payments, disputes and workflow runs (§6.2, D17).
// PAYMENT.STATUS has conditions: a second partial capture changes no status, and neither does a
// late answer to an authorization that already has its result.
var candidates = map[string][]Candidate{
	"payment.created":                 nil, // the request's answer shows PENDING
	"payment.authorized":              {{PaymentStatus, StatusChanges}},
	"payment.declined":                {{PaymentStatus, StatusChanges}},
	"payment.authorization_failed":    {{PaymentStatus, StatusChanges}},
	"payment.authorization_pending":   {{PaymentStatus, WaitBegins}},
	"payment.authorization_timed_out": nil, // the status stays; the outcome follows
	"payment.authorization_rerouted":  nil, // the next processor follows at once

	"payment.action_required":      {{PaymentStatus, WaitBegins}}, // none if a cancellation is intended (D7)
	"payment.resumed":              nil,
	"payment.completion_failed":    {{PaymentStatus, WaitBegins}}, // the customer must act again
	"payment.completion_timed_out": nil,

	"payment.capture_requested": nil,
	"payment.capture_refused":   {{CaptureFailed, Always}},
	"payment.captured":          {{PaymentStatus, StatusChanges}},
	"payment.capture_pending":   {{PaymentStatus, StatusChanges}},
	"payment.capture_failed":    {{PaymentStatus, StatusChanges}, {CaptureFailed, Always}}, // SETTLING ends
	"payment.capture_timed_out": nil,

	"payment.cancellation_intended": nil,
	"payment.void_requested":        nil,
	"payment.voided":                {{PaymentStatus, StatusChanges}},
	"payment.void_pending":          nil,
	"payment.void_failed":           {{PaymentStatus, ActionAppears}, {CancellationFailed, Always}},
	"payment.void_timed_out":        nil,

	"payment.refund_requested": nil,
	"payment.refund_refused":   {{RefundFailed, Always}}, // there is no refund, so no PAYMENT.REFUND (D7)
	"payment.refunded":         {{PaymentRefund, Always}},
	"payment.refund_pending":   nil,
	"payment.refund_failed":    {{PaymentRefund, Always}, {RefundFailed, Always}},
	"payment.refund_timed_out": nil,

	"payment.adjustment_requested": nil,
	"payment.adjustment_unneeded":  nil,
	"payment.adjusted":             {{PaymentStatus, StatusChanges}}, // a late one, after captures
	"payment.adjustment_pending":   nil,
	"payment.adjustment_failed":    {{AdjustmentFailed, Always}},
	"payment.adjustment_timed_out": nil,

	"payment.capture_found":    {{PaymentStatus, StatusChanges}}, // an out-of-band operation at the processor (§6.3)
	"payment.void_found":       {{PaymentStatus, StatusChanges}},
	"payment.refund_found":     {{PaymentRefund, Always}},
	"payment.adjustment_found": {{PaymentStatus, StatusChanges}}, // all of the new total may be captured

	"payment.key_claimed": nil, // it creates no payment (D9)

	"dispute.opened":                {{DisputeOpened, Always}, {DisputeStatus, Always}},
	"dispute.changed":               {{DisputeStatus, Always}},
	"dispute.noted":                 nil, // neither type nor status changed (D16)
	"dispute.rejected":              nil,
	"workflow_run.started":          nil,
	"workflow_run.skipped":          nil,
	"workflow_run.action_requested": nil,
	"workflow_run.action_succeeded": nil,
	"workflow_run.failed":           {{WorkflowRunFailed, Always}},
}
