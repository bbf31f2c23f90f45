package eventstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/domain/dispute"
	"payledger/domain/inbox"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/domain/session"
	"payledger/domain/webhook"
	"payledger/domain/workflow"
	"payledger/eventstore/codec"
	"payledger/eventstore/format"
)

type (
	// Key names one aggregate.
	Key = format.Key
	// Recorded is a stored event.
	Recorded = format.Recorded
	// Hash is a link of a hash chain.
	Hash = format.Hash
	// Aggregate has the rules of one kind of aggregate.
	Aggregate[S any, E domain.Event] = format.Aggregate[S, E]
)

// The aggregates of the ledger. The number is the schema version (Ledger-Schema) that this build
// writes. It is 1 until the first release. The package comment, "Schemas", has the rules for a
// change.
var (
	Payments    = format.Letting(format.NewAggregate("payment", 1, payment.Events(), payment.Evolve), paymentParts)
	Sessions    = format.NewAggregate("session", 1, session.Events(), session.Evolve)
	Instruments = format.NewAggregate("instrument", 1, instrument.Events(), instrument.Evolve)
	Attempts    = format.NewAggregate("attempt", 1, attempt.Events(), attempt.Evolve)
	Accounts    = format.NewAggregate("account", 1, account.Events(), account.Evolve)
	Disputes    = format.NewAggregate("dispute", 1, dispute.Events(), dispute.Evolve)
	// Inboxes hold the unsolicited notifications of processors, by payment reference; see InboxKey.
	Inboxes = format.NewAggregate("inbox", 1, inbox.Events(), inbox.Evolve)
	// Persons are the erasures of persons, by domain.PersonIDFor.
	Persons = format.NewAggregate("person", 1, person.Events(), person.Evolve)
	// Workflows are all workflows of an account, by its id; WorkflowRuns are their runs.
	Workflows    = format.NewAggregate("workflow", 1, workflow.Events(), workflow.Evolve)
	WorkflowRuns = format.NewAggregate("workflow_run", 1, workflow.RunEvents(), workflow.EvolveRun)
	// Webhooks are requests to send webhooks again: those of an account by its id, and each one
	// with an idempotency key by an id of its own.
	Webhooks = format.NewAggregate("webhook", 1, webhook.Events(), webhook.EvolveRequests)
)

// Schemas returns the newest schema of each kind of aggregate that this build reads and writes, by
// the aggregate's name.
func Schemas() map[string]int {
	all := map[string]int{}
	for _, c := range Cores() {
		all[c.Name] = c.Schema
	}
	return all
}

// InboxOwner is the owner of all inboxes: a notification can arrive before its payment, and with it
// its account, is known.
const InboxOwner = format.SystemAccount

// InboxKey names the inbox of a payment reference, or of a processor's sweeps.
func InboxKey(reference string) Key { return Inboxes.Key(format.SystemAccount, reference) }

// paymentParts are the parts that leave the state of a payment.
var paymentParts = format.Leaving[payment.State]{
	Newest: func(s payment.State) (any, bool) { return s.NewestFinished() },
	Whole:  payment.State.HasPast, Join: joinPast, Earlier: payment.State.WithPastOf,
}

func joinPast(s payment.State, rows []format.LeftRow) (payment.State, error) {
	s.Past = nil
	for _, row := range rows {
		var left payment.Finished
		if err := codec.Unmarshal(row.Data, &left); err != nil {
			return s, fmt.Errorf("eventstore: payment %s: the part that revision %d moved out of the state: %w", s.ID, row.Revision, err)
		}
		s.Past = s.Past.Then(row.Revision, left)
	}
	return s, nil
}

// Repository loads and appends the aggregates of one kind in one log. It has functions instead of
// methods: an importer that reaches the type would compile its methods for every aggregate.
type Repository[ID ~string, S any, E domain.Event] struct {
	// Key returns the name of an aggregate in the log.
	Key func(owner domain.AccountID, id ID) Key
	// Load returns an aggregate's tip. The tip of an aggregate that does not exist has the zero
	// state and no event.
	Load func(ctx context.Context, owner domain.AccountID, id ID, consistency Consistency) (Tip[S], error)
	// Remembered returns an aggregate's tip if this process has it in memory.
	Remembered func(owner domain.AccountID, id ID) (Tip[S], bool)
	// Execute loads an aggregate, decides and appends.
	Execute func(ctx context.Context, owner domain.AccountID, id ID, meta Meta, decide func(S) (E, error)) (Tip[S], error)
	// ExecuteNew is Execute for an aggregate that should not exist yet. The first decision is
	// without a load.
	ExecuteNew func(ctx context.Context, owner domain.AccountID, id ID, meta Meta, decide func(S) (E, error)) (Tip[S], error)
	// ExecuteFrom is Execute with a tip that the caller has already loaded.
	ExecuteFrom func(ctx context.Context, tip Tip[S], meta Meta, decide func(S) (E, error)) (Tip[S], error)
}

