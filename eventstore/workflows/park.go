package workflows

import (
	"time"

	"payledger/domain"
	"payledger/eventstore/due"
)

const (
	// maxParked limits the parked runs in memory. The others are only in the views.
	maxParked = 1 << 16
	// parkMost is the longest time until a parked run is tried again. An event of its payment wakes the run earlier.
	parkMost = 10 * time.Minute
)

// parked holds the runs that wait for long, mostly for an outcome.
type parked struct {
	by map[domain.RunID]*parkedRun
	of map[domain.PaymentID]map[domain.RunID]bool
}

type parkedRun struct {
	OpenRun
	until due.Time
}

// park removes a run from memory until its payment changes, or for a time that grows with its inactivity. It returns
// false if the payment changed meanwhile.
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
	run.Running = true // an action was requested, on this node or another one; if not, the sweep reads the run again
	fs.parked.add(&parkedRun{run, due.In(now, min(max(now.Sub(f.Updated)/10, retryMost), parkMost))})
	return true
}

// parkAhead parks a run that was noted ahead of the clock, until its delay is over. No event wakes the run earlier.
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

// rests reports whether a run is parked and not due.
func (p *parked) rests(id domain.RunID, now time.Time) bool {
	run := p.by[id]
	return run != nil && !run.until.Over(now)
}

// remove removes a run, and reports whether it was parked.
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

// removeOf removes and returns the runs that wait for a payment.
func (p *parked) removeOf(payment domain.PaymentID) (runs []OpenRun) {
	for id := range p.of[payment] {
		runs = append(runs, p.by[id].OpenRun)
		delete(p.by, id)
	}
	delete(p.of, payment)
	return runs
}
