package notifier

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/dispute"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/commands/workflows"
	conditions "payledger/eventstore/commands/workflows/condition"
	"payledger/eventstore/format"
	"payledger/notifier/delivery"
	"payledger/notifier/message"
	"payledger/notifier/payload"
	"payledger/notifier/sender"
	"payledger/projections/paymentjson"
)

// Workflows implements the ports of package workflows with the members of webhooks and their guard
// (D19).
type Workflows struct{ notifier *Notifier }

// Workflows returns the ports. Requests are sent only while the notifier runs.
func (n *Notifier) Workflows() Workflows { return Workflows{n} }

// eventVariable is the type of the variable event in conditions (D19).
type eventVariable struct {
	Type     string `json:"type"`
	Sequence uint64 `json:"sequence"`
}

// Compilers returns two compilers of conditions: ofPayments for workflows with a trigger of
// payments, over the Payment JSON (D6, D19), and ofDisputes for workflows with a trigger of
// disputes, over the dispute and its payment.
func Compilers() (ofPayments, ofDisputes *conditions.Compiler, err error) {
	variables := map[string]reflect.Type{"payment": reflect.TypeFor[paymentjson.Payment](), "event": reflect.TypeFor[eventVariable]()}
	personal := []string{"payment.customer", "payment.paymentMethod.paymentMethodData.cardholderName"}
	ofPayments, err = conditions.NewCompiler(variables, personal)
	if err == nil {
		variables["dispute"] = reflect.TypeFor[payload.Dispute]()
		ofDisputes, err = conditions.NewCompiler(variables, personal)
	}
	return ofPayments, ofDisputes, err
}

// first6 reports whether the account opted in to first6Digits (§2.2).
func (w Workflows) first6(id domain.AccountID) bool { return w.settings(id).First6Digits }

func (w Workflows) settings(id domain.AccountID) account.Settings {
	merchant, _ := w.notifier.Views.Account(id)
	return merchant.Settings
}

// runRequest is the body of a workflow's HTTP request (D19).
type runRequest struct {
	EventType string              `json:"eventType"`
	EventID   string              `json:"eventId"`
	Sequence  uint64              `json:"sequence"`
	Date      paymentjson.Time    `json:"date"`
	Workflow  workflow.Ref        `json:"workflow"`
	Run       requestingRun       `json:"run"`
	Payment   paymentjson.Payment `json:"payment"`           // as in PAYMENT.STATUS
	Dispute   *payload.Dispute    `json:"dispute,omitempty"` // as in DISPUTE.STATUS; nil: the event is a payment's
}

type requestingRun struct {
	ID        domain.RunID     `json:"id"`
	Timestamp paymentjson.Time `json:"timestamp"`
	ActionID  string           `json:"actionId"`
}

// Send posts the request of a run, with the state at the event. Personal data that was erased since
// is missing.
func (w Workflows) Send(ctx context.Context, q workflows.Request) (workflows.Response, error) {
	if err := w.notifier.Views.Shown(ctx, q.Trigger.Aggregate, q.Trigger.Shard, q.Trigger.Seq); err != nil {
		return workflows.Response{}, err // so that GET shows the event before the request arrives, as with webhooks (D17)
	}
	about, err := w.subjectOf(ctx, q.Trigger)
	if err != nil {
		return workflows.Response{}, err
	}
	a, err := w.notifier.send(ctx, ctx, func(ctx context.Context) (sender.Message, error) { return w.compose(ctx, q, about) })
	if err != nil {
		return workflows.Response{}, err
	}
	return workflows.Response{StatusCode: a.StatusCode, Failure: failureText(a)}, nil
}

