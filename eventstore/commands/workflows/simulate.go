package workflows

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/webhook"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/cache"
	"payledger/eventstore/commands/causes"
	"payledger/eventstore/format"
	"payledger/eventstore/workers"
)

// MaxSimulated bounds the payments that a simulation lists. Its sums cover all payments.
const MaxSimulated = 1000

// Simulation is a request for the effects that a workflow would have had on the account's past
// events (D20).
type Simulation struct {
	Account  domain.AccountID
	ID       domain.WorkflowID // events that its own runs caused start nothing
	Workflow workflow.Definition
	From, To *time.Time // of the events, inclusive; nil: no bound
}

// Simulated is the result for one trigger event.
type Simulated struct {
	Payment  domain.PaymentID
	Occasion workflow.Occasion
	Currency domain.Currency
	Effects  []Effect
}

// Sum is the result of one action of the workflow over all payments of a currency.
type Sum struct {
	Step     int
	Type     string
	Currency domain.Currency
	Count    int           // runs that would have performed the action
	Refused  int           // runs whose action would have been refused in the state at the trigger
	Payments int           // payments of the runs in Count
	Amount   domain.Amount // of the first run in Count of each payment
}

// Report is the result of a simulation.
type Report struct {
	Events    int // events of the account in the range
	Triggered int // events that match the trigger
	Met       int // events on which the condition holds
	Distinct  int // payments of these events
	Errors    int // events on which the condition could not be evaluated
	Payments  []Simulated
	More      bool // Payments does not list all payments
	Read      int  // events of all accounts that were read
	Sums      []Sum
}

// Simulate evaluates the workflow on the account's past events. It changes nothing. The workflow's
// condition must compile. One simulation of an account, and `simulations` of all accounts, may run
// at a time. Simulate refuses further ones (RateLimitExceeded).
func (e *Engine) Simulate(ctx context.Context, s Simulation) (Report, error) {
	prepared := e.conditionOf(s.Account, s.Workflow)
	if len(prepared.faults) > 0 {
		return Report{}, domain.Invalid("WorkflowRequest", domain.Violation{Path: "$.condition", Description: prepared.faults[0].String()})
	}
	if !e.simulating.enter(s.Account) {
		err := domain.Refuse(domain.KindUnavailable, domain.ReasonRateLimitExceeded, "Other simulations are under way.")
		err.Recovery = "Repeat the request when they have ended."
		return Report{}, err
	}
	defer e.simulating.leave(s.Account)
	total := newReport()
	errs := workers.Each(e.Store.Shards(), simulators, func(shard int) error {
		t := &trial{engine: e, Simulation: s, condition: prepared, before: newRecent(), report: total}
		return t.read(ctx, shard)
	})
	if err := cmp.Or(ctx.Err(), errors.Join(errs...)); err != nil {
		return Report{}, domain.Unavailable(err)
	}
	return total.finished(), nil
}

const (
	// simulators bounds the shards that a simulation reads concurrently, and simulations the
	// concurrent simulations.
	simulators  = 4
	simulations = 2
)

type turnstile struct {
	mu sync.Mutex
	in map[domain.AccountID]bool
}

func (t *turnstile) enter(account domain.AccountID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.in[account] || len(t.in) >= simulations {
		return false
	}
	if t.in == nil {
		t.in = map[domain.AccountID]bool{}
	}
	t.in[account] = true
	return true
}

func (t *turnstile) leave(account domain.AccountID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.in, account)
}

const recentBytes = 8 << 20 // the size of the events in memory on each shard

func newRecent() *cache.Cache[eventstore.Key, *eventstore.Recorded] {
	return cache.New[eventstore.Key](recentBytes, (*eventstore.Recorded).Size, nil)
}

// trial is a simulation on one shard.
type trial struct {
	Simulation
	engine    *Engine
	condition compiled
	before    *cache.Cache[eventstore.Key, *eventstore.Recorded] // the newest events of the aggregates that were read last
	report    *report                                            // of all shards
}

var errEnd = errors.New("workflows: the end of the simulated range")

func (t *trial) read(ctx context.Context, shard int) error {
	last, err := t.engine.Store.LastSeq(ctx, shard)
	if err != nil || last == 0 {
		return err
	}
	near, err := t.engine.Store.Near(ctx, shard, format.GroupOf(last), t.window())
	if err != nil {
		return err
	}
	for _, stretch := range near { // not those between: one wrong clock would add years
		if err := t.readStretch(ctx, shard, stretch.Before(), min(last, stretch.Through())); err != nil {
			return err
		}
	}
	return nil
}

// readStretch reads the events of a shard after an address up to another one.
func (t *trial) readStretch(ctx context.Context, shard int, after, end uint64) error {
	err := t.engine.Store.Subscribe(ctx, shard, after, func(r *eventstore.Recorded) error {
		if r.Seq > end {
			return errEnd
		}
		t.report.count(&t.report.Read)
		if r.Account == t.Account {
			if err := t.event(ctx, r); err != nil {
				return err
			}
		}
		if r.Seq == end {
			return errEnd
		}
		return nil
	})
	if errors.Is(err, errEnd) {
		return nil
	}
	return err
}

// window returns the simulated range.
func (s Simulation) window() eventstore.Window { return eventstore.NewWindow(s.From, s.To) }

// event evaluates the workflow on one event of the account. It makes the cheapest checks first.
func (t *trial) event(ctx context.Context, r *eventstore.Recorded) error {
	defer t.before.Put(r.Key, r)
	if !t.window().Holds(r.Time) {
		return nil
	}
	t.report.count(&t.report.Events)
	candidates, err := causes.Candidates(r)
	kind := t.Workflow.Trigger.EventType
	i := slices.IndexFunc(candidates, func(c webhook.Candidate) bool { return string(c.Kind) == kind })
	if err != nil || i < 0 {
		return err
	}
	subject, err := t.engine.Subjects.Subject(ctx, r, kind, false)
	if err != nil || !matches(t.Workflow.Trigger, subject) {
		return err
	}
	caused, err := causes.Holds(ctx, t.engine.Store, r, candidates[i].When, func(ctx context.Context, shard int, seq uint64) (*eventstore.Recorded, error) {
		if before, there := t.before.Get(r.Key); there && before.Seq == seq {
			return before, nil
		}
		return t.engine.Store.Read(ctx, shard, seq)
	})
	if err != nil || !caused {
		return err
	}
	t.report.count(&t.report.Triggered)
	verdict, failed := t.condition.Holds(subject.Values)
	if verdict.Personal { // the condition needs personal data, which was not decrypted: evaluate again with it
		if subject, err = t.engine.Subjects.Subject(ctx, r, kind, true); err != nil {
			return err
		}
		verdict, failed = t.condition.Holds(subject.Values)
	}
	if failed != nil {
		t.report.count(&t.report.Errors)
	}
	if verdict.Holds {
		cause, err := t.engine.causeOf(ctx, r)
		if err != nil || cause != nil && cause.Workflow.ID == t.ID {
			return err
		}
		t.report.addMatch(Simulated{
			Payment: subject.Payment.ID, Occasion: occasion(r, kind), Currency: subject.Payment.Currency,
			Effects: DryRun(subject, t.Workflow.Actions, r.Time),
		})
	}
	return nil
}
