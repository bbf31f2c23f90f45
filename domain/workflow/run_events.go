package workflow

import (
	"slices"
	"time"

	"payledger/domain"
)

// RunEvent is a fact about a run.
type RunEvent interface {
	domain.Event
	runEvent()
}

// RunEvents lists every event type of runs.
func RunEvents() []RunEvent {
	return []RunEvent{RunStarted{}, RunSkipped{}, ActionRequested{}, ActionSucceeded{}, RunFailed{}}
}

// Start is the common part of RunStarted and RunSkipped.
type Start struct {
	At        time.Time        `json:"at"`              // when it was decided, UTC
	ID        domain.RunID     `json:"id"`              // the run
	Account   domain.AccountID `json:"accountId"`       // the merchant account
	Workflow  Ref              `json:"workflow"`        // the workflow's version
	Trigger   Occasion         `json:"trigger"`         // the event that started the run
	Payment   domain.PaymentID `json:"paymentId"`       // the payment that the actions are for
	Condition Evaluation       `json:"condition"`       // the result of the workflow's condition
	Depth     int64            `json:"depth,omitempty"` // number of runs in the chain that led to this one
}

// RunStarted says that a workflow's condition held at its trigger: its actions will run.
type RunStarted struct {
	Start
	DueAt   time.Time `json:"dueAt"`   // when the first action runs, UTC
	Actions []Action  `json:"actions"` // with their amounts
}

// RunSkipped says that a workflow's condition did not hold at its trigger: no action runs.
type RunSkipped struct{ Start }

// ActionRequested says that an action begins. Without a later event of the action, it may have run
// once, twice or never.
type ActionRequested struct {
	At   time.Time `json:"at"`   // when it was decided, UTC
	Step int64     `json:"step"` // from 0
}

// ActionSucceeded says that an action succeeded; the last one ends the run.
type ActionSucceeded struct {
	At     time.Time `json:"at"`               // when it was decided, UTC
	Step   int64     `json:"step"`             // the action's index, from 0
	Result Result    `json:"result,omitempty"` // the action's result
}

// RunFailed says that an action failed, and the run with it. Earlier actions stay as they are.
type RunFailed struct {
	At    time.Time `json:"at"`    // when it was decided, UTC
	Step  int64     `json:"step"`  // the failed action's index, from 0
	Error RunError  `json:"error"` // why it failed
}

func (RunStarted) Type() string      { return "workflow_run.started" }
func (RunSkipped) Type() string      { return "workflow_run.skipped" }
func (ActionRequested) Type() string { return "workflow_run.action_requested" }
func (ActionSucceeded) Type() string { return "workflow_run.action_succeeded" }
func (RunFailed) Type() string       { return "workflow_run.failed" }

func (RunStarted) runEvent()      {}
func (RunSkipped) runEvent()      {}
func (ActionRequested) runEvent() {}
func (ActionSucceeded) runEvent() {}
func (RunFailed) runEvent()       {}

// EvolveRun returns the state after the event.
func EvolveRun(s RunState, e RunEvent) RunState {
	s.Revision++
	switch e := e.(type) {
	case RunStarted:
		s = s.begun(e.Start)
		s.DueAt = e.DueAt
		for i, a := range e.Actions {
			s.Steps = append(s.Steps, Step{ID: stepID(i, a), Action: a, State: StepOpen})
		}
	case RunSkipped:
		s = s.begun(e.Start)
		s.DueAt = e.At
	case ActionRequested:
		return s.withStep(e.Step, e.At, func(step *Step) { step.State, step.RequestedAt = StepRequested, &e.At })
	case ActionSucceeded:
		return s.withStep(e.Step, e.At, func(step *Step) { step.State, step.EndedAt, step.Result = StepSucceeded, &e.At, e.Result })
	case RunFailed:
		s.Error = &e.Error
		return s.withStep(e.Step, e.At, func(step *Step) { step.State, step.EndedAt = StepFailed, &e.At })
	}
	return s
}

func (s RunState) begun(e Start) RunState {
	s.ID, s.Account, s.Workflow, s.Trigger, s.Payment, s.Condition = e.ID, e.Account, e.Workflow, e.Trigger, e.Payment, e.Condition
	s.StartedAt, s.UpdatedAt, s.Depth = e.At, e.At, e.Depth
	return s
}

func (s RunState) withStep(i int64, at time.Time, change func(*Step)) RunState {
	s.UpdatedAt, s.Steps = at, slices.Clone(s.Steps)
	if i >= 0 && i < int64(len(s.Steps)) {
		change(&s.Steps[i])
	}
	return s
}
