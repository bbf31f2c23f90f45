package accounts

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/commands"
)

// RevokeAPIKey revokes an API key and returns it as it was (D20). The event is acknowledged when
// RevokeAPIKey returns.
func (s *Accounts) RevokeAPIKey(ctx context.Context, by commands.Caller, id domain.APIKeyID) (account.APIKey, error) {
	var revoked account.APIKey
	_, err := s.change(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		revoked, _ = state.Key(id)
		return account.DecideRevokeAPIKey(state, account.RevokeAPIKey{At: at, ID: id})
	})
	return revoked, err
}

// CreateAPIKey adds an API key with the name, scopes and expiry of made, and returns its text,
// which is shown once (D20).
func (s *Accounts) CreateAPIKey(ctx context.Context, by commands.Caller, made account.APIKey) (account.APIKey, string, error) {
	merchant, err := s.Merchant(by)
	if err != nil {
		return account.APIKey{}, "", err
	}
	key, err := newAPIKey(merchant.Environment, s.Random)
	if err != nil {
		return account.APIKey{}, "", err
	}
	made.ID, made.Hash = key.ID, key.Hash
	// A new key may work a moment later elsewhere.
	_, _, err = s.changeShown(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		made.CreatedAt = at
		return account.DecideCreateAPIKey(state, account.CreateAPIKey{At: at, Key: made})
	})
	return made, key.Text, err
}
