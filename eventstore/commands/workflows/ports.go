package workflows

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/workflows/condition"
	"payledger/eventstore/due"
)

// Subjects reads events.
type Subjects interface {
	// Subject returns the subject of the event. Personal data is opened only if personal is set.
	Subject(ctx context.Context, r *eventstore.Recorded, eventType string, personal bool) (Subject, error)
}

// Subject has the payment in the state at the event, and the values for conditions. Disputed is the
// event's dispute, if the account refuses refunds beside it (D22.2).
type Subject struct {
	Payment  payment.State
	Disputed []payment.Disputed
	Values   condition.Values
}

// Payments runs the operations of actions, once for each key.
type Payments interface {
	RunWorkflowOperation(ctx context.Context, by commands.Caller, id domain.PaymentID, a workflow.Action, key string) (payments.Outcome, error)
}

// Requests sends the HTTP requests of actions.
type Requests interface {
	// Send posts the request once. After an error, which is payledger's own and not the receiver's,
	// the call is repeated.
	Send(ctx context.Context, r Request) (Response, error)
}

// Request is the HTTP request of an action.
type Request struct {
	Run     workflow.RunState
	Step    int
	Trigger *eventstore.Recorded
}

// Response is the response to a request.
type Response struct {
	StatusCode int    // 0: no answer arrived
	Failure    string // the reason, for the merchant; "" is success
}

// OpenRun is a run that has not ended.
type OpenRun struct {
	Account  domain.AccountID
	ID       domain.RunID
	Workflow domain.WorkflowID
	Payment  domain.PaymentID
	DueAt    time.Time // of its first action
	Noted    time.Time // time of the trigger
	Running  bool      // an action was requested
	Updated  time.Time
	Since    time.Time // its place in the order of OpenRuns
	command  string    // of this process, which requested the run's newest action; "": none
}

// OpenRunOf returns the OpenRun of a run's state.
func OpenRunOf(s workflow.RunState) OpenRun {
	run := OpenRun{
		Account: s.Account, ID: s.ID, Workflow: s.Workflow.ID, Payment: s.Payment, DueAt: s.DueAt, Noted: s.Trigger.At,
		Running: s.Status() == workflow.Running, Updated: s.UpdatedAt, Since: s.DueAt,
	}
	if run.Running {
		run.Since = s.UpdatedAt
	}
	return run
}

// noted returns the run's place in the order of AheadRuns.
func (r OpenRun) noted() time.Time {
	if r.Running {
		return r.Updated
	}
	return r.Noted
}

// due returns when the run's first action is due, as seen now.
func (r OpenRun) due(now time.Time) due.Time {
	if r.Running {
		return due.Time{}
	}
	return due.At(now, r.Noted, r.DueAt)
}

// OpenRuns finds the runs that have not ended.
type OpenRuns interface {
	// DueWorkflows returns the workflows that have runs due by a time.
	DueWorkflows(ctx context.Context, due time.Time) ([]domain.WorkflowID, error)
	// OpenRuns returns at most limit runs of a workflow that are due by a time, longest due first,
	// after the run with that time and id; the zero time and "" return the first.
	OpenRuns(ctx context.Context, id domain.WorkflowID, due, since time.Time, after domain.RunID, limit int) ([]workflow.RunState, error)
	// AheadRuns returns at most limit runs of all workflows that were noted after a time, in that
	// order, after the run of that id. A run is noted at its trigger and at every change.
	AheadRuns(ctx context.Context, noted time.Time, after domain.RunID, limit int) ([]workflow.RunState, error)
}
