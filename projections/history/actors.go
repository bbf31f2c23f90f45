package history

import (
	"context"
	"fmt"
	"strings"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/projections/eventjson"
)

// actors reads the API keys, dashboard users, workflow runs and webhook endpoints of an account.
type actors struct {
	store   *eventstore.Store
	account domain.AccountID
	keys    map[domain.APIKeyID]string // by id; nil: not read yet
	users   map[domain.UserID]string   // names by id; nil: not read yet
	every   bool                       // the account's events were read: keys and users have those that are gone, too
	hooks   []endpointsAt              // oldest first, if every
	runs    map[domain.RunID]workflow.RunState
}

// name returns the name of the API key, the dashboard user or the workflow that caused an event; "" for other actors.
func (a *actors) name(ctx context.Context, e *eventstore.Recorded) (string, error) {
	kind, id, _ := strings.Cut(e.Actor, ":")
	switch kind {
	case "api_key":
		return a.key(ctx, domain.APIKeyID(id))
	case "user":
		return a.user(ctx, domain.UserID(id))
	case "workflow":
		run, err := a.run(ctx, e.CorrelationID)
		return run.Workflow.Name, err
	default:
		return "", nil
	}
}

// key returns the name of an API key. A key that was revoked is not in the account's state; then key reads the account's events.
func (a *actors) key(ctx context.Context, id domain.APIKeyID) (string, error) {
	if name, known := a.keys[id]; known || a.every {
		return name, nil
	}
	tip, err := a.tip(ctx)
	if err != nil {
		return "", err
	}
	a.keys = map[domain.APIKeyID]string{}
	for _, k := range tip.State.APIKeys {
		a.keys[k.ID] = k.Name
	}
	if _, known := a.keys[id]; !known {
		err = a.readAccount(ctx)
	}
	return a.keys[id], err
}

// user returns the name of a dashboard user, as key does.
func (a *actors) user(ctx context.Context, id domain.UserID) (string, error) {
	if name, known := a.users[id]; known || a.every {
		return name, nil
	}
	tip, err := a.tip(ctx)
	if err != nil {
		return "", err
	}
	a.users = map[domain.UserID]string{}
	for _, r := range tip.State.RemovedUsers {
		a.users[r.ID] = r.Name
	}
	for _, u := range tip.State.Users {
		a.users[u.ID] = u.Name
	}
	if _, known := a.users[id]; !known {
		err = a.readAccount(ctx)
	}
	return a.users[id], err
}

func (a *actors) tip(ctx context.Context) (eventstore.Tip[account.State], error) {
	tip, err := eventstore.Load(ctx, a.store, eventstore.Accounts, eventstore.Accounts.Key(a.account, string(a.account)), eventstore.AllowStale)
	if err != nil {
		err = fmt.Errorf("history: the account: %w", err)
	}
	return tip, err
}

// readAccount reads all keys, users and endpoints that the account ever had. Later calls do nothing.
func (a *actors) readAccount(ctx context.Context) error {
	if a.every {
		return nil
	}
	tip, err := a.tip(ctx)
	if err != nil || tip.Recorded == nil {
		return err
	}
	a.keys, a.users, a.hooks = map[domain.APIKeyID]string{}, map[domain.UserID]string{}, nil
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
		a.keys[e.APIKey.ID], a.users[e.User.ID] = e.APIKey.Name, e.User.Name
	case account.APIKeyCreated:
		a.keys[e.Key.ID] = e.Key.Name
	case account.UserAdded:
		a.users[e.User.ID] = e.User.Name
	case account.EndpointCreated, account.EndpointChanged, account.EndpointDeleted:
		var after account.State
		after, err = eventstore.StateAt(ctx, a.store, eventstore.Accounts, r)
		a.hooks = append(a.hooks, endpointsAt{r.Time, after.Endpoints})
	}
	return err
}

// run returns the workflow run whose action led to an event, by the event's correlation id; the zero value if there is none.
func (a *actors) run(ctx context.Context, correlationID string) (workflow.RunState, error) {
	id, is := workflow.CausedBy(correlationID)
	if !is {
		return workflow.RunState{}, nil
	}
	if run, known := a.runs[id]; known {
		return run, nil
	}
	tip, err := eventstore.Load(ctx, a.store, eventstore.WorkflowRuns, eventstore.WorkflowRuns.Key(a.account, string(id)), eventstore.AllowStale)
	if err != nil {
		return workflow.RunState{}, fmt.Errorf("history: the run %s: %w", id, err)
	}
	if a.runs == nil {
		a.runs = map[domain.RunID]workflow.RunState{}
	}
	a.runs[id] = tip.State
	return tip.State, nil
}

// withoutCredential replaces the session id in a decoded event by its fingerprint, as in the events for analysts.
func withoutCredential(event map[string]any) map[string]any {
	if id, is := event["sessionId"].(string); is {
		event["sessionId"] = eventjson.Fingerprint(id)
	}
	return event
}
