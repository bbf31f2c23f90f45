package workflows

import (
	"cmp"
	"context"
	"time"

	"payledger/domain"
)

const (
	// sweepEvery is the default interval of sweeps, and horizon the time before a run is due at
	// which it is loaded into memory.
	sweepEvery = 10 * time.Second
	horizon    = 30 * time.Second
	// lostEvery is the interval of the questions whether another node stopped working.
	lostEvery = 500 * time.Millisecond
	// sweepPage is the number of runs of a workflow in one read, and sweepPages the number of reads
	// in one sweep.
	sweepPage  = 256
	sweepPages = 16
)

// runSweeps sweeps the open runs: at the start, periodically, and when there is room for more.
func (e *Engine) runSweeps(ctx context.Context) {
	select {
	case <-e.active.acting:
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(cmp.Or(e.SweepEvery, sweepEvery))
	defer tick.Stop()
	look := time.NewTicker(lostEvery)
	defer look.Stop()
	for {
		lost := e.Lost()
		if e.sweepsAll = lost != e.lost; e.sweepsAll { // from the beginning
			e.swept, e.sweptAhead = map[domain.WorkflowID]sweepPlace{}, sweepPlace{}
		}
		switch err := e.sweep(ctx); {
		case err == nil:
			e.lost = lost
		case ctx.Err() == nil:
			e.Logger.Warn().Err(err).Msg("open workflow runs not looked through; trying again")
		}
		for again := false; !again; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				again = true
			case <-e.active.sweepNow:
				again = true
			case <-look.C:
				again = e.Lost() != e.lost
			}
		}
	}
}

// sweep activates the runs that are due and that no node drives, of every workflow in turn.
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

// sweepAhead finds runs noted ahead of the clock: it was set back. Their delays begin again when
// they are found.
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
			case e.drivenElsewhere(run):
			case run.due(now).Left(now) > horizon:
				e.active.parkAhead(run, now)
				fallthrough
			default:
				e.activate(run)
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

// drivenElsewhere reports whether another node may drive a run. After the loss of a node request
// decides, by the run's last event.
func (e *Engine) drivenElsewhere(run OpenRun) bool {
	return run.Running && !e.Alone && !e.sweepsAll && e.young(run)
}

func (e *Engine) young(run OpenRun) bool { return e.Now().Sub(run.Updated).Abs() <= abandonedAfter }

// sweepPlace is the place of the last open run that was read.
type sweepPlace struct {
	at time.Time
	id domain.RunID
}

// sweepOne reads a workflow's open runs, longest due first, from where the last sweep stopped,
// until there is no room. So runs that wait for long, or that other nodes drive, do not hide
// others.
func (e *Engine) sweepOne(ctx context.Context, id domain.WorkflowID, due time.Time) error {
	for range sweepPages {
		from := e.swept[id]
		open, err := e.OpenRuns.OpenRuns(ctx, id, due, from.at, from.id, sweepPage)
		if err != nil {
			return err
		}
		for _, state := range open {
			run := OpenRunOf(state)
			if !e.drivenElsewhere(run) && !e.activate(run) {
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
