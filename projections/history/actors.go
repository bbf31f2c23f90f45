package history

import (
	"context"
	"fmt"
	"strings"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/workflow"
	"payledger/eventstore"
)

// actors reads the API keys, dashboard users, workflow runs and webhook endpoints of an account.
type actors struct {
	store   eventstore.Store
	account domain.AccountID
	names   map[string]string // of API keys and users, by actor; nil: not read yet
	every   bool              // the account's events were read: names has the keys and users that are gone, too
	hooks   []endpointsAt     // oldest first, if every
	runs    map[domain.RunID]workflow.RunState
}

// name returns the name of the API key, the dashboard user or the workflow that caused an event; ""
// for other actors.
func (a *actors) name(ctx context.Context, e *eventstore.Recorded) (string, error) {
	switch kind, _, _ := strings.Cut(e.Actor, ":"); kind {
	case "api_key", "user":
		return a.named(ctx, e.Actor)
	case "workflow":
		run, err := a.run(ctx, e.CorrelationID)
		return run.Workflow.Name, err
	default:
		return "", nil
	}
}

func keyActor(id domain.APIKeyID) string { return "api_key:" + string(id) }
func userActor(id domain.UserID) string  { return "user:" + string(id) }

// named returns the name of an API key or a user. If the account's state lacks a gone one, it reads
// the account's events.
func (a *actors) named(ctx context.Context, actor string) (string, error) {
	if a.names == nil {
		tip, err := a.tip(ctx, eventstore.Applied)
		if err != nil {
			return "", err
		}
		a.names = map[string]string{}
		for _, k := range tip.State.APIKeys {
			a.names[keyActor(k.ID)] = k.Name
		}
		for _, r := range tip.State.RemovedUsers {
			a.names[userActor(r.ID)] = r.Name
		}
		for _, u := range tip.State.Users {
			a.names[userActor(u.ID)] = u.Name
		}
	}
	if name, known := a.names[actor]; known {
		return name, nil
	}
	err := a.readAccount(ctx)
	return a.names[actor], err
}

func (a *actors) tip(ctx context.Context, consistency eventstore.Consistency) (eventstore.Tip[account.State], error) {
	tip, err := eventstore.Load(ctx, a.store, eventstore.Accounts, eventstore.Accounts.Key(a.account, string(a.account)), consistency)
	if err != nil {
		err = fmt.Errorf("history: the account: %w", err)
	}
	return tip, err
}

// readAccount reads all keys, users and endpoints that the account ever had. Later calls do
// nothing. The account is as recent as the payment: an endpoint that this node has not applied yet
// may have received the payment's webhooks.
func (a *actors) readAccount(ctx context.Context) error {
	if a.every {
		return nil
	}
	tip, err := a.tip(ctx, eventstore.Latest)
	if err != nil || tip.Recorded == nil {
		return err
	}
	a.names, a.hooks = map[string]string{}, nil
	t, err := follow(ctx, a.store, tip.Recorded)
	if err == nil {
		err = t.each(ctx, tip.Recorded.Revision, a.accountEvent)
	}
	if err != nil {
		return fmt.Errorf("history: the account's events: %w", err)
	}
	a.every = true
	return nil
}

func (a *actors) accountEvent(ctx context.Context, r *eventstore.Recorded) error {
	fact, err := eventstore.Accounts.Event(r)
	switch e := fact.(type) {
	case account.Created:
		a.names[keyActor(e.APIKey.ID)], a.names[userActor(e.User.ID)] = e.APIKey.Name, e.User.Name
	case account.APIKeyCreated:
		a.names[keyActor(e.Key.ID)] = e.Key.Name
	case account.UserAdded:
		a.names[userActor(e.User.ID)] = e.User.Name
	case account.EndpointCreated, account.EndpointChanged, account.EndpointDeleted:
		var after account.State
		after, err = eventstore.StateAt(ctx, a.store, eventstore.Accounts, r)
		a.hooks = append(a.hooks, endpointsAt{r.Time, after.Endpoints})
	}
	return err
}

// run returns the workflow run whose action led to an event, by the event's correlation id; the
// zero value if there is none.
func (a *actors) run(ctx context.Context, correlationID string) (workflow.RunState, error) {
	id, is := workflow.CausedBy(correlationID)
	if !is {
		return workflow.RunState{}, nil
	}
	if run, known := a.runs[id]; known {
		return run, nil
	}
	tip, err := eventstore.Load(ctx, a.store, eventstore.WorkflowRuns, eventstore.WorkflowRuns.Key(a.account, string(id)), eventstore.Latest)
	if err != nil {
		return workflow.RunState{}, fmt.Errorf("history: the run %s: %w", id, err)
	}
	if a.runs == nil {
		a.runs = map[domain.RunID]workflow.RunState{}
	}
	a.runs[id] = tip.State
	return tip.State, nil
}
