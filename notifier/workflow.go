package notifier

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"

	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/eventstore/workflows"
	conditions "payledger/eventstore/workflows/condition"
	"payledger/notifier/delivery"
	"payledger/notifier/payload"
	"payledger/notifier/sender"
	"payledger/projections/paymentjson"
)

// Workflows are the ports that workflows have to webhooks: which events start them is told by the same table, what
// their conditions see is what webhooks show, and their requests go through the same guard (D19).
type Workflows struct{ notifier *Notifier }

// Workflows gives the ports; requests are sent while the notifier runs.
func (n *Notifier) Workflows() Workflows { return Workflows{n} }

// eventVariable is the variable event of conditions (D19).
type eventVariable struct {
	Type     string `json:"type"`
	Sequence uint64 `json:"sequence"`
}

// Compilers prepare for conditions: of workflows that payments' events start, over the Payment JSON (D6, D19), and of
// those that disputes' events start, which see the dispute beside its payment.
func Compilers() (ofPayments, ofDisputes *conditions.Compiler, err error) {
	variables := map[string]reflect.Type{"payment": reflect.TypeFor[paymentjson.Payment](), "event": reflect.TypeFor[eventVariable]()}
	personal := []string{"payment.customer", "payment.paymentMethod.paymentMethodData.cardholderName"}
	ofPayments, err = conditions.NewCompiler(conditions.Config{Variables: variables, Personal: personal})
	if err == nil {
		variables["dispute"] = reflect.TypeFor[payload.Dispute]()
		ofDisputes, err = conditions.NewCompiler(conditions.Config{Variables: variables, Personal: personal})
	}
	return ofPayments, ofDisputes, err
}

// first6 tells whether the account opted in to first6Digits (§2.2).
func (w Workflows) first6(id domain.AccountID) bool {
	merchant, known := w.notifier.views.Account(id)
	return known && merchant.Settings.First6Digits
}

// runRequest is the body of a workflow's HTTP request (D19).
type runRequest struct {
	EventType string              `json:"eventType"`
	EventID   string              `json:"eventId"`
	Sequence  uint64              `json:"sequence"`
	Date      paymentjson.Time    `json:"date"`
	Workflow  workflow.Ref        `json:"workflow"`
	Run       requestingRun       `json:"run"`
	Payment   paymentjson.Payment `json:"payment"`           // as PAYMENT.STATUS has it
	Dispute   *payload.Dispute    `json:"dispute,omitempty"` // as DISPUTE.STATUS has it; of a dispute's event
}

type requestingRun struct {
	ID        domain.RunID     `json:"id"`
	Timestamp paymentjson.Time `json:"timestamp"`
	ActionID  string           `json:"actionId"`
}

// Send posts what a run tells about its trigger: the payment, and the dispute if it is about one, in the state at the
// event, with what is left of the personal data now.
func (w Workflows) Send(ctx context.Context, q workflows.Request) (workflows.Response, error) {
	if err := w.notifier.views.WaitFor(ctx, q.Trigger.Shard, q.Trigger.Seq); err != nil {
		return workflows.Response{}, err // as webhooks do, so that GET shows it (D17)
	}
	about, err := w.subjectOf(ctx, q.Trigger)
	if err != nil {
		return workflows.Response{}, err
	}
	opened, err := w.notifier.vault.Open(ctx, about.payment.Details().Personal)
	if err != nil {
		return workflows.Response{}, fmt.Errorf("notifier: personal data of %s: %w", q.Trigger.Key, err)
	}
	step := q.Run.Steps[q.Step]
	body, err := json.Marshal(runRequest{
		EventType: q.Run.Trigger.EventType, EventID: q.Run.Trigger.EventID, Sequence: q.Run.Trigger.Sequence,
		Date: paymentjson.Time{Time: q.Run.Trigger.At}, Workflow: q.Run.Workflow,
		Run:     requestingRun{ID: q.Run.ID, Timestamp: paymentjson.Time{Time: q.Run.StartedAt}, ActionID: step.ID},
		Payment: paymentjson.Render(about.payment, opened, paymentjson.Options{Webhook: true, First6Digits: w.first6(q.Run.Account)}),
		Dispute: about.dispute,
	})
	if err != nil {
		return workflows.Response{}, fmt.Errorf("notifier: request of run %s: %w", q.Run.ID, err)
	}
	// The request is guarded and limited like a webhook, but not signed: a signature marks our webhooks (D19).
	a, err := w.notifier.sender.Attempt(ctx, sender.Message{URL: step.Action.URL, Body: sender.Fixed(body), IdempotencyKey: q.Run.Diagnostics(q.Step)})
	if err != nil {
		return workflows.Response{}, err
	}
	return workflows.Response{StatusCode: a.StatusCode, Failure: failureText(a)}, nil
}

// failureText says why a request failed, in words for the merchant; "" for one that did not.
func failureText(a delivery.Attempt) string {
	switch a.Failure {
	case "":
		return ""
	case delivery.FailureStatus:
		return "The receiver answered " + strconv.Itoa(a.StatusCode) + " " + http.StatusText(a.StatusCode) + "."
	case delivery.FailureTimeout:
		return "The receiver did not answer in time."
	case delivery.FailureAddress:
		return "Requests do not go to that address."
	default:
		return "The request did not reach the receiver: " + string(a.Failure) + "."
	}
}
