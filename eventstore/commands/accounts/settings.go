package accounts

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/commands"
	"payledger/eventstore/secrets/hashing"
)

// Accounts carries out the commands of accounts.
type Accounts struct {
	*commands.Base
	Hashing hashing.Bound // of passwords
}

// ChangeRouting replaces the account's routing rules and returns them (D15).
func (s *Accounts) ChangeRouting(ctx context.Context, by commands.Caller, in account.Routing) (account.Routing, error) {
	state, err := s.change(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		event, err := account.DecideChangeRouting(state, account.ChangeRouting{At: at, Routing: in})
		if err != nil || event == nil {
			return event, err
		}
		return event, s.CheckRouting(state.Routing, in)
	})
	return state.Routing, err
}

// ChangeProcessor changes the merchant account at one processor and returns it (D20).
func (s *Accounts) ChangeProcessor(ctx context.Context, by commands.Caller, in account.ChangeProcessor) (account.Processor, error) {
	state, err := s.change(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		in.At = at
		return account.DecideChangeProcessor(state, in)
	})
	changed, _ := state.Processor(in.Name)
	return changed, err
}

// ChangeSettings changes the account's settings and returns them (D20).
func (s *Accounts) ChangeSettings(ctx context.Context, by commands.Caller, in account.ChangeSettings) (account.Settings, error) {
	state, err := s.change(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		in.At = at
		return account.DecideChangeSettings(state, in)
	})
	return state.Settings, err
}

// change records the event that decide returns for the caller's account, if any, and waits until
// every node has applied it.
func (s *Accounts) change(ctx context.Context, by commands.Caller, decide func(account.State, time.Time) (account.Event, error)) (account.State, error) {
	state, elsewhere, err := s.changeShown(ctx, by, decide)
	if err == nil {
		err = elsewhere
	}
	return state, err
}

// changeShown is change for a result that is shown once: the caller gets it even if a node has not
// confirmed the event (elsewhere).
func (s *Accounts) changeShown(ctx context.Context, by commands.Caller, decide func(account.State, time.Time) (account.Event, error)) (now account.State, elsewhere, err error) {
	tip, err := commands.Request(ctx, s.Base, by, s.Log.Accounts.Execute, by.Account, func(state account.State, at time.Time) (account.Event, error) {
		if err := state.CheckActor(by.Actor, by.UserSession, at); err != nil {
			return nil, err
		}
		return decide(state, at)
	})
	gone := domain.ReasonOf(err) == domain.ReasonEntityNotFound // an earlier try may have deleted it, and may not have been confirmed
	if err == nil || gone {
		elsewhere = s.AppliedEverywhere(context.WithoutCancel(ctx), tip.Recorded) // an event of an earlier try counts, too
	}
	if gone && elsewhere != nil {
		err = elsewhere
	}
	return tip.State, elsewhere, err
}
