package accounts

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore/commands"
)

// Accounts carries out the commands of accounts.
type Accounts struct{ *commands.Base }

// ProcessorInput changes the merchant account at one processor; nil leaves a field unchanged (D20).
type ProcessorInput struct {
	Name       processor.Name
	Enabled    *bool
	MerchantID *string
}

// SettingsInput changes the account's settings; nil leaves a setting unchanged (D20).
type SettingsInput struct {
	CaptureMode    *string `json:"captureMode"`
	ClientTokenTTL *int64  `json:"clientTokenTtl"` // seconds; 0: the service's own
	First6Digits   *bool   `json:"first6Digits"`
	DisplayName    *string `json:"displayName"` // "": none
}

// ChangeRouting replaces the account's routing rules and returns them (D15).
func (s *Accounts) ChangeRouting(ctx context.Context, by commands.Caller, in account.Routing) (account.Routing, error) {
	state, err := s.change(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		return account.DecideChangeRouting(state, account.ChangeRouting{At: at, Routing: in})
	})
	return state.Routing, err
}

// ChangeProcessor changes the merchant account at one processor and returns it (D20).
func (s *Accounts) ChangeProcessor(ctx context.Context, by commands.Caller, in ProcessorInput) (account.Processor, error) {
	state, err := s.change(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		return account.DecideChangeProcessor(state, account.ChangeProcessor{
			At: at, Name: in.Name, Enabled: in.Enabled, MerchantID: in.MerchantID,
		})
	})
	changed, _ := state.Processor(in.Name)
	return changed, err
}

// ChangeSettings changes the account's settings and returns them (D20).
func (s *Accounts) ChangeSettings(ctx context.Context, by commands.Caller, in SettingsInput) (account.Settings, error) {
	state, err := s.change(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		return account.DecideChangeSettings(state, account.ChangeSettings{
			At: at, First6Digits: in.First6Digits, CaptureMode: in.CaptureMode, ClientTokenTTL: in.ClientTokenTTL,
			DisplayName: in.DisplayName,
		})
	})
	return state.Settings, err
}

// change records the event that decide returns for the caller's account, if any, and returns the account. Every node has applied
// the event then.
func (s *Accounts) change(ctx context.Context, by commands.Caller, decide func(account.State, time.Time) (account.Event, error)) (account.State, error) {
	state, elsewhere, err := s.changeShown(ctx, by, decide)
	if err == nil {
		err = elsewhere
	}
	return state, err
}

// changeShown is change for a command whose result is shown once: the caller gets the result even if a node has not confirmed the event.
// elsewhere is the reason.
func (s *Accounts) changeShown(ctx context.Context, by commands.Caller, decide func(account.State, time.Time) (account.Event, error)) (now account.State, elsewhere, err error) {
	tip, err := commands.Request(ctx, s.Base, by, s.Log.Accounts.Execute, by.Account, decide)
	gone := domain.ReasonOf(err) == domain.ReasonEntityNotFound // an earlier try may have deleted it, and may not have been confirmed
	if err == nil || gone {
		elsewhere = s.AppliedEverywhere(context.WithoutCancel(ctx), tip.Recorded) // an event of an earlier try counts, too
	}
	if gone && elsewhere != nil {
		err = elsewhere
	}
	return tip.State, elsewhere, err
}
