package accounts

import (
	"context"
	"time"

	"payledger/domain/webhook"
	"payledger/eventstore/commands"
)

// RecordResend records that the caller requests a further attempt of a delivery (D18). The attempt must follow the record, so that no
// attempt is made by nobody.
func (s *Accounts) RecordResend(ctx context.Context, by commands.Caller, e webhook.ResendRequested) error {
	_, err := commands.Request(ctx, s.Base, by, s.Log.Webhooks.Execute, by.Account, func(_ webhook.Requests, at time.Time) (webhook.Event, error) {
		e.At, e.Account = at, by.Account
		return e, nil
	})
	return err
}

// RecordReplay records that the caller requests a replay (D18). The replay must begin after the record.
func (s *Accounts) RecordReplay(ctx context.Context, by commands.Caller, e webhook.ReplayRequested) error {
	_, err := commands.Request(ctx, s.Base, by, s.Log.Webhooks.Execute, by.Account, func(_ webhook.Requests, at time.Time) (webhook.Event, error) {
		e.At, e.Account = at, by.Account
		return e, nil
	})
	return err
}
