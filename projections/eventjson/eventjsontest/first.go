package eventjsontest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/domain/dispute"
	"payledger/domain/inbox"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/domain/webhook"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/engine"
)

// Ids of FirstEvents that have a form of their own.
const (
	firstAccount domain.AccountID = "01firstaccount"
	firstPayment domain.PaymentID = "01firstpaymentpaymentpayment"
	firstSession domain.SessionID = "44444444-0000-4000-8000-000000000001"
	firstUUID                     = "55555555-0000-4000-8000-000000000001"
)

// FirstTypes returns the event types that can be the first event of their aggregate.
func FirstTypes() (all []string) {
	for _, f := range firstEvents(time.Now()) {
		all = append(all, f.kind)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// FirstEvents appends each event that can be the first one of its aggregate, to an aggregate of its
// own. It has as few values as possible.
func FirstEvents(ctx context.Context, s *engine.Store) error {
	for i, f := range firstEvents(s.Now().UTC()) {
		meta, err := s.NewMeta("system", "first")
		if err == nil {
			err = f.append(ctx, s, meta, fmt.Sprintf("01firstaggregateaggregate%03d", i))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.kind, err)
		}
	}
	return nil
}

// first is an event that can be the first one of its aggregate.
type first struct {
	kind   string
	append func(ctx context.Context, s *engine.Store, meta eventstore.Meta, id string) error
}

func firstEvents(at time.Time) []first { //house:exempt a table: one event each
	subject := dispute.Subject{
		Payment: firstPayment, OrderID: "order", PaymentMethodType: instrument.MethodCard, Processor: processor.Adyen, ProcessorDisputeID: "psp",
	}
	record := func(status processor.DisputeStatus) dispute.Record {
		return dispute.Record{At: at, ID: "01firstdispute", Account: firstAccount, Subject: subject, Fact: dispute.Fact{
			EventID: "notification", At: at, ReceivedAt: at, Type: processor.Retrieval, Status: status, ReasonCode: "10.4", Amount: 100, Currency: "EUR",
		}}
	}
	run := func(holds bool) workflow.StartRun {
		return workflow.StartRun{
			At: at, Account: firstAccount, Payment: firstPayment, Condition: workflow.Evaluation{Holds: holds},
			Workflow: workflow.Workflow{ID: "01firstworkflow", Version: 1, Definition: definition}, Trigger: workflow.Occasion{
				EventType: "PAYMENT.STATUS", EventID: firstUUID, Aggregate: "payment", AggregateID: string(firstPayment), Sequence: 1, Seq: 1, At: at,
			},
		}
	}
	amount := domain.Amount(100)
	return []first{
		{eventstore.LogInitialized{}.Type(), func(ctx context.Context, s *engine.Store, _ eventstore.Meta, _ string) error {
			return eventstore.Initialize(ctx, s, eventstore.LogState{Account: firstAccount, Environment: account.Sandbox}, "system")
		}},
		firstOf(eventstore.Accounts, func(id string) (account.Event, error) {
			return account.DecideCreate(account.State{}, account.Create{Created: account.Created{
				At: at, ID: domain.AccountID(id), Name: "Shop", Environment: account.Sandbox,
				APIKey:  account.APIKey{ID: "01firstkey", Hash: []byte("hash"), Scopes: account.Scopes, CreatedAt: at},
				Signing: account.SigningSecret{CreatedAt: at}, User: account.User{ID: "01firstuser", Name: "admin", Role: account.RoleAdmin},
			}})
		}),
		firstOf(eventstore.Sessions, func(id string) (session.Event, error) {
			return session.DecideCreate(session.State{}, session.Create{At: at, ID: domain.SessionID(id), Account: firstAccount, ExpiresAt: at})
		}),
		firstOf(eventstore.Instruments, func(id string) (instrument.Event, error) {
			return instrument.DecideTokenize(instrument.State{}, instrument.Tokenize{Tokenized: instrument.Tokenized{
				At: at, Token: domain.Token(id), Account: firstAccount, ExpiresAt: at, TokenType: instrument.SingleUse, AnalyticsID: firstUUID,
				Card: domain.NewCard("4111111111111111", "12", "2030", false),
			}})
		}),
		firstOf(eventstore.Attempts, func(id string) (attempt.Event, error) {
			return attempt.DecideCreate(attempt.State{}, attempt.Create{Created: attempt.Created{
				At: at, ID: domain.AttemptID(id), Account: firstAccount, ExpiresAt: at, Session: firstSession, Token: "01firsttoken",
			}})
		}),
		firstOf(eventstore.Payments, func(id string) (payment.Event, error) { // with a vaulted card, which has no tokenization of its own
			return payment.DecideCreate(payment.State{}, payment.Create{
				At: at, ID: domain.PaymentID(id), Account: firstAccount, OrderID: "order", Currency: "EUR", Amount: &amount,
				Method: payment.Method{Token: "01firsttoken", Type: instrument.MethodCard, AuthorizationType: "FINAL", Card: domain.NewCard("4111111111111111", "12", "2030", false)},
				Route:  []payment.Target{{Processor: processor.Adyen, MerchantID: "merchant"}},
			})
		}),
		firstOf(eventstore.Payments, func(string) (payment.Event, error) {
			return payment.DecideClaim(payment.State{}, payment.ClaimKey{At: at, Account: firstAccount, Payment: firstPayment, Operation: processor.Capture})
		}),
		firstOf(eventstore.Payments, func(string) (payment.Event, error) { // no payment is made
			return payment.DecideGiveUp(payment.State{}, payment.GiveUp{At: at, Account: firstAccount})
		}),
		firstOf(eventstore.Disputes, func(string) (dispute.Event, error) {
			return dispute.DecideRecord(dispute.State{}, record(processor.DisputeOpen))
		}),
		firstOf(eventstore.Disputes, func(string) (dispute.Event, error) { // impossible, and nothing before it
			return dispute.DecideRecord(dispute.State{}, record(processor.DisputeLost))
		}),
		firstOf(eventstore.Inboxes, func(id string) (inbox.Event, error) {
			return inbox.DecideReceive(inbox.State{}, inbox.Receive{At: at, Body: "{}", Payload: processor.Notification{
				ID: "notification", Processor: processor.Adyen, Kind: processor.Capture, Reference: domain.PaymentID(id),
			}})
		}),
		firstOf(eventstore.Inboxes, func(string) (inbox.Event, error) { // the processor's list, before any notification
			return inbox.DecideSwept(inbox.State{}, inbox.Swept{At: at, Processor: processor.Adyen, Through: at.Add(-time.Minute)})
		}),
		firstOf(eventstore.Persons, func(id string) (person.Event, error) {
			return person.DecideErase(person.State{}, person.Erase{At: at, ID: domain.PersonID(id), Account: firstAccount, CustomerID: "customer"})
		}),
		firstOf(eventstore.Workflows, func(string) (workflow.Event, error) {
			return workflow.DecideCreate(workflow.State{}, workflow.Create{At: at, Account: firstAccount, ID: "01firstworkflow", Definition: definition})
		}),
		firstOf(eventstore.WorkflowRuns, func(string) (workflow.RunEvent, error) { return workflow.DecideStart(workflow.RunState{}, run(true)) }),
		firstOf(eventstore.WorkflowRuns, func(string) (workflow.RunEvent, error) { return workflow.DecideStart(workflow.RunState{}, run(false)) }),
		firstOf(eventstore.Webhooks, func(string) (webhook.Event, error) {
			return webhook.ResendRequested{At: at, Account: firstAccount, Delivery: "01firstdelivery", Endpoint: firstUUID, EventType: "PAYMENT.STATUS"}, nil
		}),
		firstOf(eventstore.Webhooks, func(string) (webhook.Event, error) {
			return webhook.ReplayRequested{At: at, Account: firstAccount, Replay: "01firstreplay", Endpoint: firstUUID, Since: at, Until: at, EventTypes: []string{"PAYMENT.STATUS"}}, nil
		}),
	}
}

var definition = workflow.Definition{
	Name: "Capture", Trigger: workflow.Trigger{EventType: "PAYMENT.STATUS", Status: "AUTHORIZED"}, Condition: "true", Actions: []workflow.Action{{Type: workflow.Capture}},
}

// firstOf returns a first event, of the type that decide returns.
func firstOf[S any, E domain.Event](a *eventstore.Aggregate[S, E], decide func(id string) (E, error)) first {
	e, err := decide("01first")
	if err != nil {
		panic(err)
	}
	return first{e.Type(), func(ctx context.Context, s *engine.Store, meta eventstore.Meta, id string) error {
		account := firstAccount
		if a.Name == eventstore.Inboxes.Name {
			account = eventstore.InboxOwner
		}
		if a.Name == eventstore.Accounts.Name {
			account = domain.AccountID(id)
		}
		_, err := eventstore.ExecuteNew(ctx, s, a, a.Key(account, id), meta, func(S) (E, error) { return decide(id) })
		return err
	}}
}
