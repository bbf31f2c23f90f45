package workflows

import (
	"cmp"
	"context"
	"time"

	"payledger/domain"
)

const (
	// sweepEvery is how often open runs are looked for unless the configuration says otherwise, and horizon how long ahead
	// of their time they are taken.
	sweepEvery = 10 * time.Second
	horizon    = 30 * time.Second
	// sweepPage is how many runs of a workflow are read at a time, and sweepPages how often in one sweep.
	sweepPage  = 256
	sweepPages = 16
)

// lookAfter takes the runs that are open and due: at once, again and again, and as soon as there is room for more.
func (e *Engine) lookAfter(ctx context.Context) {
	select {
	case <-e.inFlight.acting:
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(cmp.Or(e.SweepEvery, sweepEvery))
	defer tick.Stop()
	for {
		if err := e.sweep(ctx); err != nil && ctx.Err() == nil {
			e.Logger.Warn().Err(err).Msg("open workflow runs not looked through; trying again")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-e.inFlight.look:
		}
	}
}

// sweep takes what is open and due, and nobody's: of every workflow, so that none waits for another.
func (e *Engine) sweep(ctx context.Context) error {
	due := e.Now().Add(horizon)
	ids, err := e.OpenRuns.DueWorkflows(ctx, due)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := e.sweepOne(ctx, id, due); err != nil {
			return err
		}
	}
	return e.sweepAhead(ctx)
}

// sweepAhead takes the runs that were noted ahead of the clock, which was set back since: each when its own delay has gone
// by since it was seen here first.
func (e *Engine) sweepAhead(ctx context.Context) error {
	if now := e.Now().Round(0); e.sweptAhead.at.Before(now) {
		e.sweptAhead = sweepPlace{at: now}
	}
	for range sweepPages {
		from := e.sweptAhead
		ahead, err := e.OpenRuns.AheadRuns(ctx, from.at, from.id, sweepPage)
		if err != nil {
			return err
		}
		for _, state := range ahead {
			run, now := OpenRunOf(state), e.Now()
			switch {
			case e.theirs(run):
			case run.due(now).Left(now) > horizon:
				e.inFlight.parkAhead(run, now)
				fallthrough
			default:
				e.take(run)
			}
			e.sweptAhead = sweepPlace{run.noted(), run.ID}
		}
		if len(ahead) < sweepPage {
			e.sweptAhead = sweepPlace{}
			return nil
		}
	}
	return nil
}

// theirs reports whether another node may be at a run.
func (e *Engine) theirs(run OpenRun) bool {
	return run.Running && !e.Alone && e.Now().Sub(run.Updated).Abs() <= orphaned
}

// sweepPlace is how far a workflow's open runs were looked through.
type sweepPlace struct {
	at time.Time
	id domain.RunID
}

// sweepOne goes on through a workflow's open runs, the longest due first, from where it stopped the last time, until
// there is no room: runs that wait for long, or are others', keep none from being reached.
func (e *Engine) sweepOne(ctx context.Context, id domain.WorkflowID, due time.Time) error {
	for range sweepPages {
		from := e.swept[id]
		open, err := e.OpenRuns.OpenRuns(ctx, id, due, from.at, from.id, sweepPage)
		if err != nil {
			return err
		}
		for _, state := range open {
			run := OpenRunOf(state)
			if !e.theirs(run) && !e.take(run) {
				return nil
			}
			from = sweepPlace{run.Since, run.ID}
			e.swept[id] = from
		}
		if len(open) < sweepPage {
			delete(e.swept, id)
			return nil
		}
	}
	return nil
}
