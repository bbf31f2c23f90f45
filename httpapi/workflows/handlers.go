package workflows

import (
	"context"

	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/workflows"
	"payledger/httpapi/request"
	"payledger/projections/listing"
)

// Commands are the commands of these calls; every method records, or refuses with a domain.Error.
type Commands interface {
	Workflows(ctx context.Context, account domain.AccountID) (workflow.State, error)
	// CreateWorkflow adds a workflow, once for each idempotency key; "": no key.
	CreateWorkflow(ctx context.Context, by commands.Caller, key string, d workflow.Definition, enabled bool) (workflow.Workflow, error)
	// ChangeWorkflow makes a new version of a workflow if the definition differs; enabled nil
	// leaves that.
	ChangeWorkflow(ctx context.Context, by commands.Caller, id domain.WorkflowID, d workflow.Definition, enabled *bool) (workflow.Workflow, error)
	EnableWorkflow(ctx context.Context, by commands.Caller, id domain.WorkflowID, enabled bool, may func(workflow.Definition) error) (workflow.Workflow, error)
}

// Reader reads the runs of workflows.
type Reader interface {
	request.Lagging
	// Runs reads a page of a workflow's runs in some statuses, none: in any, newest first, at most
	// limit, from a place on, and returns the next page's place.
	Runs(ctx context.Context, account domain.AccountID, id domain.WorkflowID, statuses []workflow.Status, from *listing.Place, limit int) (
		listing.Page[workflow.RunState], error)
	// CountRuns counts a workflow's runs by status, of each status at most so many.
	CountRuns(ctx context.Context, account domain.AccountID, id domain.WorkflowID, most int) (map[workflow.Status]int, error)
}

// Handlers serve the calls.
type Handlers struct {
	Commands Commands
	Reader   Reader
	Engine   *workflows.Engine
	// CheckURL refuses addresses that requests must not go to (D18); its error's text is shown.
	CheckURL func(ctx context.Context, url string) error
}

// Rules are the rules of requests that openapi.yaml cannot express, by operation.
func (h *Handlers) Rules() map[string]request.Rule {
	return map[string]request.Rule{
		"createWorkflow": h.workflowRules, "replaceWorkflow": h.workflowRules, "simulateWorkflow": request.PeriodRule,
		"simulateNewWorkflow": h.draftRules, "listWorkflowRuns": runRules, "listWorkflowVersions": versionRules,
	}
}