// compose returns the request of a run. It is guarded and limited like a webhook, but not signed: a
// signature marks a body as a webhook (D19).
func (w Workflows) compose(ctx context.Context, q workflows.Request, about subject) (sender.Message, error) {
	vault, sealed := w.notifier.Secrets, about.payment.Details().Personal
	moment := vault.Moment() // before the data is opened
	opened, err := vault.Open(ctx, sealed)
	if err != nil {
		return sender.Message{}, fmt.Errorf("notifier: personal data of %s: %w", q.Trigger.Key, err)
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
		return sender.Message{}, fmt.Errorf("notifier: request of run %s: %w", q.Run.ID, err)
	}
	return sender.Message{URL: step.Action.URL, Body: sender.Fixed(body), IdempotencyKey: q.Run.Diagnostics(q.Step), Fresh: func() error {
		if vault.ErasedSince(moment, sealed) {
			return message.ErrErased
		}
		return nil
	}}, nil
}

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

// Subject returns the payment of an event and the variables of conditions. A dispute is as in
// DISPUTE.STATUS (§6.4, D19).
func (w Workflows) Subject(ctx context.Context, r *eventstore.Recorded, eventType string, personal bool) (workflows.Subject, error) {
	about, err := w.subjectOf(ctx, r)
	if err != nil {
		return workflows.Subject{}, err
	}
	var opened domain.Personal
	if personal {
		if opened, err = w.notifier.Secrets.Open(ctx, about.payment.Details().Personal); err != nil {
			return workflows.Subject{}, fmt.Errorf("notifier: personal data of %s: %w", about.payment.ID, err)
		}
	}
	values := conditions.Values{
		"payment": func() any {
			return paymentjson.Render(about.payment, opened, paymentjson.Options{First6Digits: w.first6(r.Account)})
		},
		"event": eventVariable{eventType, r.Revision},
	}
	if about.dispute != nil {
		values["dispute"] = func() any { return *about.dispute }
	}
	subject := workflows.Subject{Payment: about.payment, Values: values}
	if about.beside != nil && w.settings(r.Account).RefuseRefundOfDisputed {
		subject.Disputed = process.Forbids([]dispute.State{*about.beside})
	}
	return subject, nil
}

type subject struct {
	payment payment.State
	dispute *payload.Dispute // nil: the event is a payment's
	beside  *dispute.State   // the dispute, if it is open or lost after the event (D22.2)
}

func (w Workflows) subjectOf(ctx context.Context, r *eventstore.Recorded) (m subject, err error) {
	store := w.notifier.Store
	switch r.Aggregate {
	case eventstore.Payments.Name:
		m.payment, err = eventstore.StateAt(ctx, store, eventstore.Payments, r)
		return m, err
	case eventstore.Disputes.Name:
		s, err := eventstore.StateAt(ctx, store, eventstore.Disputes, r)
		if err != nil {
			return m, err
		}
		payload, err := payload.NewDispute(r, s)
		if err != nil {
			return m, err
		}
		if m.dispute = &payload; s.BesideRefund() {
			m.beside = &s
		}
		m.payment, err = w.disputed(ctx, r, s)
		return m, err
	default:
		return m, fmt.Errorf("notifier: %w: %s starts no workflow", format.ErrUnknownEvent, r.Type)
	}
}

// disputed returns a dispute's payment in the state at the time of the dispute's event r. The
// clocks of two nodes may differ: if the payment does not exist yet at that time, disputed returns
// its newest state.
func (w Workflows) disputed(ctx context.Context, r *eventstore.Recorded, s dispute.State) (payment.State, error) {
	store, key := w.notifier.Store, eventstore.Payments.Key(s.Account, string(s.Subject.Payment))
	tip, err := eventstore.Load(ctx, store, eventstore.Payments, key, eventstore.Latest)
	if err != nil {
		return payment.State{}, err
	}
	if tip.Recorded == nil {
		return payment.State{}, fmt.Errorf("notifier: %w: %s is about %s, which does not exist", eventstore.ErrUnhealthy, r.Key, key)
	}
	at, err := eventstore.AsOf(ctx, store, eventstore.Payments, tip.Recorded, r.Time)
	if err != nil || at.Exists() {
		return at, err
	}
	return tip.State, nil
}
