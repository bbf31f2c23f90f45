package accounts

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/commands"
)

// EndpointInput describes a new webhook endpoint (D20).
type EndpointInput struct {
	URL         string   `json:"url"`
	Description string   `json:"description"`
	EventTypes  []string `json:"eventTypes"` // empty: all
}

// CreateEndpoint adds a webhook endpoint (D20). The caller has checked its URL.
func (s *Accounts) CreateEndpoint(ctx context.Context, by commands.Caller, in EndpointInput) (account.Endpoint, error) {
	id, err := eventstore.NewUUID(s.Random)
	if err != nil {
		return account.Endpoint{}, err
	}
	made := account.Endpoint{
		ID: domain.EndpointID(id), URL: in.URL, Description: in.Description, EventTypes: in.EventTypes, Enabled: true,
	}
	_, err = s.change(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		made.CreatedAt = at
		return account.DecideCreateEndpoint(state, account.CreateEndpoint{At: at, Endpoint: made})
	})
	return made, err
}

// ChangeEndpoint changes a webhook endpoint and returns it (D20). The caller has checked its URL.
func (s *Accounts) ChangeEndpoint(ctx context.Context, by commands.Caller, id domain.EndpointID, in account.ChangeEndpoint) (account.Endpoint, error) {
	state, err := s.change(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		in.At, in.ID = at, id
		return account.DecideChangeEndpoint(state, in)
	})
	changed, _ := state.Endpoint(id)
	return changed, err
}

// DeleteEndpoint deletes a webhook endpoint and returns it as it was (D20).
func (s *Accounts) DeleteEndpoint(ctx context.Context, by commands.Caller, id domain.EndpointID) (account.Endpoint, error) {
	var deleted account.Endpoint
	_, err := s.change(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		deleted, _ = state.Endpoint(id)
		return account.DecideDeleteEndpoint(state, account.DeleteEndpoint{At: at, ID: id})
	})
	return deleted, err
}
