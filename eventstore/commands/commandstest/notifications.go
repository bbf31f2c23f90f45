package commandstest

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/inbox"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/service"
)

// Logging is a service that knows every payment and writes its log to l.
func (r *Rig) Logging(l *Logbook) *service.Service {
	known := &atomic.Bool{}
	known.Store(true)
	return r.InboxService(known, func(c *commands.Config) { c.Logger = zerolog.New(l) })
}

// ResultOf is the notification of the result of a payment's operation.
func ResultOf(id string, p domain.PaymentID, revision string, kind processor.Kind, state processor.State, transaction string) processor.SignedNotification {
	answer := &processor.Answer{State: state, ProcessorTransactionID: transaction, At: DisputedAt}
	if state != processor.Succeeded {
		answer.Code = "05"
	}
	return processor.SignedNotification{Body: "{}", Notification: processor.Notification{
		ID: id, Processor: processor.Adyen, Kind: kind, Key: domain.OperationKey(string(p) + "." + revision), Reference: p, Answer: answer,
	}}
}

// Refusals returns the reasons of rejected notifications, by their ids.
func (r *Rig) Refusals(reference domain.PaymentID) map[string]string {
	r.T.Helper()
	history, err := r.Store.History(context.Background(), eventstore.InboxKey(string(reference)))
	if err != nil {
		r.T.Fatal(err)
	}
	why := map[string]string{}
	for _, recorded := range history {
		event, err := eventstore.Inboxes.Event(recorded)
		if err != nil {
			r.T.Fatal(err)
		}
		if e, is := event.(inbox.WasRejected); is {
			why[e.ID] = e.Refusal
		}
	}
	return why
}

// InboxService is a service that knows payments when known says so.
func (r *Rig) InboxService(known *atomic.Bool, change ...func(*commands.Config)) *service.Service {
	r.T.Helper()
	config := commands.Config{
		Store: r.Store, Secrets: r.Vault, Processors: r.Sim, Disputes: r.Sim, PaymentTimeout: PaymentTimeout, ActionTimeout: time.Hour,
		ClientTokenTTL: time.Hour, Random: rand.Reader, Logger: zerolog.Nop(),
		PaymentAccount: func(ctx context.Context, id domain.PaymentID) (domain.AccountID, bool, error) {
			tip, err := eventstore.NewRepositories(r.Store).Payments.Load(ctx, r.By.Account, id, eventstore.Applied)
			return r.By.Account, known.Load() && tip.State.Exists(), err
		},
		Account: func(id domain.AccountID) (account.State, bool) {
			tip, err := eventstore.NewRepositories(r.Store).Accounts.Load(context.Background(), id, id, eventstore.Applied)
			return tip.State, err == nil && tip.State.Exists()
		},
	}
	for _, c := range change {
		c(&config)
	}
	s := service.New(config)
	r.T.Cleanup(s.Close)
	return s
}

// DisputeNotification is a dispute's notification.
func DisputeNotification(id string, reference domain.PaymentID, status processor.DisputeStatus, at time.Time) processor.SignedNotification {
	return processor.SignedNotification{Body: `{"id":"` + id + `"}`, Notification: processor.Notification{
		ID: id, Processor: processor.Adyen, Kind: processor.Dispute, Reference: reference, Dispute: &processor.DisputeUpdate{
			ID: "dp_1", MerchantID: "m", Type: processor.Chargeback, Status: status, ReasonCode: "13.1", Wording: "late", Amount: 700, Currency: "EUR", At: at,
		},
	}}
}

// DisputedAt is the time of the first notification about a dispute.
var DisputedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Inbox reads an inbox at the log.
func (r *Rig) Inbox(reference domain.PaymentID) inbox.State {
	r.T.Helper()
	tip, err := eventstore.NewRepositories(r.Store).Inboxes.Load(context.Background(), eventstore.InboxOwner, string(reference), eventstore.Latest)
	if err != nil {
		r.T.Fatal(err)
	}
	return tip.State
}
