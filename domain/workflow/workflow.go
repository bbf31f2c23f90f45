package workflow

import (
	"slices"
	"time"

	"payledger/domain"
)

// Limits of the state, which the log stores with every event.
const (
	MaxWorkflows = 50
	MaxSize      = 96 << 10 // of all definitions of an account, in bytes
)

// Workflow is the current version of a workflow.
type Workflow struct {
	ID         domain.WorkflowID `json:"id"`
	Version    int64             `json:"version"` // from 1, plus 1 with each change of the definition
	Definition Definition        `json:"definition"`
	Enabled    bool              `json:"enabled"`
	CreatedAt  time.Time         `json:"createdAt"`
	UpdatedAt  time.Time         `json:"updatedAt"`
}

// State is all workflows of an account, the oldest first.
type State struct {
	Account   domain.AccountID `json:"accountId"`
	Revision  uint64           `json:"revision"`
	UpdatedAt time.Time        `json:"updatedAt"`
	Workflows []Workflow       `json:"workflows,omitempty"`
}

// Find returns a workflow by its id.
func (s State) Find(id domain.WorkflowID) (Workflow, bool) {
	if i := s.place(id); i >= 0 {
		return s.Workflows[i], true
	}
	return Workflow{}, false
}

func (s State) place(id domain.WorkflowID) int {
	return slices.IndexFunc(s.Workflows, func(w Workflow) bool { return w.ID == id })
}

// StartedBy returns the enabled workflows that an event type may start. It does not compare the
// trigger's status.
func (s State) StartedBy(eventType string) (found []Workflow) {
	for _, w := range s.Workflows {
		if w.Enabled && w.Definition.Trigger.EventType == eventType {
			found = append(found, w)
		}
	}
	return found
}

// Event is a fact about an account's workflows.
type Event interface {
	domain.Event
	workflowEvent()
}

// Events lists every event type of workflows.
func Events() []Event { return []Event{Created{}, Changed{}, Enabled{}, Disabled{}} }

// Created says that the account has one more workflow.
type Created struct {
	At         time.Time         `json:"at"`         // when it was decided, UTC
	Account    domain.AccountID  `json:"accountId"`  // the merchant account
	ID         domain.WorkflowID `json:"id"`         // the new workflow
	Definition Definition        `json:"definition"` // its first version's content
	Enabled    bool              `json:"enabled"`    // reports whether its trigger starts runs
}

// Changed says that a workflow has a new version. Runs that have begun do not change.
type Changed struct {
	At         time.Time         `json:"at"`         // when it was decided, UTC
	ID         domain.WorkflowID `json:"id"`         // the changed workflow
	Version    int64             `json:"version"`    // the new version, from 2
	Definition Definition        `json:"definition"` // the new version's content
	Enabled    bool              `json:"enabled"`    // reports whether its trigger starts runs
}

// Enabled says that the workflow's trigger starts runs.
type Enabled struct {
	At time.Time         `json:"at"` // when it was decided, UTC
	ID domain.WorkflowID `json:"id"` // the workflow
}

// Disabled says that the workflow's trigger starts no run. Runs that have begun go on.
type Disabled struct {
	At time.Time         `json:"at"` // when it was decided, UTC
	ID domain.WorkflowID `json:"id"` // the workflow
}

func (Created) Type() string  { return "workflow.created" }
func (Changed) Type() string  { return "workflow.changed" }
func (Enabled) Type() string  { return "workflow.enabled" }
func (Disabled) Type() string { return "workflow.disabled" }

func (Created) workflowEvent()  {}
func (Changed) workflowEvent()  {}
func (Enabled) workflowEvent()  {}
func (Disabled) workflowEvent() {}

// Evolve returns the state after the event.
func Evolve(s State, e Event) State {
	s.Revision++
	switch e := e.(type) {
	case Created:
		s.Account, s.UpdatedAt = e.Account, e.At
		s.Workflows = append(slices.Clone(s.Workflows), Workflow{
			ID: e.ID, Version: 1, Definition: e.Definition, Enabled: e.Enabled, CreatedAt: e.At, UpdatedAt: e.At,
		})
	case Changed:
		return s.with(e.ID, e.At, func(w *Workflow) { w.Version, w.Definition, w.Enabled = e.Version, e.Definition, e.Enabled })
	case Enabled:
		return s.with(e.ID, e.At, func(w *Workflow) { w.Enabled = true })
	case Disabled:
		return s.with(e.ID, e.At, func(w *Workflow) { w.Enabled = false })
	}
	return s
}

// with changes one workflow in a copy of the list, because earlier States share the list.
func (s State) with(id domain.WorkflowID, at time.Time, change func(*Workflow)) State {
	s.UpdatedAt, s.Workflows = at, slices.Clone(s.Workflows)
	if i := s.place(id); i >= 0 {
		change(&s.Workflows[i])
		s.Workflows[i].UpdatedAt = at
	}
	return s
}
