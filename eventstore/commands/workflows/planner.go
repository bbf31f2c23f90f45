package workflows

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"payledger/domain"
	"payledger/domain/webhook"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/commands/causes"
	"payledger/eventstore/workers"
)

const (
	// maxBatch is the number of events that are planned before the position moves.
	maxBatch = 512
	// startWriters bounds the runs that are started concurrently.
	startWriters = 64
)

// plan starts the runs of events until ctx ends (nil) or an event cannot be planned. The error
// names the event. No event is skipped.
func (e *Engine) plan(ctx context.Context) error {
	defer e.reader.Stop()
	return e.others.Plan(ctx, func(ctx context.Context) ([]*eventstore.Recorded, error) { return e.reader.Next(ctx, maxBatch) }, e.planBatch)
}

func (e *Engine) planBatch(ctx context.Context, events []*eventstore.Recorded) error {
	var own, others []possible
	e.definitions.refresh()
	for _, r := range events {
		e.wakeRuns(r)
		found, err := e.possible(ctx, r)
		if err != nil {
			return planError(r, err)
		}
		if e.plans(r.CommandID) {
			own = append(own, found...)
		} else {
			others = append(others, found...)
		}
	}
	if err := e.startPossible(ctx, own); err != nil {
		return err
	}
	return e.others.Add(ctx, events, others)
}

func (e *Engine) plans(command string) bool {
	if e.Plans != nil {
		return e.Plans(command)
	}
	return e.Left == nil || e.Left(command)
}

func planError(r *eventstore.Recorded, err error) error {
	return fmt.Errorf("workflows: %s revision %d (shard %d sequence %d): %w", r.Key, r.Revision, r.Shard, r.Seq, err)
}

// possible are the workflows that an event of one kind may start.
type possible struct {
	event     *eventstore.Recorded
	candidate webhook.Candidate
	waiting   []workflow.Workflow
}

// started reports whether this node knows a run of each of the workflows. Then another node has
// evaluated the event.
func (e *Engine) started(p possible) (bool, error) {
	for _, w := range p.waiting {
		id := startOf(p.event, string(p.candidate.Kind), w).command.RunID()
		tip, err := e.Store.Known(eventstore.WorkflowRuns.Key(p.event.Account, string(id)))
		if tip == nil || err != nil {
			return false, err
		}
	}
	return true, nil
}

// startPossible evaluates events, and starts their runs.
func (e *Engine) startPossible(ctx context.Context, all []possible) error {
	var starts []start
	spend, of := uint64(0), (*eventstore.Recorded)(nil)
	for _, p := range all {
		if p.event != of {
			spend, of = allowance, p.event
		}
		found, err := e.starts(ctx, p, &spend)
		if err != nil {
			return planError(p.event, err)
		}
		starts = append(starts, found...)
	}
	return e.startRuns(ctx, starts)
}

// wakeRuns wakes the runs that wait for an event's payment, and a run that another node may have
// changed.
func (e *Engine) wakeRuns(r *eventstore.Recorded) {
	switch {
	case r.Aggregate == eventstore.Payments.Name:
		e.wake(domain.PaymentID(r.ID))
	case r.Aggregate == eventstore.WorkflowRuns.Name && r.Revision > 1 && !e.Alone:
		e.active.wakeRun(domain.RunID(r.ID))
	}
}

type start struct {
	command workflow.StartRun
	cause   *eventstore.Recorded // the trigger
}

// possible returns what an event may start.
func (e *Engine) possible(ctx context.Context, r *eventstore.Recorded) (all []possible, err error) {
	candidates, err := causes.Candidates(r)
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	var inForce workflow.State
	if err := e.persist(ctx, func() (err error) {
		inForce, err = e.definitions.at(ctx, r.Account, r.Time)
		return err
	}); err != nil {
		return nil, err
	}
	for _, candidate := range candidates {
		if waiting := inForce.StartedBy(string(candidate.Kind)); len(waiting) > 0 {
			all = append(all, possible{r, candidate, waiting})
		}
	}
	return all, nil
}