func newRepository[ID ~string, S any, E domain.Event](s Store, a *Aggregate[S, E]) Repository[ID, S, E] {
	key := func(owner domain.AccountID, id ID) Key { return a.Key(owner, string(id)) }
	return Repository[ID, S, E]{
		Key: key,
		Load: func(ctx context.Context, owner domain.AccountID, id ID, consistency Consistency) (Tip[S], error) {
			return Load(ctx, s, a, key(owner, id), consistency)
		},
		Remembered: func(owner domain.AccountID, id ID) (Tip[S], bool) { return Remembered(s, a, key(owner, id)) },
		Execute: func(ctx context.Context, owner domain.AccountID, id ID, meta Meta, decide func(S) (E, error)) (Tip[S], error) {
			return Execute(ctx, s, a, key(owner, id), meta, decide)
		},
		ExecuteNew: func(ctx context.Context, owner domain.AccountID, id ID, meta Meta, decide func(S) (E, error)) (Tip[S], error) {
			return ExecuteNew(ctx, s, a, key(owner, id), meta, decide)
		},
		ExecuteFrom: func(ctx context.Context, tip Tip[S], meta Meta, decide func(S) (E, error)) (Tip[S], error) {
			return ExecuteFrom(ctx, s, a, tip, meta, decide)
		},
	}
}

// Repositories are the ledger's aggregates in one log.
type Repositories struct {
	Payments     Repository[domain.PaymentID, payment.State, payment.Event]
	Sessions     Repository[domain.SessionID, session.State, session.Event]
	Instruments  Repository[domain.Token, instrument.State, instrument.Event]
	Attempts     Repository[domain.AttemptID, attempt.State, attempt.Event]
	Accounts     Repository[domain.AccountID, account.State, account.Event]
	Disputes     Repository[domain.DisputeID, dispute.State, dispute.Event]
	Inboxes      Repository[string, inbox.State, inbox.Event] // of InboxOwner
	Persons      Repository[domain.PersonID, person.State, person.Event]
	Workflows    Repository[domain.AccountID, workflow.State, workflow.Event]
	WorkflowRuns Repository[domain.RunID, workflow.RunState, workflow.RunEvent]
	Webhooks     Repository[string, webhook.Requests, webhook.Event] // of an account, or of one idempotency key
}

// NewRepositories returns the aggregates of the log. It is no method: an importer of the store
// would then compile all of them.
func NewRepositories(s Store) *Repositories {
	return &Repositories{
		Payments:     newRepository[domain.PaymentID](s, Payments),
		Sessions:     newRepository[domain.SessionID](s, Sessions),
		Instruments:  newRepository[domain.Token](s, Instruments),
		Attempts:     newRepository[domain.AttemptID](s, Attempts),
		Accounts:     newRepository[domain.AccountID](s, Accounts),
		Disputes:     newRepository[domain.DisputeID](s, Disputes),
		Inboxes:      newRepository[string](s, Inboxes),
		Persons:      newRepository[domain.PersonID](s, Persons),
		Workflows:    newRepository[domain.AccountID](s, Workflows),
		WorkflowRuns: newRepository[domain.RunID](s, WorkflowRuns),
		Webhooks:     newRepository[string](s, Webhooks),
	}
}

// LogInitialized says that the log has its first account: a log is initialized once, in a cluster
// too.
type LogInitialized struct {
	At          time.Time        `json:"at"`
	Account     domain.AccountID `json:"accountId"`
	Environment string           `json:"environment"`
}

func (LogInitialized) Type() string { return "log.initialized" }

// LogState is what a log is for.
type LogState struct {
	Account     domain.AccountID `json:"accountId"`
	Environment string           `json:"environment"`
}

// Logs is the aggregate of the log itself; there is one, under the account "system".
var Logs = format.NewAggregate("log", 1, []LogInitialized{{}}, func(_ LogState, e LogInitialized) LogState {
	return LogState{Account: e.Account, Environment: e.Environment}
})

var logKey = Logs.Key(format.SystemAccount, "log")

// Initialized returns the purpose of the log, or ErrNotFound if it has no account yet.
func Initialized(ctx context.Context, s Tips) (LogState, error) {
	r, err := s.Load(ctx, logKey, Latest)
	if err != nil {
		return LogState{}, err
	}
	return Logs.State(r)
}

// Initialize claims the log for its first account; ErrConflict when another was first.
func Initialize(ctx context.Context, s Store, state LogState, actor string) error {
	meta, err := s.NewMeta(actor, "init")
	if err != nil {
		return err
	}
	_, err = ExecuteNew(ctx, s, Logs, logKey, meta, func(there LogState) (LogInitialized, error) {
		if there != (LogState{}) {
			return LogInitialized{}, ErrConflict
		}
		return LogInitialized{At: meta.At, Account: state.Account, Environment: state.Environment}, nil
	})
	if errors.Is(err, ErrConflict) {
		return ErrConflict
	}
	return err
}

// Cores returns the aggregates without their types, in the order above.
func Cores() []*format.Core {
	return []*format.Core{
		Payments.Core, Sessions.Core, Instruments.Core, Attempts.Core, Accounts.Core, Disputes.Core, Inboxes.Core, Persons.Core,
		Workflows.Core, WorkflowRuns.Core, Webhooks.Core, Logs.Core,
	}
}
