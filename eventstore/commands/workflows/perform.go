package workflows

import (
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/commands"
)

// progress is the result of performActions for a run in memory.
type progress struct {
	over     bool // the run has ended, or another node drives it
	recorded bool // an outcome was recorded: the count of repeats starts again
	mustPark bool // the run must wait for long
}

// performActions performs the actions of a run, one after the other, until the run is over or has
// to wait.
func (e *Engine) performActions(ctx context.Context, f *activeRun) (p progress) {
	key := eventstore.WorkflowRuns.Key(f.Account, string(f.ID))
	for {
		tip, err := eventstore.Load(ctx, e.Store, eventstore.WorkflowRuns, key, eventstore.Latest)
		if err != nil || ctx.Err() != nil {
			return e.retryLater(f, p, err)
		}
		step, more := tip.State.Next()
		if !tip.State.Open() || !more {
			p.over = true
			return p
		}
		requested, drivenElsewhere, err := e.request(ctx, f, tip, step)
		switch {
		case err != nil:
			return e.retryLater(f, p, err)
		case drivenElsewhere:
			p.over = true // if the other node ends, the sweep finds the run
			return p
		}
		result, failure, err := e.act(ctx, requested.State, step)
		if err != nil {
			return e.retryLater(f, p, err)
		}
		if err := e.record(ctx, f, requested, step, result, failure); err != nil {
			return e.retryLater(f, p, err)
		}
		p.recorded = true
	}
}

// noLongerWaiting reports whether a run that is not due yet has ended or another node drives it.
func (e *Engine) noLongerWaiting(ctx context.Context, f *activeRun) bool {
	tip, err := eventstore.Load(ctx, e.Store, eventstore.WorkflowRuns, eventstore.WorkflowRuns.Key(f.Account, string(f.ID)), eventstore.Latest)
	return err == nil && tip.State.Status() != workflow.Waiting
}

// retryLater returns p for a run that repeats its action later, because of err.
func (e *Engine) retryLater(f *activeRun, p progress, err error) progress {
	switch {
	case errors.Is(err, workflow.ErrNotNext), err == nil:
	case errors.Is(err, errUndecided):
		p.mustPark = true
	default:
		e.Logger.Debug().Err(err).Str("run", string(f.ID)).Msg("workflow run: trying again")
	}
	return p
}

// request records that an action is about to be performed. drivenElsewhere reports whether another
// node recorded it, and may perform it. If that node has left, or the run has not changed for long,
// this node takes the action over. Several nodes may do so at the same time: an operation on the
// payment is found by its key. An HTTP request belongs to the node that records the action once
// more.
func (e *Engine) request(ctx context.Context, f *activeRun, tip eventstore.Tip[workflow.RunState], step int) (requested eventstore.Tip[workflow.RunState], drivenElsewhere bool, err error) {
	decide := func(s workflow.RunState, at time.Time) (workflow.RunEvent, error) {
		return workflow.DecideRequest(s, at, step)
	}
	if s := tip.State; s.Steps[step].State == workflow.StepRequested {
		by := tip.Recorded.CommandID
		left := e.Left != nil && e.Left(by) || e.Now().Sub(s.UpdatedAt).Abs() >= abandonedAfter
		switch {
		case e.Alone || by == f.command: // this node recorded it, and perhaps the answer to the write was lost
			return tip, false, nil
		case !left:
			return tip, true, nil
		case s.Steps[step].Action.Type != workflow.HTTPRequest:
			return tip, false, nil
		}
		decide = func(now workflow.RunState, at time.Time) (workflow.RunEvent, error) {
			return workflow.DecideTakeover(now, at, step, s.Revision)
		}
	}
	requested, command, err := e.append(ctx, f, tip, decide)
	f.command = command
	return requested, err == nil && !requested.Appended, err
}

func (e *Engine) record(ctx context.Context, f *activeRun, tip eventstore.Tip[workflow.RunState], step int, result workflow.Result, failure string) error {
	_, _, err := e.append(ctx, f, tip, func(s workflow.RunState, at time.Time) (workflow.RunEvent, error) {
		if failure != "" {
			return workflow.DecideFailure(s, at, step, failure)
		}
		return workflow.DecideSuccess(s, at, step, result)
	})
	return err
}

// append records the next event of a run. It returns the id of its command, too.
func (e *Engine) append(ctx context.Context, f *activeRun, tip eventstore.Tip[workflow.RunState], decide func(workflow.RunState, time.Time) (workflow.RunEvent, error)) (next eventstore.Tip[workflow.RunState], command string, err error) {
	step, _ := tip.State.Next()
	meta, err := e.Store.NewMeta(actor(tip.State), tip.State.Diagnostics(step))
	if err != nil {
		return tip, "", err
	}
	f.Updated = meta.At
	next, err = eventstore.ExecuteFrom(ctx, e.Store, eventstore.WorkflowRuns, tip, meta,
		func(s workflow.RunState) (workflow.RunEvent, error) { return decide(s, meta.At) })
	return next, meta.CommandID, err
}

func actor(s workflow.RunState) string { return "workflow:" + string(s.Workflow.ID) }

var errUndecided = errors.New("workflows: the outcome is not known yet")

// act performs an action. failure is the reason of a failure, for the merchant. An error means that
// the action has no outcome yet.
func (e *Engine) act(ctx context.Context, s workflow.RunState, step int) (result workflow.Result, failure string, err error) {
	action := s.Steps[step].Action
	if action.Type == workflow.HTTPRequest {
		return e.send(ctx, s, step)
	}
	by := commands.Caller{Account: s.Account, Actor: actor(s), RequestID: s.Diagnostics(step)}
	outcome, err := e.Payments.RunWorkflowOperation(ctx, by, s.Payment, action, s.StepKey(step))
	switch {
	case err != nil && refused(err):
		return result, refusalText(err), nil
	case err != nil:
		return result, "", err
	case !outcome.Known:
		return result, "", errUndecided
	case !outcome.Succeeded:
		return result, outcome.Message, nil
	}
	return workflow.Result{Operation: outcome.Operation}, "", nil
}

func (e *Engine) send(ctx context.Context, s workflow.RunState, step int) (result workflow.Result, failure string, err error) {
	trigger, err := e.Store.Read(ctx, int(s.Trigger.Shard), s.Trigger.Seq)
	if err != nil {
		return result, "", err
	}
	response, err := e.Requests.Send(ctx, Request{Run: s, Step: step, Trigger: trigger})
	if err != nil {
		return result, "", err
	}
	return workflow.Result{StatusCode: int64(response.StatusCode)}, response.Failure, nil
}

// refused reports whether err is a refusal, which no repetition changes. Other errors are
// temporary.
func refused(err error) bool {
	e, is := errors.AsType[*domain.Error](err)
	return is && e.Kind != domain.KindUnavailable && e.Kind != domain.KindInternal && e.Reason != domain.ReasonConcurrentModification
}

func refusalText(err error) string {
	e, is := errors.AsType[*domain.Error](err)
	if !is {
		return "The action was refused."
	}
	text := e.Message
	for _, v := range e.Violations {
		text += " " + v.Path + " " + v.Description + "."
	}
	return text
}
