package workflows

import (
	"time"

	"payledger/domain"
	"payledger/eventstore/due"
)

const (
	// maxParked limits the parked runs in memory. The others are only in the views.
	maxParked = 1 << 16
	// parkMost is the longest time until a parked run is tried again. An event of its payment wakes
	// the run earlier.
	parkMost = 10 * time.Minute
)

// parked holds the runs that wait for long, mostly for an outcome.
type parked struct {
	byID      map[domain.RunID]*parkedRun
	byPayment map[domain.PaymentID]map[domain.RunID]bool
}

type parkedRun struct {
	OpenRun
	until due.Time
}

// park removes a run from memory until its payment changes, or for a time that grows with its
// inactivity. It returns false if the payment changed meanwhile.
func (e *Engine) park(f *activeRun) bool {
	fs := &e.active
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

// parkAhead parks a run that was noted ahead of the clock, until its delay is over. No event wakes
// the run earlier.
func (fs *activeRuns) parkAhead(run OpenRun, now time.Time) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if p := &fs.parked; fs.byID[run.ID] == nil && p.byID[run.ID] == nil && len(p.byID) < maxParked {
		p.byID[run.ID] = &parkedRun{run, run.due(now)}
	}
}

func (p *parked) add(run *parkedRun) {
	if len(p.byID) >= maxParked {
		return
	}
	p.byID[run.ID] = run
	if p.byPayment[run.Payment] == nil {
		p.byPayment[run.Payment] = map[domain.RunID]bool{}
	}
	p.byPayment[run.Payment][run.ID] = true
}

func (p *parked) waitsLonger(id domain.RunID, now time.Time) bool {
	run := p.byID[id]
	return run != nil && !run.until.Over(now)
}

// remove removes a run, and returns it; nil: it is not parked.
func (p *parked) remove(id domain.RunID) *parkedRun {
	run := p.byID[id]
	if run == nil {
		return nil
	}
	delete(p.byID, id)
	if delete(p.byPayment[run.Payment], id); len(p.byPayment[run.Payment]) == 0 {
		delete(p.byPayment, run.Payment)
	}
	return run
}

func (p *parked) removeOf(payment domain.PaymentID) (runs []OpenRun) {
	for id := range p.byPayment[payment] {
		runs = append(runs, p.byID[id].OpenRun)
		delete(p.byID, id)
	}
	delete(p.byPayment, payment)
	return runs
}
