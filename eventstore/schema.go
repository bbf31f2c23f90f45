package eventstore

import (
	"fmt"

	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/domain/dispute"
	"payledger/domain/inbox"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/domain/workflow"
)

// The aggregates of the ledger. The number is the schema version (Ledger-Schema) that this build writes:
// raise it when a struct tag, a field's meaning or an event type changes, and add the upgrade of each
// older event to Upgrades; the golden bytes in testdata/golden stay for ever.
var (
	Payments = NewAggregate("payment", 6, payment.Events(), payment.Evolve).letting(Leaving[payment.State]{
		Newest: newestLeft, Whole: payment.State.HasPast, Join: joinPast, Earlier: payment.State.WithPastOf,
	})
	Sessions = NewAggregate("session", 4, session.Events(), session.Evolve)
	// Instruments are payment instruments, by token.
	Instruments = NewAggregate("instrument", 3, instrument.Events(), instrument.Evolve)
	// Attempts are payment attempts under manual approval.
	Attempts = NewAggregate("attempt", 2, attempt.Events(), attempt.Evolve)
	Accounts = NewAggregate("account", 3, account.Events(), account.Evolve)
	Disputes = NewAggregate("dispute", 1, dispute.Events(), dispute.Evolve)
	// Inboxes hold what processors told unasked, by payment reference; see InboxKey.
	Inboxes = NewAggregate("inbox", 3, inbox.Events(), inbox.Evolve)
	// Workflows are all workflows of an account, by its id; WorkflowRuns are their runs.
	Workflows    = NewAggregate("workflow", 1, workflow.Events(), workflow.Evolve)
	WorkflowRuns = NewAggregate("workflow_run", 1, workflow.RunEvents(), workflow.EvolveRun)
)

// InboxKey names the inbox of a payment reference, or of a processor's look-ups. It is the system's: whose the payment
// is need not be known when something is told about it.
func InboxKey(reference string) Key { return Inboxes.Key(systemAccount, reference) }

// newestLeft returns what left a payment's state with its newest event.
func newestLeft(s payment.State) (any, bool) {
	left, some := s.NewestFinished()
	return left, some
}

// joinPast returns a payment's state with its past.
func joinPast(s payment.State, rows []LeftRow) (payment.State, error) {
	s.Past = nil
	for _, row := range rows {
		var left payment.Finished
		if err := unmarshal(row.Data, &left); err != nil {
			return s, fmt.Errorf("eventstore: what left payment %s at revision %d: %w", s.ID, row.Revision, err)
		}
		s.Past = s.Past.Then(row.Revision, left)
	}
	return s, nil
}
