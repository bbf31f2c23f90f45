package workflowpages

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/workflow"
	"payledger/httpapi/dashboard/frame"
)

type trigger struct {
	workflow.Trigger
	Text string // "A payment becomes authorized"
}

// Value is the value of the trigger in the form.
func (t trigger) Value() string {
	return strings.TrimSpace(t.EventType + " " + t.Status)
}

// statuses are all statuses of a payment that a trigger may name, in the order of its life (§3.1).
var statuses = []payment.Status{
	payment.StatusAuthorized, payment.StatusSettling, payment.StatusPartiallySettled, payment.StatusSettled, payment.StatusPending,
	payment.StatusDeclined, payment.StatusFailed, payment.StatusCancelled,
}

var statusTexts = map[payment.Status]string{
	payment.StatusPending: "A payment waits for its customer or processor", payment.StatusAuthorized: "A payment becomes authorized",
	payment.StatusSettling: "A capture begins: the payment is settling", payment.StatusPartiallySettled: "A payment becomes partially settled",
	payment.StatusSettled: "A payment becomes settled", payment.StatusDeclined: "A payment is declined", payment.StatusFailed: "A payment fails",
	payment.StatusCancelled: "A payment is cancelled",
}

func triggers() (all []trigger) {
	for _, s := range statuses {
		t := workflow.Trigger{EventType: workflow.OnPaymentStatus, Status: string(s)}
		all = append(all, trigger{t, triggerText(t)})
	}
	for _, kind := range []string{workflow.OnPaymentRefund, workflow.OnDisputeOpened, workflow.OnDisputeStatus} {
		t := workflow.Trigger{EventType: kind}
		all = append(all, trigger{t, triggerText(t)})
	}
	return all
}

func triggerText(t workflow.Trigger) string {
	switch t.EventType {
	case workflow.OnPaymentStatus:
		if text := statusTexts[payment.Status(t.Status)]; text != "" {
			return text
		}
		return "A payment gets the status " + t.Status
	case workflow.OnPaymentRefund:
		return "A refund ends"
	case workflow.OnDisputeOpened:
		return "A dispute is opened"
	case workflow.OnDisputeStatus:
		return "A dispute changes its stage or status"
	default:
		return t.EventType
	}
}

// When says when the workflow starts.
func (d definition) When() string { return triggerText(d.Trigger) }

// always is the condition that holds for every event. The editor shows it as an empty field, so
// that a typed condition does not run into it.
const always = "true"

// Always reports whether the condition holds for every event.
func (d definition) Always() bool { return strings.TrimSpace(d.Condition) == always }

// Delay returns the time between the event and the first action; "" for none.
func (d definition) Delay() string {
	if d.DelaySeconds == 0 {
		return ""
	}
	n, unit := inUnits(d.DelaySeconds)
	return strconv.FormatInt(n, 10) + " " + strings.TrimSuffix(unit, "s") + map[bool]string{true: "s"}[n != 1]
}

// units are the units of a delay, in seconds, the largest first.
var units = []struct {
	Name    string
	Seconds int64
}{{"days", 86400}, {"hours", 3600}, {"minutes", 60}, {"seconds", 1}}

func inUnits(seconds int64) (int64, string) {
	if seconds == 0 {
		return 0, "minutes"
	}
	for _, u := range units {
		if seconds%u.Seconds == 0 {
			return seconds / u.Seconds, u.Name
		}
	}
	return seconds, "seconds"
}

// Steps returns the effects of the actions, for people.
func (d definition) Steps() (all []string) {
	for _, a := range d.Actions {
		all = append(all, a.text(unitOf(d.Condition)))
	}
	return all
}

// Text returns the effect of an action of a run.
func (s step) Text() string { return s.text(s.Currency) }

// text returns the effect of the action, for people. unit is the currency of its payments; "": any.
func (a action) text(unit domain.Currency) string {
	switch a.Type {
	case workflow.Capture:
		text := "Capture " + a.howMuch(unit, "all that is left to capture")
		if a.Final != nil && !*a.Final {
			return text + ". Further captures may follow."
		}
		return text + ". This is the last capture: the rest of the hold is released."
	case workflow.Cancel:
		return "Cancel the payment: release the hold" + because(a.Reason) + "."
	case workflow.Refund:
		text := "Refund " + a.howMuch(unit, "all that can be refunded") + because(a.Reason)
		if a.OrderID != "" {
			text += ", with your reference " + a.OrderID
		}
		return text + "."
	case workflow.HTTPRequest:
		return "Send the event and the payment to " + a.URL + "."
	default:
		return a.Type
	}
}

func (a action) howMuch(unit domain.Currency, rest string) string {
	switch {
	case a.Share == nil && a.Amount != nil && unit != "":
		return frame.Money(domain.Amount(*a.Amount), unit)
	case a.Share != nil:
		return percent(*a.Share) + "% of the payment's amount"
	case a.Amount != nil:
		return frame.Number(*a.Amount) + " minor units"
	default:
		return rest
	}
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return fmt.Sprintf(", with the reason “%s”", reason)
}

func percent(share float64) string {
	text := strings.TrimRight(strconv.FormatFloat(share*100, 'f', 4, 64), "0")
	return strings.TrimSuffix(text, ".")
}

var runTexts = map[string]string{
	"SKIPPED": "The condition did not hold", "WAITING": "Waits for its time", "RUNNING": "Actions are under way", "SUCCEEDED": "All actions are done",
	"FAILED": "An action failed",
}

// causedBy begins the reason of a run that was skipped because another run caused its event.
const causedBy = "the event was caused by run "

// Means returns the meaning of the run's status.
func (r run) Means() string {
	switch why := r.Condition.Error; {
	case r.Status != "SKIPPED" || why == "":
	case strings.HasPrefix(why, causedBy) && strings.HasSuffix(why, " of this workflow"):
		return "This workflow itself caused the event, so it does not run again"
	case strings.HasPrefix(why, causedBy):
		return "Workflows had started each other too often"
	default:
		return "The condition could not be evaluated"
	}
	return runTexts[r.Status]
}

// FailedAction names the action that failed: "Action 1, Capture,".
func (r run) FailedAction() string {
	if r.LastError == nil {
		return ""
	}
	place, kind, _ := strings.Cut(r.LastError.ActionID, "-")
	return "Action " + place + ", " + actionName(kind) + ","
}

func same(a, b definition) bool {
	for _, d := range []*definition{&a, &b} {
		d.Actions = slices.Clone(d.Actions)
		for n := range d.Actions {
			if f := d.Actions[n].Final; f != nil && *f {
				d.Actions[n].Final = nil // the default
			}
		}
	}
	return reflect.DeepEqual(a, b)
}
