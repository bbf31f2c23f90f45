package history

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/webhook"
	"payledger/eventstore"
)

// The parts that an entry has if they are requested.
const (
	ExpandWebhooks  = "webhooks"
	ExpandProcessor = "processor"
	ExpandRouting   = "routing"
	ExpandWorkflow  = "workflow"
)

// Expansions are all parts that can be requested.
var Expansions = []string{ExpandWebhooks, ExpandProcessor, ExpandRouting, ExpandWorkflow}

// Beside are the requested parts of an entry. A part that does not apply to the event is absent.
type Beside struct {
	Webhooks []Webhook `json:"webhooks,omitempty"` // that the event caused
	// NoEndpoint has the kinds of webhooks that the event would have caused: no endpoint was
	// subscribed to them.
	NoEndpoint []webhook.Kind `json:"noEndpoint,omitempty"`
	Processor  []Call         `json:"processor,omitempty"` // calls that the event requested or answered
	Routing    *Route         `json:"routing,omitempty"`   // if the event chose a processor
	Workflow   *Cause         `json:"workflow,omitempty"`  // if a workflow's action led to the event
}

// Call is a call of a processor.
type Call struct {
	Step       CallStep            `json:"step"`
	Operation  processor.Kind      `json:"operation"`
	Key        domain.OperationKey `json:"idempotencyKey"` // D14.2
	Processor  processor.Name      `json:"processor"`
	MerchantID string              `json:"processorMerchantId"`
	Amount     domain.Amount       `json:"amount"` // minor units of the payment's currency
	Answer     *CallAnswer         `json:"answer,omitempty"`
}

// CallStep is the step of a call that an event records.
type CallStep string

const (
	CallRequested  CallStep = "REQUESTED" // the call follows the event
	CallAnswered   CallStep = "ANSWERED"  // Answer has the answer
	CallUnanswered CallStep = "NO_ANSWER" // the payment timeout passed (D8)
)

// CallAnswer is a processor's answer, which came directly, after a look-up or in a notification.
type CallAnswer struct {
	TransactionID     string `json:"processorTransactionId,omitempty"`
	ProcessorEventID  string `json:"processorEventId,omitempty"`
	Code              string `json:"code,omitempty"`
	Message           string `json:"message,omitempty"`
	AuthorizationCode string `json:"authorizationCode,omitempty"`
	Raw               *Raw   `json:"raw,omitempty"` // absent for an answer in a notification; the entry before has the notification
}

// Raw is the recorded body of an answer, without card data and tokens.
type Raw struct {
	Body       string `json:"body"`                 // the fields of the protocol
	Additional string `json:"additional,omitempty"` // the other fields, until the payment's personal data is erased
	Redacted   bool   `json:"redacted,omitempty"`   // something was removed
	Cut        bool   `json:"cut,omitempty"`        // the rest of a longer body was removed
}

// Route has the merchant accounts that were candidates, in order, and the chosen one (D15).
type Route struct {
	Candidates []payment.Target `json:"candidates"` // the merchant accounts that had not been tried
	Chosen     payment.Target   `json:"chosen"`
}

// Cause is the workflow's action that led to an event (D19).
type Cause struct {
	ID      domain.WorkflowID `json:"id"`
	Name    string            `json:"name"`
	Version int64             `json:"version"` // of the definition that the run uses
	RunID   domain.RunID      `json:"runId"`
	Action  string            `json:"actionId"`
	Trigger Trigger           `json:"trigger"`
}

// Trigger is the event that started a run.
type Trigger struct {
	EventType string `json:"eventType"` // PAYMENT.STATUS, …
	EventID   string `json:"eventId"`
}

// beside returns the requested parts of an event. generic is the decoded event, and r.state is the
// state after the event.
func (r *replay) beside(ctx context.Context, e *eventstore.Recorded, fact payment.Event, generic map[string]any) (b Beside, err error) {
	if slices.Contains(r.expand, ExpandProcessor) {
		if b.Processor, err = r.calls(ctx, e.Revision, generic); err != nil {
			return b, err
		}
	}
	if slices.Contains(r.expand, ExpandRouting) {
		b.Routing = routing(r.state.Route, fact)
	}
	if slices.Contains(r.expand, ExpandWorkflow) {
		if b.Workflow, err = r.actors.cause(ctx, e.CorrelationID); err != nil {
			return b, err
		}
	}
	if slices.Contains(r.expand, ExpandWebhooks) && r.Deliveries != nil {
		err = r.webhooks(ctx, e, &b)
	}
	return b, err
}

func (r *replay) calls(ctx context.Context, revision uint64, generic map[string]any) (all []Call, err error) {
	s := r.state
	text, err := json.Marshal(generic)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	var answered struct {
		Request uint64 `json:"request"` // 0: the event is about no call
		EventID string `json:"transactionEventId"`
		CallAnswer
		Raw *processor.RawAnswer `json:"rawAnswer"`
	}
	if err := json.Unmarshal(text, &answered); err != nil {
		return nil, fmt.Errorf("history: the answer in event %d: %w", revision, err)
	}
	if op, found := s.Operation(answered.Request); found {
		call := callOf(s, op, CallUnanswered)
		if answered.EventID != "" {
			call.Step, call.Answer = CallAnswered, &answered.CallAnswer
			if call.Answer.Raw, err = r.raw(ctx, answered.Raw); err != nil {
				return nil, err
			}
		}
		all = append(all, call)
	}
	if op, found := s.Operation(revision); found && !op.Refused && op.OutOfBandID == "" {
		all = append(all, callOf(s, op, CallRequested))
	}
	return all, nil
}

func (r *replay) raw(ctx context.Context, recorded *processor.RawAnswer) (*Raw, error) {
	if recorded == nil {
		return nil, nil
	}
	additional, err := r.Secrets.OpenText(ctx, recorded.Sealed)
	if err != nil {
		return nil, fmt.Errorf("history: additional fields of an answer: %w", err)
	}
	return &Raw{Body: recorded.Body, Additional: additional, Redacted: recorded.Redacted, Cut: recorded.Cut}, nil
}

func callOf(s payment.State, op payment.Operation, step CallStep) Call {
	return Call{
		Step: step, Operation: op.Kind, Key: s.OperationKey(op.Revision), Processor: op.Target.Processor,
		MerchantID: op.Target.MerchantID, Amount: op.Amount,
	}
}

// routing returns the choice of a processor by an event; nil if the event made no choice.
func routing(route []payment.Target, fact payment.Event) *Route {
	var chosen payment.Target
	switch e := fact.(type) {
	case payment.Created:
		if len(route) == 0 {
			return nil
		}
		chosen = route[0]
	case payment.AuthorizationRerouted:
		chosen = e.To
	default:
		return nil
	}
	left := max(0, slices.Index(route, chosen))
	return &Route{Candidates: route[left:], Chosen: chosen}
}

func (a *actors) cause(ctx context.Context, correlationID string) (*Cause, error) {
	run, err := a.run(ctx, correlationID)
	if err != nil || !run.Exists() {
		return nil, err
	}
	c := &Cause{
		ID: run.Workflow.ID, Name: run.Workflow.Name, Version: run.Workflow.Version, RunID: run.ID,
		Trigger: Trigger{EventType: run.Trigger.EventType, EventID: run.Trigger.EventID},
	}
	for i, step := range run.Steps {
		if run.Diagnostics(i) == correlationID {
			c.Action = step.ID
		}
	}
	return c, nil
}
