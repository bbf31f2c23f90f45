package workflows

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/process"
	"payledger/domain/workflow"
	"payledger/eventstore"
)

const (
	// maxBatch is how many events are planned before the place moves.
	maxBatch = 512
	// startWriters is how many runs are begun side by side.
	startWriters = 64
)

// plan begins the runs of events until ctx ends (nil) or an event cannot be planned: it is named, and never skipped.
func (e *Engine) plan(ctx context.Context) error {
	defer e.reader.Stop()
	for {
		events, err := e.reader.Next(ctx, maxBatch)
		if err == nil {
			err = e.planBatch(ctx, events)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (e *Engine) planBatch(ctx context.Context, events []*eventstore.Recorded) error {
	var starts []start
	books := map[domain.AccountID]*eventstore.Recorded{}
	for _, r := range events {
		if r.Aggregate == eventstore.Payments.Name {
			e.flights.wake(domain.PaymentID(r.ID))
		}
		found, err := e.starts(ctx, books, r)
		if err != nil {
			return fmt.Errorf("workflows: %s revision %d (shard %d sequence %d): %w", r.Key, r.Revision, r.Shard, r.Seq, err)
		}
		starts = append(starts, found...)
	}
	if err := e.begin(ctx, starts); err != nil {
		return err
	}
	e.place.pass(events)
	return nil
}

// start is a run to be begun.
type start struct {
	command workflow.StartRun
	cause   *eventstore.Recorded // the trigger
}

// starts gives the runs that an event begins.
func (e *Engine) starts(ctx context.Context, books map[domain.AccountID]*eventstore.Recorded, r *eventstore.Recorded) ([]start, error) {
	kinds, err := e.Subjects.Kinds(r)
	if err != nil || len(kinds) == 0 {
		return nil, err
	}
	inForce, err := e.inForce(ctx, books, r)
	if err != nil {
		return nil, err
	}
	var begun []start
	for _, kind := range kinds {
		if waiting := inForce.StartedBy(kind); len(waiting) > 0 {
			found, err := e.startsOf(ctx, r, kind, waiting)
			if err != nil {
				return nil, err
			}
			begun = append(begun, found...)
		}
	}
	return begun, nil
}

// inForce gives the account's workflows as they were at the event's time.
func (e *Engine) inForce(ctx context.Context, books map[domain.AccountID]*eventstore.Recorded, r *eventstore.Recorded) (state workflow.State, err error) {
	err = e.persist(ctx, func() error {
		tip, known := books[r.Account]
		if !known {
			found, err := eventstore.LoadTipFresh(ctx, e.Store, eventstore.Workflows, eventstore.Workflows.Key(r.Account, string(r.Account)))
			if err != nil {
				return err
			}
			tip = found.Recorded
			books[r.Account] = tip
		}
		state, err = eventstore.AsOf(ctx, e.Store, eventstore.Workflows, tip, r.Time)
		return err
	})
	return state, err
}

// startsOf gives the runs of the workflows that wait for the event type.
func (e *Engine) startsOf(ctx context.Context, r *eventstore.Recorded, kind string, waiting []workflow.Workflow) ([]start, error) {
	var subject Subject
	var cause *workflow.RunState
	caused := false
	err := e.persist(ctx, func() (err error) {
		if caused, err = e.Subjects.Caused(ctx, r, kind, e.Store.Read); err != nil || !caused {
			return err
		}
		if cause, err = e.causeOf(ctx, r); err != nil {
			return err
		}
		subject, err = e.Subjects.Subject(ctx, r, kind, true)
		return err
	})
	if err != nil || !caused {
		return nil, err
	}
	var begun []start
	for _, w := range waiting {
		if !met(w.Definition.Trigger, subject) {
			continue
		}
		begun = append(begun, start{cause: r, command: workflow.StartRun{
			At: e.Store.Now(), Account: r.Account, Workflow: w, Trigger: occasion(r, kind), Payment: subject.Payment.ID,
			Amount: subject.Payment.Amount, Condition: e.conditions.of(w.Definition).evaluate(subject.Values), Cause: cause,
		}})
	}
	return begun, nil
}

// met tells whether a trigger is about the status that the payment came into.
func met(t workflow.Trigger, s Subject) bool {
	return t.Status == "" || t.Status == string(s.Payment.Status())
}

func occasion(r *eventstore.Recorded, kind string) workflow.Occasion {
	return workflow.Occasion{
		EventType: kind, EventID: r.EventID, Aggregate: r.Aggregate, AggregateID: r.ID, Sequence: r.Revision,
		Shard: int64(r.Shard), Seq: r.Seq, At: r.Time,
	}
}

// causeOf gives the run of which an action led to the event; nil when none did.
func (e *Engine) causeOf(ctx context.Context, r *eventstore.Recorded) (*workflow.RunState, error) {
	id, is := workflow.CausedBy(r.CorrelationID)
	if !is {
		return nil, nil
	}
	tip, err := eventstore.LoadTip(ctx, e.Store, eventstore.WorkflowRuns, eventstore.WorkflowRuns.Key(r.Account, string(id)))
	if err != nil || !tip.State.Exists() {
		return nil, err
	}
	return &tip.State, nil
}

// begin makes runs durable and has those that are due soon taken.
func (e *Engine) begin(ctx context.Context, starts []start) error {
	var (
		mu      sync.Mutex
		first   error
		running sync.WaitGroup
		next    = make(chan start)
	)
	for range min(startWriters, len(starts)) {
		running.Go(func() {
			for s := range next {
				err := e.persist(ctx, func() error { return e.beginOne(ctx, s) })
				mu.Lock()
				first = cmp.Or(first, err)
				mu.Unlock()
			}
		})
	}
	for _, s := range starts {
		next <- s
	}
	close(next)
	running.Wait()
	return first
}

func (e *Engine) beginOne(ctx context.Context, s start) error {
	id := s.command.RunID()
	meta, err := e.Store.NewMeta("workflow:"+string(s.command.Workflow.ID), s.cause.CorrelationID)
	if err != nil {
		return err
	}
	tip, err := eventstore.ExecuteNew(ctx, e.Store, eventstore.WorkflowRuns, eventstore.WorkflowRuns.Key(s.command.Account, string(id)), meta,
		func(state workflow.RunState) (workflow.RunEvent, error) {
			c := s.command
			c.At = meta.At
			return workflow.DecideStart(state, c)
		})
	if err != nil {
		return err
	}
	if run := tip.State; tip.Appended && run.Open() && run.DueAt.Before(e.Now().Add(horizon)) {
		e.take(OpenRunOf(run))
	}
	return nil
}

// OpenRunOf is what the engine has to know of a run to take it.
func OpenRunOf(s workflow.RunState) OpenRun {
	return OpenRun{
		Account: s.Account, ID: s.ID, Workflow: s.Workflow.ID, Payment: s.Payment, DueAt: s.DueAt,
		Running: s.Status() == workflow.Running, Updated: s.UpdatedAt,
	}
}

// persist repeats what the store may refuse for a while, until it succeeds or ctx ends.
func (e *Engine) persist(ctx context.Context, do func() error) error {
	for tried := 0; ; tried++ {
		err := do()
		if err == nil || ctx.Err() != nil {
			return cmp.Or(ctx.Err(), err)
		}
		if !transient(err) {
			return err
		}
		e.Logger.Warn().Err(err).Msg("workflows: trying again")
		pause := time.NewTimer(min(process.NextInterval(tried), retryMost))
		select {
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		case <-pause.C:
		}
	}
}
