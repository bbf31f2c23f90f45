package workflows

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/due"
	"payledger/eventstore/workflows/condition"
)

// Subjects tells what events are about.
type Subjects interface {
	// Subject gives what the event is about. Personal data is opened for the values only when asked for.
	Subject(ctx context.Context, r *eventstore.Recorded, eventType string, personal bool) (Subject, error)
}

// Subject is what an event is about: the payment, in the state at the event, and what conditions read.
type Subject struct {
	Payment payment.State
	Values  condition.Values
}

// Payments makes the operations of actions, each once for its key.
type Payments interface {
	RunWorkflowOperation(ctx context.Context, by commands.Caller, id domain.PaymentID, a workflow.Action, key string) (commands.Outcome, error)
}

// Requests sends the HTTP requests of actions.
type Requests interface {
	// Send posts what a run tells about its trigger, once. Failure says, in words for the merchant, why that failed; an
	// error is trouble of our own, after which it is tried again.
	Send(ctx context.Context, r Request) (Response, error)
}

// Request is the HTTP request of an action.
type Request struct {
	Run     workflow.RunState
	Step    int
	Trigger *eventstore.Recorded
}

// Response is what became of a request.
type Response struct {
	StatusCode int    // 0: no answer came
	Failure    string // "" is success
}

// OpenRun is a run that is not over.
type OpenRun struct {
	Account  domain.AccountID
	ID       domain.RunID
	Workflow domain.WorkflowID
	Payment  domain.PaymentID
	DueAt    time.Time // of its first action
	Noted    time.Time // when DueAt was: at the trigger
	Running  bool      // an action was requested
	Updated  time.Time
	Since    time.Time // it has something to do since then: its place in the order of OpenRuns
}

// OpenRunOf is what the engine has to know of a run to take it.
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

// noted is the run's place in the order of AheadRuns.
func (r OpenRun) noted() time.Time {
	if r.Running {
		return r.Updated
	}
	return r.Noted
}

// due is when the run's first action is to be taken, as seen now.
func (r OpenRun) due(now time.Time) due.Time {
	if r.Running {
		return due.Time{}
	}
	return due.At(now, r.Noted, r.DueAt)
}

// OpenRuns finds the runs that are not over.
type OpenRuns interface {
	// DueWorkflows gives the workflows that have runs with something to do by a time.
	DueWorkflows(ctx context.Context, due time.Time) ([]domain.WorkflowID, error)
	// OpenRuns gives a workflow's runs that have something to do by a time, the longest due first, at most limit, from
	// behind the run that has it since a time on; the zero time and "" give the first.
	OpenRuns(ctx context.Context, id domain.WorkflowID, due, since time.Time, after domain.RunID, limit int) ([]workflow.RunState, error)
	// AheadRuns gives the runs of all workflows that were noted later than a time, in that order, at most limit, from behind
	// the run of that id. A run was noted at its trigger, or when something last happened to it.
	AheadRuns(ctx context.Context, noted time.Time, after domain.RunID, limit int) ([]workflow.RunState, error)
}
