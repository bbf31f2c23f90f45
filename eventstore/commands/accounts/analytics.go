package accounts

import (
	"context"
	"time"

	"payledger/domain/account"
	"payledger/eventstore/commands"
)

// CreateAnalyticsUser adds an analytics user of the caller's account, or replaces one of the same
// name, and returns all of them (I1).
func (s *Accounts) CreateAnalyticsUser(ctx context.Context, by commands.Caller, user account.AnalyticsUser) ([]account.AnalyticsUser, error) {
	state, err := s.change(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		return account.DecideCreateAnalyticsUser(state, account.AnalyticsUserCreated{At: at, User: user})
	})
	return state.AnalyticsUsers, err
}

// RemoveAnalyticsUser removes an analytics user of the caller's account by its name, and returns
// the others (I1).
func (s *Accounts) RemoveAnalyticsUser(ctx context.Context, by commands.Caller, name string) ([]account.AnalyticsUser, error) {
	state, err := s.change(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		return account.DecideRemoveAnalyticsUser(state, account.AnalyticsUserRemoved{At: at, Name: name})
	})
	return state.AnalyticsUsers, err
}
