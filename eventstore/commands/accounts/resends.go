package accounts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"payledger/domain"
	"payledger/domain/webhook"
	"payledger/eventstore/commands"
)

// RecordResend records that the caller requests a further attempt of a delivery (D18). The attempt
// must follow the record. A repeat with the same idempotency key ("" for none) records nothing:
// after a crash before the attempt, the record of the first request counts.
func (s *Accounts) RecordResend(ctx context.Context, by commands.Caller, e webhook.ResendRequested, key string) error {
	place, execute := string(by.Account), s.Log.Webhooks.Execute
	if key != "" {
		place, execute = ResendPlace(by.Account, e.Delivery, key), s.Log.Webhooks.ExecuteNew
	}
	_, err := commands.Request(ctx, s.Base, by, execute, place, func(before webhook.Requests, at time.Time) (webhook.Event, error) {
		if key != "" && before.Resends > 0 {
			return nil, nil
		}
		e.At, e.Account = at, by.Account
		return e, nil
	})
	return err
}

// ResendPlace returns the id under which the request with an idempotency key is recorded, apart
// from all other requests.
func ResendPlace(account domain.AccountID, delivery, key string) string {
	sum := sha256.Sum256([]byte("webhook resend\x00" + string(account) + "\x00" + delivery + "\x00" + key))
	return hex.EncodeToString(sum[:16])
}

// RecordReplay records that the caller requests a replay (D18). The replay must begin after the
// record.
func (s *Accounts) RecordReplay(ctx context.Context, by commands.Caller, e webhook.ReplayRequested) error {
	if err := s.CheckActor(ctx, by); err != nil { // the count may have taken long
		return err
	}
	_, err := commands.Request(ctx, s.Base, by, s.Log.Webhooks.Execute, string(by.Account), func(_ webhook.Requests, at time.Time) (webhook.Event, error) {
		e.At, e.Account = at, by.Account
		return e, nil
	})
	return err
}
