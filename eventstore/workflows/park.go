package workflows

import (
	"time"

	"payledger/domain"
	"payledger/eventstore/due"
)

const (
	// maxParked is how many runs that wait for long are remembered; of what is more, only the views know.
	maxParked = 1 << 16
	// parkMost is the longest time until a run that waits is looked at again; its payment's events come before.
	parkMost = 10 * time.Minute
)

// parked are the runs that wait for long, for an outcome most often. They have no place in memory but this note.
type parked struct {
	by map[domain.RunID]*parkedRun
	of map[domain.PaymentID]map[domain.RunID]bool
}

type parkedRun struct {
	OpenRun
	until due.Time
}

// park lets a run go until something happens to its payment, or for a while that grows with how long nothing happened
// to the run. False: something did happen, so that the run has to look again.
func (e *Engine) park(f *inFlight) bool {
	fs := &e.inFlight
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.forgetLocked(f)
	select {
	case <-f.wake:
		return false
	default:
	}
	now := e.Now()
	run := f.OpenRun
	run.Running = true // an action was requested, here or elsewhere, or the sweep finds out
	fs.parked.add(&parkedRun{run, due.In(now, min(max(now.Sub(f.Updated)/10, retryMost), parkMost))})
	return true
}

// parkAhead lets a run rest that was noted ahead of the clock, until its own delay has gone by. Nothing wakes it before.
func (fs *inFlightRuns) parkAhead(run OpenRun, now time.Time) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if p := &fs.parked; fs.by[run.ID] == nil && p.by[run.ID] == nil && len(p.by) < maxParked {
		p.by[run.ID] = &parkedRun{run, run.due(now)}
	}
}

func (p *parked) add(run *parkedRun) {
	if len(p.by) >= maxParked {
		return
	}
	p.by[run.ID] = run
	if p.of[run.Payment] == nil {
		p.of[run.Payment] = map[domain.RunID]bool{}
	}
	p.of[run.Payment][run.ID] = true
}

// rests tells whether a run is parked and not to be looked at yet.
func (p *parked) rests(id domain.RunID, now time.Time) bool {
	run := p.by[id]
	return run != nil && !run.until.Over(now)
}

// remove forgets a run, and reports whether it was parked.
func (p *parked) remove(id domain.RunID) bool {
	run := p.by[id]
	if run == nil {
		return false
	}
	delete(p.by, id)
	if delete(p.of[run.Payment], id); len(p.of[run.Payment]) == 0 {
		delete(p.of, run.Payment)
	}
	return true
}

// removeOf gives the runs that wait for a payment, which are parked no more.
func (p *parked) removeOf(payment domain.PaymentID) (runs []OpenRun) {
	for id := range p.of[payment] {
		runs = append(runs, p.by[id].OpenRun)
		delete(p.by, id)
	}
	delete(p.of, payment)
	return runs
}
