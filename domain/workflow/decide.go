package workflow

import (
	"strconv"
	"time"

	"payledger/domain"
)

// model names the body that violations are about.
const model = "WorkflowRequest"

// Create asks for a further workflow.
type Create struct {
	At         time.Time
	Account    domain.AccountID
	ID         domain.WorkflowID
	Definition Definition
	Enabled    bool
}

// DecideCreate adds the workflow.
func DecideCreate(s State, c Create) (Event, error) {
	faults := c.Definition.Faults()
	if len(s.Workflows) >= MaxWorkflows {
		faults = append(faults, domain.Violation{Path: "$", Description: "the account has as many workflows as it may: " + strconv.Itoa(MaxWorkflows)})
	}
	if faults = append(faults, s.roomFor("", c.Definition)...); len(faults) > 0 {
		return nil, domain.Invalid(model, faults...)
	}
	return Created(c), nil
}

// Change asks for a workflow to do something else; Enabled nil leaves it (D19).
type Change struct {
	At         time.Time
	ID         domain.WorkflowID
	Definition Definition
	Enabled    *bool
}

// DecideChange makes a new version of a workflow that does something else; one that does the same is only enabled or
// disabled, or left alone.
func DecideChange(s State, c Change) (Event, error) {
	before, known := s.Find(c.ID)
	if !known {
		return nil, Unknown()
	}
	if faults := append(c.Definition.Faults(), s.roomFor(c.ID, c.Definition)...); len(faults) > 0 {
		return nil, domain.Invalid(model, faults...)
	}
	enabled := before.Enabled
	if c.Enabled != nil {
		enabled = *c.Enabled
	}
	if before.Definition.equal(c.Definition) {
		return DecideEnable(s, Enable{At: c.At, ID: c.ID, Enabled: enabled})
	}
	return Changed{At: c.At, ID: c.ID, Version: before.Version + 1, Definition: c.Definition, Enabled: enabled}, nil
}

// Enable asks for a workflow to be started by its trigger, or not.
type Enable struct {
	At      time.Time
	ID      domain.WorkflowID
	Enabled bool
}

// DecideEnable enables or disables the workflow, unless it is so already.
func DecideEnable(s State, c Enable) (Event, error) {
	before, known := s.Find(c.ID)
	switch {
	case !known:
		return nil, Unknown()
	case before.Enabled == c.Enabled:
		return nil, nil
	case c.Enabled:
		return Enabled{At: c.At, ID: c.ID}, nil
	default:
		return Disabled{At: c.At, ID: c.ID}, nil
	}
}

// roomFor refuses a definition that, with all others but that of id, is more than travels with every event.
func (s State) roomFor(id domain.WorkflowID, d Definition) []domain.Violation {
	total := d.size()
	for _, w := range s.Workflows {
		if w.ID != id {
			total += w.Definition.size()
		}
	}
	if total <= MaxSize {
		return nil
	}
	return []domain.Violation{{Path: "$", Description: "the account's workflows together take more room than they may: " + strconv.Itoa(MaxSize) + " bytes"}}
}

// Unknown is the refusal of an id that no workflow has (D20).
func Unknown() error {
	return domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "There is no workflow of this id.")
}
