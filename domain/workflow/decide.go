package workflow

import (
	"strconv"
	"time"

	"payledger/domain"
)

const model = "WorkflowRequest"

// Create is the command to add a workflow.
type Create Created

// DecideCreate adds the workflow. The event is nil if a request with the same idempotency key, and
// so the same id, made it before.
func DecideCreate(s State, c Create) (Event, error) {
	if before, made := s.Find(c.ID); made {
		if before.Version == 1 && before.Definition.equal(c.Definition) {
			return nil, nil
		}
		err := domain.Refuse(domain.KindConflict, domain.ReasonIdempotencyKeyExists, "The idempotency key was used before, for the workflow %s.", c.ID)
		err.Recovery = "GET /management/workflows/" + string(c.ID) + " shows that workflow. Use another X-Idempotency-Key for another workflow."
		return nil, err
	}
	faults := c.Definition.Faults()
	if len(s.Workflows) >= MaxWorkflows {
		faults = append(faults, domain.Violation{Path: "$", Description: "the account has the maximum of " + strconv.Itoa(MaxWorkflows) + " workflows; change an existing one"})
	}
	if faults = append(faults, s.roomFor("", c.Definition)...); len(faults) > 0 {
		return nil, domain.Invalid(model, faults...)
	}
	return Created(c), nil
}

// Change is the command to change a workflow; Enabled nil leaves it as it is (D19).
type Change struct {
	At         time.Time
	ID         domain.WorkflowID
	Definition Definition
	Enabled    *bool
}

// DecideChange makes a new version if the definition differs. Otherwise it only enables or disables
// the workflow.
func DecideChange(s State, c Change) (Event, error) {
	before, known := s.Find(c.ID)
	if !known {
		return nil, NotFound()
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

// Enable is the command to enable or disable a workflow.
type Enable struct {
	At      time.Time
	ID      domain.WorkflowID
	Enabled bool
}

// DecideEnable enables or disables the workflow; the event is nil if nothing changes.
func DecideEnable(s State, c Enable) (Event, error) {
	before, known := s.Find(c.ID)
	switch {
	case !known:
		return nil, NotFound()
	case before.Enabled == c.Enabled:
		return nil, nil
	case c.Enabled:
		return Enabled{At: c.At, ID: c.ID}, nil
	default:
		return Disabled{At: c.At, ID: c.ID}, nil
	}
}

// roomFor returns a violation if d and the definitions of the other workflows are larger than
// MaxSize.
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
	return []domain.Violation{{Path: "$", Description: "the account's workflows together have more than " + strconv.Itoa(MaxSize) + " bytes"}}
}

// NotFound returns the error for an unknown workflow id (D20).
func NotFound() error {
	return domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "There is no workflow of this id.")
}
