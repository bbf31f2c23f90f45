package workflow

import (
	"errors"
	"strconv"
	"time"

	"payledger/domain"
)

// ErrNotNext means that the action is not the run's next one: another node has continued the run.
var ErrNotNext = errors.New("the workflow run stands elsewhere")

// StartRun is the command to start a run of an enabled workflow.
type StartRun struct {
	At        time.Time
	Account   domain.AccountID
	Workflow  Workflow
	Trigger   Occasion
	Payment   domain.PaymentID
	Amount    domain.Amount // of the payment, for shares
	Condition Evaluation
	Cause     *RunState // the run whose action led to the trigger, if any
}

// MaxDepth bounds the chain of runs that start each other.
const MaxDepth = 5

// circular returns the reason to skip a run that continues a circle of workflows; "" for any other.
func (c StartRun) circular() string {
	switch {
	case c.Cause == nil:
		return ""
	case c.Cause.Workflow.ID == c.Workflow.ID:
		return "the event was caused by run " + string(c.Cause.ID) + " of this workflow"
	case c.Cause.Depth+1 >= MaxDepth:
		return "the event was caused by run " + string(c.Cause.ID) + ", the last of " + strconv.Itoa(MaxDepth) + " that led to each other"
	}
	return ""
}

// RunID derives the run's id from the workflow and the trigger event, without the version: a
// workflow that changes at the same moment starts one run, in either version (D19).
func (c StartRun) RunID() domain.RunID {
	return domain.NewRunID(c.Account, c.Workflow.ID, c.Trigger.EventID)
}

// DecideStart starts the run; the event is nil if it has begun.
func DecideStart(s RunState, c StartRun) (RunEvent, error) {
	if s.Exists() {
		return nil, nil
	}
	d := c.Workflow.Definition
	start := Start{
		At: c.At, ID: c.RunID(), Account: c.Account, Trigger: c.Trigger, Payment: c.Payment, Condition: c.Condition,
		Workflow: Ref{ID: c.Workflow.ID, Name: d.Name, Version: c.Workflow.Version},
	}
	if c.Cause != nil {
		start.Depth = c.Cause.Depth + 1
	}
	if why := c.circular(); why != "" {
		start.Condition.Holds, start.Condition.Error = false, why
	}
	if !start.Condition.Holds {
		return RunSkipped{start}, nil
	}
	actions := make([]Action, len(d.Actions))
	for i, a := range d.Actions {
		actions[i] = a.Resolved(c.Amount)
	}
	return RunStarted{Start: start, DueAt: c.Trigger.At.Add(d.Delay()), Actions: actions}, nil
}

// DecideRequest records that an action begins; the event is nil if that is recorded already.
func DecideRequest(s RunState, at time.Time, step int) (RunEvent, error) {
	if err := s.expects(step); err != nil {
		return nil, err
	}
	if s.Steps[step].State == StepRequested {
		return nil, nil
	}
	return ActionRequested{At: at, Step: int64(step)}, nil
}

// DecideTakeover records an action once more that was requested and has no outcome: another node
// performs it. It records nothing if the run has changed since a revision: one of several nodes
// takes the action over.
func DecideTakeover(s RunState, at time.Time, step int, since uint64) (RunEvent, error) {
	if err := s.expects(step); err != nil {
		return nil, err
	}
	if s.Revision != since {
		return nil, nil
	}
	return ActionRequested{At: at, Step: int64(step)}, nil
}

// DecideSuccess records that an action succeeded.
func DecideSuccess(s RunState, at time.Time, step int, r Result) (RunEvent, error) {
	if err := s.expects(step); err != nil {
		return nil, err
	}
	return ActionSucceeded{At: at, Step: int64(step), Result: r}, nil
}

// DecideFailure records that an action failed, with a message for the merchant.
func DecideFailure(s RunState, at time.Time, step int, message string) (RunEvent, error) {
	if err := s.expects(step); err != nil {
		return nil, err
	}
	action := s.Steps[step].Action
	return RunFailed{At: at, Step: int64(step), Error: RunError{
		ApplicationID: action.application(), ActionID: s.Steps[step].ID, DiagnosticsID: s.Diagnostics(step), Message: message,
	}}, nil
}

func (s RunState) expects(step int) error {
	if next, more := s.Next(); !s.Open() || !more || next != step {
		return ErrNotNext
	}
	return nil
}