// starts returns the runs that an event starts. Those of an unreadable event report the fault and
// are skipped: it holds up no others.
func (e *Engine) starts(ctx context.Context, p possible, spend *uint64) ([]start, error) {
	found, err := e.startsOf(ctx, p.event, p.candidate, p.waiting, spend)
	if errors.Is(err, errUnreadable) {
		e.Logger.Error().Err(err).Str("event", p.event.Key.String()).Uint64("revision", p.event.Revision).Msg("an event cannot be evaluated; its workflow runs are skipped")
		found, err = unreadableStarts(p.event, string(p.candidate.Kind), p.waiting), nil
	}
	return found, err
}

// startsOf returns the runs that an event starts for one kind of webhook. waiting are the workflows
// with that trigger.
func (e *Engine) startsOf(ctx context.Context, r *eventstore.Recorded, candidate webhook.Candidate, waiting []workflow.Workflow, spend *uint64) ([]start, error) {
	var subject Subject
	var cause *workflow.RunState
	kind, caused := string(candidate.Kind), false
	err := e.persistOn(ctx, r, func() (err error) {
		if caused, err = causes.Holds(ctx, e.Store, r, candidate.When, e.Store.Read); err != nil || !caused {
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
		if !matches(w.Definition.Trigger, subject) {
			continue
		}
		s := startOf(r, kind, w)
		s.command.Payment, s.command.Amount, s.command.Cause = subject.Payment.ID, subject.Payment.Amount, cause
		s.command.Condition = e.conditionOf(r.Account, w.Definition).evaluate(subject.Values, spend)
		begun = append(begun, s)
	}
	return begun, nil
}

func startOf(r *eventstore.Recorded, kind string, w workflow.Workflow) start {
	return start{cause: r, command: workflow.StartRun{Account: r.Account, Workflow: w, Trigger: occasion(r, kind)}}
}

// unreadableStarts returns the runs of an unreadable event: one for each workflow, because the
// event's status is unknown.
func unreadableStarts(r *eventstore.Recorded, kind string, waiting []workflow.Workflow) []start {
	var begun []start
	for _, w := range waiting {
		s := startOf(r, kind, w)
		s.command.Condition.Error = "the event cannot be evaluated: it, or what it is about, cannot be read"
		if r.Aggregate == eventstore.Payments.Name {
			s.command.Payment = domain.PaymentID(r.ID)
		}
		begun = append(begun, s)
	}
	return begun
}

func matches(t workflow.Trigger, s Subject) bool {
	return t.Status == "" || t.Status == string(s.Payment.Status())
}

func occasion(r *eventstore.Recorded, kind string) workflow.Occasion {
	return workflow.Occasion{
		EventType: kind, EventID: r.EventID, Aggregate: r.Aggregate, AggregateID: r.ID, Sequence: r.Revision,
		Shard: int64(r.Shard), Seq: r.Seq, At: r.Time,
	}
}

// causeOf returns the run whose action caused the event; nil: no run did. The check for chains of
// runs needs it: a missing one is an error.
func (e *Engine) causeOf(ctx context.Context, r *eventstore.Recorded) (*workflow.RunState, error) {
	id, is := workflow.CausedBy(r.CorrelationID)
	if !is {
		return nil, nil
	}
	tip, err := eventstore.Load(ctx, e.Store, eventstore.WorkflowRuns, eventstore.WorkflowRuns.Key(r.Account, string(id)), eventstore.Latest)
	if err == nil && !tip.State.Exists() {
		err = fmt.Errorf("workflows: run %s, which led to %s revision %d, is not found", id, r.Key, r.Revision)
	}
	if err != nil {
		return nil, err
	}
	return &tip.State, nil
}

// startRuns records the first events of runs, and activates the runs that are due soon.
func (e *Engine) startRuns(ctx context.Context, starts []start) error {
	return cmp.Or(workers.Each(len(starts), startWriters, func(i int) error {
		return e.persist(ctx, func() error { return e.startRun(ctx, starts[i]) })
	})...)
}

func (e *Engine) startRun(ctx context.Context, s start) error {
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
	if !tip.Appended || !tip.State.Open() {
		return nil
	}
	if run, now := OpenRunOf(tip.State), e.Now(); run.due(now).Left(now) < horizon {
		e.activate(run)
	}
	return nil
}
