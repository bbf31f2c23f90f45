package accounts

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/commands"
)

// Workflows returns the account's workflows (D19).
func (s *Accounts) Workflows(ctx context.Context, account domain.AccountID) (workflow.State, error) {
	tip, err := s.Log.Workflows.Load(ctx, account, account, eventstore.Latest)
	return tip.State, err
}

// CreateWorkflow adds a workflow (D19). The caller has checked its condition and its URLs. key is
// the request's idempotency key; "" for none. A repeat with the same key returns the workflow of
// the first request (D20).
func (s *Accounts) CreateWorkflow(ctx context.Context, by commands.Caller, key string, d workflow.Definition, enabled bool) (workflow.Workflow, error) {
	id := domain.WorkflowID(domain.KeyHash(by.Account, "workflow "+key)) // no merchant's key has a space (D9)
	if key == "" {
		text, err := eventstore.NewUUID(s.Random)
		if err != nil {
			return workflow.Workflow{}, err
		}
		id = domain.WorkflowID(text)
	}
	return s.changeWorkflow(ctx, by, id, func(state workflow.State, at time.Time) (workflow.Event, error) {
		return workflow.DecideCreate(state, workflow.Create{At: at, Account: by.Account, ID: id, Definition: d, Enabled: enabled})
	})
}

// ChangeWorkflow replaces a workflow's definition and returns it; enabled nil leaves that unchanged
// (D19).
func (s *Accounts) ChangeWorkflow(ctx context.Context, by commands.Caller, id domain.WorkflowID, d workflow.Definition, enabled *bool) (workflow.Workflow, error) {
	return s.changeWorkflow(ctx, by, id, func(state workflow.State, at time.Time) (workflow.Event, error) {
		return workflow.DecideChange(state, workflow.Change{At: at, ID: id, Definition: d, Enabled: enabled})
	})
}

// EnableWorkflow enables or disables a workflow and returns it (D20). It enables a definition only
// if may returns nil for it. The definition can be newer than the one that the caller has read.
func (s *Accounts) EnableWorkflow(ctx context.Context, by commands.Caller, id domain.WorkflowID, enabled bool, may func(workflow.Definition) error) (workflow.Workflow, error) {
	return s.changeWorkflow(ctx, by, id, func(state workflow.State, at time.Time) (workflow.Event, error) {
		if found, known := state.Find(id); known && enabled {
			if err := may(found.Definition); err != nil {
				return nil, err
			}
		}
		return workflow.DecideEnable(state, workflow.Enable{At: at, ID: id, Enabled: enabled})
	})
}

func (s *Accounts) changeWorkflow(ctx context.Context, by commands.Caller, id domain.WorkflowID, decide func(workflow.State, time.Time) (workflow.Event, error)) (workflow.Workflow, error) {
	if err := s.CheckActor(ctx, by); err != nil { // the look-ups of the URLs may have taken long
		return workflow.Workflow{}, err
	}
	tip, err := commands.Request(ctx, s.Base, by, s.Log.Workflows.Execute, by.Account, decide)
	if err == nil {
		err = s.AppliedEverywhere(context.WithoutCancel(ctx), tip.Recorded) // every node starts runs by its own state
	}
	changed, _ := tip.State.Find(id)
	return changed, err
}
