package workflow

import (
	"slices"
	"strconv"
	"time"

	"payledger/domain"
)

// The events that start a run (D19).
const (
	OnPaymentStatus = "PAYMENT.STATUS"
	OnPaymentRefund = "PAYMENT.REFUND"
	OnDisputeOpened = "DISPUTE.OPENED"
	OnDisputeStatus = "DISPUTE.STATUS"
)

// Triggers are all event types that may start a run.
var Triggers = []string{OnPaymentStatus, OnPaymentRefund, OnDisputeOpened, OnDisputeStatus}

// The types of actions (D19).
const (
	Capture     = "capture"
	Cancel      = "cancel"
	Refund      = "refund"
	HTTPRequest = "http_request"
)

// Limits of a definition (D19); sizes in bytes.
const (
	MaxActions   = 10
	MaxName      = 100
	MaxCondition = 2000
	MaxURL       = 1000
	MaxText      = 255               // reason, orderId
	MaxDelay     = 90 * 24 * 60 * 60 // seconds
	// WholeShare is a share of 1, in millionths.
	WholeShare = 1_000_000
)

// Trigger is the event that starts runs of a workflow.
type Trigger struct {
	EventType string `json:"eventType"`        // PAYMENT.STATUS or another event of webhooks
	Status    string `json:"status,omitempty"` // PAYMENT.STATUS: the new status
}

// Action is one action of a run (D19).
type Action struct {
	Type    string         `json:"type"`               // capture, cancel, refund, http_request
	Amount  *domain.Amount `json:"amount,omitempty"`   // capture, refund; none: the whole amount left
	Share   int64          `json:"sharePpm,omitempty"` // capture: millionths of the payment's amount; 0: none
	Final   *bool          `json:"final,omitempty"`    // capture; none: true
	Reason  string         `json:"reason,omitempty"`   // cancel, refund
	OrderID string         `json:"orderId,omitempty"`  // refund
	URL     string         `json:"url,omitempty"`      // http_request
}

// IsFinal reports whether the capture is final (D10).
func (a Action) IsFinal() bool { return a.Final == nil || *a.Final }

// Resolved returns the action for a payment amount: a share becomes an amount, rounded down (D19).
func (a Action) Resolved(of domain.Amount) Action {
	if a.Share != 0 {
		a.Amount, a.Share = new(of/WholeShare*domain.Amount(a.Share)+of%WholeShare*domain.Amount(a.Share)/WholeShare), 0
	}
	return a
}

// Definition is the content of a workflow's version.
type Definition struct {
	Name         string   `json:"name"`                   // the merchant's own name for the workflow
	Trigger      Trigger  `json:"trigger"`                // the event that starts runs
	Condition    string   `json:"condition"`              // CEL
	DelaySeconds int64    `json:"delaySeconds,omitempty"` // from the trigger to the first action
	Actions      []Action `json:"actions"`                // in order
}

// Delay returns the time from the trigger to the first action.
func (d Definition) Delay() time.Duration { return time.Duration(d.DelaySeconds) * time.Second }

// size returns the definition's part of MaxSize in bytes.
func (d Definition) size() int {
	n := len(d.Name) + len(d.Condition) + 64
	for _, a := range d.Actions {
		n += len(a.Reason) + len(a.OrderID) + len(a.URL) + 64
	}
	return n
}

func (d Definition) equal(o Definition) bool {
	return d.Name == o.Name && d.Trigger == o.Trigger && d.Condition == o.Condition && d.DelaySeconds == o.DelaySeconds &&
		slices.EqualFunc(d.Actions, o.Actions, Action.equal)
}

func (a Action) equal(o Action) bool {
	return a.Type == o.Type && same(a.Amount, o.Amount) && a.Share == o.Share && a.IsFinal() == o.IsFinal() &&
		a.Reason == o.Reason && a.OrderID == o.OrderID && a.URL == o.URL
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// Faults returns the violations of a definition (D19). It does not check the condition and the
// hosts of URLs.
func (d Definition) Faults() []domain.Violation {
	var found []domain.Violation
	check := func(wrong bool, path, description string) {
		if wrong {
			found = append(found, domain.Violation{Path: path, Description: description})
		}
	}
	check(d.Name == "" || len(d.Name) > MaxName, "$.name", "must have 1 to "+strconv.Itoa(MaxName)+" bytes")
	check(!slices.Contains(Triggers, d.Trigger.EventType), "$.trigger.eventType", "is not an event type that starts a workflow")
	onStatus := d.Trigger.EventType == OnPaymentStatus
	check(onStatus && !slices.Contains(domain.Enum("paymentStatus"), d.Trigger.Status), "$.trigger.status", "must be a payment status")
	check(!onStatus && d.Trigger.Status != "", "$.trigger.status", "goes with PAYMENT.STATUS only")
	check(d.Condition == "" || len(d.Condition) > MaxCondition, "$.condition", "must have 1 to "+strconv.Itoa(MaxCondition)+" bytes")
	check(d.DelaySeconds < 0 || d.DelaySeconds > MaxDelay, "$.delaySeconds", "must be between 0 and "+strconv.Itoa(MaxDelay))
	check(len(d.Actions) == 0 || len(d.Actions) > MaxActions, "$.actions", "must have 1 to "+strconv.Itoa(MaxActions)+" elements")
	for i, a := range d.Actions[:min(len(d.Actions), MaxActions)] { // too many are refused without a look at the rest (D22.14)
		for _, f := range a.faults() {
			check(true, "$.actions["+strconv.Itoa(i)+"]."+f.Path, f.Description)
		}
	}
	return found
}

// faults returns the violations of an action, with the field's name as the path.
func (a Action) faults() []domain.Violation {
	var found []domain.Violation
	only := func(there bool, field string, types ...string) {
		if there && !slices.Contains(types, a.Type) {
			found = append(found, domain.Violation{Path: field, Description: "must be absent for this type of action"})
		}
	}
	check := func(wrong bool, field, description string) {
		if wrong {
			found = append(found, domain.Violation{Path: field, Description: description})
		}
	}
	if !slices.Contains([]string{Capture, Cancel, Refund, HTTPRequest}, a.Type) {
		return []domain.Violation{{Path: "type", Description: "must be one of capture, cancel, refund, http_request"}}
	}
	only(a.Amount != nil, "amount", Capture, Refund)
	only(a.Share != 0, "share", Capture)
	only(a.Final != nil, "final", Capture)
	only(a.Reason != "", "reason", Cancel, Refund)
	only(a.OrderID != "", "orderId", Refund)
	only(a.URL != "", "url", HTTPRequest)
	check(a.Amount != nil && (*a.Amount < 1 || *a.Amount > domain.MaxAmount), "amount", "must be at least 1")
	check(a.Share < 0 || a.Share > WholeShare, "share", "must be above 0 and at most 1")
	check(a.Amount != nil && a.Share != 0, "share", "must not be sent together with amount")
	check(len(a.Reason) > 4*MaxText, "reason", "is too long")
	check(len(a.OrderID) > 4*MaxText, "orderId", "is too long")
	check(a.Type == HTTPRequest && a.URL == "", "url", "is required")
	check(len(a.URL) > MaxURL, "url", "is too long")
	return found
}
