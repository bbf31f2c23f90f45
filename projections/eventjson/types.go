package eventjson

import (
	"context"
	"slices"

	"payledger/domain"
	"payledger/eventstore"
)

type kind struct {
	state  string // name of the state in the JSON; "": the JSON has no state in the log's form
	types  []string
	bodies func(context.Context, eventstore.Untyped, *eventstore.Recorded) (stored, state []byte, err error)
}

var kinds = map[string]kind{
	eventstore.Payments.Name:     kindOf(eventstore.Payments, ""),
	eventstore.Sessions.Name:     kindOf(eventstore.Sessions, "session"),
	eventstore.Instruments.Name:  kindOf(eventstore.Instruments, "instrument"),
	eventstore.Attempts.Name:     kindOf(eventstore.Attempts, "attempt"),
	eventstore.Accounts.Name:     kindOf(eventstore.Accounts, "account"),
	eventstore.Disputes.Name:     kindOf(eventstore.Disputes, "dispute"),
	eventstore.Inboxes.Name:      kindOf(eventstore.Inboxes, "inbox"),
	eventstore.Persons.Name:      kindOf(eventstore.Persons, "person"),
	eventstore.Workflows.Name:    kindOf(eventstore.Workflows, "workflow"),
	eventstore.WorkflowRuns.Name: kindOf(eventstore.WorkflowRuns, "workflowRun"),
	eventstore.Webhooks.Name:     kindOf(eventstore.Webhooks, "webhook"),
	eventstore.Logs.Name:         kindOf(eventstore.Logs, ""),
}

func kindOf[S any, E domain.Event](a *eventstore.Aggregate[S, E], state string) kind {
	return kind{state, a.Core.Types(), func(ctx context.Context, s eventstore.Untyped, r *eventstore.Recorded) ([]byte, []byte, error) {
		return bodies(ctx, s, a, r, state != "")
	}}
}

// Types returns the names of all event types, sorted.
func Types() (all []string) {
	for _, k := range kinds {
		all = append(all, k.types...)
	}
	slices.Sort(all)
	return all
}
