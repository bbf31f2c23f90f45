package workflows

import (
	"context"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/process"
	"payledger/eventstore/due"
)

const (
	// maxActive, maxActiveOfAccount and maxActiveOfWorkflow limit the runs in memory. The other
	// runs stay in the views. A workflow with fewer than guaranteedOfWorkflow runs in memory may
	// exceed the first two limits, up to hardMaxActive runs in total.
	maxActive            = 4096
	maxActiveOfAccount   = 1024
	maxActiveOfWorkflow  = 256
	guaranteedOfWorkflow = 4
	hardMaxActive        = 4 * maxActive
	// actionsAtOnce bounds the concurrent actions of one workflow.
	actionsAtOnce = 16
	// abandonedAfter is the time without a change after which any node takes a run over. It is
	// longer than the wait for an operation.
	abandonedAfter = 2 * time.Minute
	// retryMost is the longest wait before a run repeats an action. It gives up its place after
	// triesMost repeats in a row.
	retryMost = 30 * time.Second
	triesMost = 6
)

// activeRun is a run in memory, from shortly before it is due until it ends, another node drives
// it, or it must wait for long.
type activeRun struct {
	OpenRun
	due  due.Time      // of its first action
	wake chan struct{} // holds one signal to repeat the action now
}

type activeRuns struct {
	ctx      context.Context // ends with close
	stop     context.CancelFunc
	running  sync.WaitGroup
	acting   chan struct{} // closed by Act
	sweepNow chan struct{} // holds one signal to sweep: there is room for runs in the views

	mu         sync.Mutex
	closed     bool
	byID       map[domain.RunID]*activeRun
	waits      map[domain.PaymentID]map[*activeRun]bool
	quotas     map[domain.WorkflowID]*workflowQuota
	accounts   map[domain.AccountID]int // runs in memory
	turnedAway bool                     // a run found no room because of a limit other than its workflow's
	parked     parked
}

type workflowQuota struct {
	slots      chan struct{} // for actions
	active     int           // runs in memory
	turnedAway bool          // a run found no room because of the workflow's limit
}

func (fs *activeRuns) start() {
	fs.ctx, fs.stop = context.WithCancel(context.Background())
	fs.acting, fs.sweepNow = make(chan struct{}), make(chan struct{}, 1)
	fs.byID, fs.waits, fs.quotas = map[domain.RunID]*activeRun{}, map[domain.PaymentID]map[*activeRun]bool{}, map[domain.WorkflowID]*workflowQuota{}
	fs.accounts = map[domain.AccountID]int{}
	fs.parked = parked{byID: map[domain.RunID]*parkedRun{}, byPayment: map[domain.PaymentID]map[domain.RunID]bool{}}
}

func (fs *activeRuns) close() {
	fs.mu.Lock()
	fs.closed = true
	fs.mu.Unlock()
	fs.stop()
	fs.running.Wait()
}

// activate drives an open run in a goroutine. It returns false if there is no room now.
func (e *Engine) activate(run OpenRun) bool {
	fs := &e.active
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.closed || fs.byID[run.ID] != nil || fs.parked.waitsLonger(run.ID, e.Now()) {
		return true
	}
	l := fs.quotas[run.Workflow]
	if l == nil {
		l = &workflowQuota{slots: make(chan struct{}, actionsAtOnce)}
	}
	if !fs.room(run, l) {
		return false
	}
	f := &activeRun{OpenRun: run, due: run.due(e.Now()), wake: make(chan struct{}, 1)}
	if parked := fs.parked.remove(run.ID); parked != nil {
		f.due, f.command = due.Time{}, parked.command // the parked run has waited already
	}
	fs.quotas[run.Workflow] = l
	l.active++
	fs.accounts[run.Account]++
	fs.byID[run.ID] = f
	fs.running.Go(func() {
		defer fs.end(f, l)
		e.drive(fs.ctx, f, l)
	})
	return true
}

// room reports whether there is a place for a run. If there is none, room notes that a run found no
// place.
func (fs *activeRuns) room(run OpenRun, l *workflowQuota) bool {
	if l.active >= maxActiveOfWorkflow {
		l.turnedAway = true
		return false
	}
	all := len(fs.byID)
	if all < maxActive && fs.accounts[run.Account] < maxActiveOfAccount || all < hardMaxActive && l.active < guaranteedOfWorkflow {
		return true
	}
	fs.turnedAway = true
	return false
}

// end frees the place of a run, and requests a sweep if runs were turned away before, and half of
// the places are free now.
func (fs *activeRuns) end(f *activeRun, l *workflowQuota) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	delete(fs.byID, f.ID)
	if fs.accounts[f.Account]--; fs.accounts[f.Account] == 0 {
		delete(fs.accounts, f.Account)
	}
	if l.active--; l.active == 0 {
		delete(fs.quotas, f.Workflow)
	}
	if l.turnedAway && l.active <= maxActiveOfWorkflow/2 || fs.turnedAway && (len(fs.byID) <= maxActive/2 || fs.accounts[f.Account] <= maxActiveOfAccount/2) {
		l.turnedAway, fs.turnedAway = false, false
		due.Signal(fs.sweepNow)
	}
}

// await makes the events of a run's payment wake the run, until forget.
func (fs *activeRuns) await(f *activeRun) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.waits[f.Payment] == nil {
		fs.waits[f.Payment] = map[*activeRun]bool{}
	}
	fs.waits[f.Payment][f] = true
}

func (fs *activeRuns) forget(f *activeRun) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.forgetLocked(f)
}

func (fs *activeRuns) forgetLocked(f *activeRun) {
	if delete(fs.waits[f.Payment], f); len(fs.waits[f.Payment]) == 0 {
		delete(fs.waits, f.Payment)
	}
}

func (e *Engine) wake(payment domain.PaymentID) {
	fs := &e.active
	fs.mu.Lock()
	for f := range fs.waits[payment] {
		due.Signal(f.wake)
	}
	again := fs.parked.removeOf(payment)
	fs.mu.Unlock()
	for _, run := range again {
		e.activate(run)
	}
}

// wakeRun wakes a run that changed, most likely on another node.
func (fs *activeRuns) wakeRun(id domain.RunID) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.byID[id]; f != nil {
		due.Signal(f.wake)
	}
}

// drive performs the actions of a run until the run ends, must wait for long, or ctx ends.
func (e *Engine) drive(ctx context.Context, f *activeRun, l *workflowQuota) {
	select {
	case <-e.active.acting:
	case <-ctx.Done():
		return
	}
	if !e.untilDue(ctx, f) {
		return
	}
	for tried := 0; ; {
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		e.active.await(f)
		progress := e.performActions(ctx, f)
		<-l.slots
		if progress.over || ctx.Err() != nil {
			e.active.forget(f)
			return
		}
		if progress.recorded {
			tried = 0
		}
		if tried++; progress.mustPark || tried > triesMost {
			if e.park(f) {
				return
			}
			continue // the payment changed meanwhile
		}
		err := due.Rest(ctx, min(process.NextInterval(tried-1), retryMost), f.wake)
		e.active.forget(f)
		if err != nil {
			return
		}
	}
}

// untilDue waits until a run's first action is due. It returns false if there is nothing left to do
// here.
func (e *Engine) untilDue(ctx context.Context, f *activeRun) bool {
	for {
		left := f.due.Left(e.Now())
		if left <= 0 {
			return ctx.Err() == nil
		}
		if due.Rest(ctx, left, f.wake) != nil || !f.due.Over(e.Now()) && e.noLongerWaiting(ctx, f) {
			return false
		}
	}
}
