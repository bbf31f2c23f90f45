package accounts

import (
	"context"
	"errors"
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
	after, err := s.ends(ctx)
	if err != nil {
		return account.Endpoint{}, err
	}
	_, err = s.change(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		made.CreatedAt = at
		return account.DecideCreateEndpoint(state, account.CreateEndpoint{At: at, Endpoint: made, EndpointsAfter: after})
	})
	return made, err
}

// ChangeEndpoint changes a webhook endpoint and returns it (D20). The caller has checked its URL.
func (s *Accounts) ChangeEndpoint(ctx context.Context, by commands.Caller, id domain.EndpointID, in account.ChangeEndpoint) (account.Endpoint, error) {
	after, err := s.ends(ctx)
	if err != nil {
		return account.Endpoint{}, err
	}
	state, err := s.change(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		in.At, in.ID, in.EndpointsAfter = at, id, after
		return account.DecideChangeEndpoint(state, in)
	})
	changed, _ := state.Endpoint(id)
	return changed, err
}

// DeleteEndpoint deletes a webhook endpoint and returns it as it was (D20).
func (s *Accounts) DeleteEndpoint(ctx context.Context, by commands.Caller, id domain.EndpointID) (account.Endpoint, error) {
	var deleted account.Endpoint
	after, err := s.ends(ctx)
	if err != nil {
		return deleted, err
	}
	_, err = s.change(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		deleted, _ = state.Endpoint(id)
		return account.DecideDeleteEndpoint(state, account.DeleteEndpoint{At: at, ID: id, EndpointsAfter: after})
	})
	return deleted, err
}

// ends returns the address of the newest event of each shard. A change of endpoints applies to the
// later events. So it applies to no event that was recorded before the call, and to every event
// that is requested after its answer.
func (s *Accounts) ends(ctx context.Context) ([]uint64, error) {
	ends := make([]uint64, s.Store.Shards())
	for shard := range ends {
		var err error
		ends[shard], err = s.Store.LastSeq(ctx, shard)
		if errors.Is(err, eventstore.ErrUnhealthy) { // a damaged shard takes no further events, and must not prevent a change
			ends[shard], err = s.Store.Appended()[shard], nil
		}
		if err != nil {
			return nil, domain.Unavailable(err)
		}
	}
	return ends, nil
}
