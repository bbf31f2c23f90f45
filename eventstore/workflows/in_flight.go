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
	// maxInFlight, maxInFlightOfAccount and maxInFlightOfWorkflow limit the runs in memory. The other runs stay in the
	// views. A workflow with fewer than spared runs in memory may exceed the first two limits, up to hardMaxInFlight runs.
	maxInFlight           = 4096
	maxInFlightOfAccount  = 1024
	maxInFlightOfWorkflow = 256
	spared                = 4
	hardMaxInFlight       = 4 * maxInFlight
	// laneWidth bounds the concurrent actions of one workflow.
	laneWidth = 16
	// orphaned is the time without a change after which a run counts as abandoned by its node. It is longer than the wait
	// for an operation.
	orphaned = 2 * time.Minute
	// retryMost is the longest wait before a run in memory repeats an action. The run gives up its place after
	// triesMost repeats in a row.
	retryMost = 30 * time.Second
	triesMost = 6
)

// inFlight is a run in memory. It is in memory from shortly before it is due until it ends, another node drives it, or it must
// wait for long.
type inFlight struct {
	OpenRun
	due     due.Time      // of its first action
	adopt   bool          // no other node drives its requested action
	command string        // id of the command that requested the last action
	wake    chan struct{} // holds one signal to try again now
}

// inFlightRuns holds the runs in memory.
type inFlightRuns struct {
	ctx     context.Context // ends with close
	stop    context.CancelFunc
	running sync.WaitGroup
	acting  chan struct{} // closed by Act
	look    chan struct{} // holds one signal to sweep: there is room for runs in the views

	mu       sync.Mutex
	closed   bool
	by       map[domain.RunID]*inFlight
	waits    map[domain.PaymentID]map[*inFlight]bool
	lanes    map[domain.WorkflowID]*lane
	accounts map[domain.AccountID]int // runs in memory
	left     bool                     // a run found no room, for a reason other than its workflow's limit
	parked   parked
}

// lane holds the places for actions of one workflow.
type lane struct {
	slots chan struct{}
	users int
	left  bool // a run found no room
}

func (fs *inFlightRuns) start() {
	fs.ctx, fs.stop = context.WithCancel(context.Background())
	fs.acting, fs.look = make(chan struct{}), make(chan struct{}, 1)
	fs.by, fs.waits, fs.lanes = map[domain.RunID]*inFlight{}, map[domain.PaymentID]map[*inFlight]bool{}, map[domain.WorkflowID]*lane{}
	fs.accounts = map[domain.AccountID]int{}
	fs.parked = parked{by: map[domain.RunID]*parkedRun{}, of: map[domain.PaymentID]map[domain.RunID]bool{}}
}

// close ends all runs and waits for them.
func (fs *inFlightRuns) close() {
	fs.mu.Lock()
	fs.closed = true
	fs.mu.Unlock()
	fs.stop()
	fs.running.Wait()
}

// take drives an open run in a goroutine. It returns false if there is no room now.
func (e *Engine) take(run OpenRun) bool {
	fs := &e.inFlight
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.closed || fs.by[run.ID] != nil || fs.parked.rests(run.ID, e.Now()) {
		return true
	}
	l := fs.lanes[run.Workflow]
	if l == nil {
		l = &lane{slots: make(chan struct{}, laneWidth)}
	}
	if !fs.room(run, l) {
		return false
	}
	f := &inFlight{OpenRun: run, due: run.due(e.Now()), adopt: e.Alone || run.Running, wake: make(chan struct{}, 1)}
	if fs.parked.remove(run.ID) {
		f.due = due.Time{} // the parked run has waited already
	}
	fs.lanes[run.Workflow] = l
	l.users++
	fs.accounts[run.Account]++
	fs.by[run.ID] = f
	fs.running.Go(func() {
		defer fs.release(f, l)
		e.drive(fs.ctx, f, l)
	})
	return true
}

// room reports whether there is a place for a run. If there is none, room notes that a run found no place.
func (fs *inFlightRuns) room(run OpenRun, l *lane) bool {
	if l.users >= maxInFlightOfWorkflow {
		l.left = true
		return false
	}
	all := len(fs.by)
	if all < maxInFlight && fs.accounts[run.Account] < maxInFlightOfAccount || all < hardMaxInFlight && l.users < spared {
		return true
	}
	fs.left = true
	return false
}

// release gives a place back. If runs found no place and half of the places are free now, release triggers a sweep.
func (fs *inFlightRuns) release(f *inFlight, l *lane) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	delete(fs.by, f.ID)
	if fs.accounts[f.Account]--; fs.accounts[f.Account] == 0 {
		delete(fs.accounts, f.Account)
	}
	if l.users--; l.users == 0 {
		delete(fs.lanes, f.Workflow)
	}
	if l.left && l.users <= maxInFlightOfWorkflow/2 || fs.left && (len(fs.by) <= maxInFlight/2 || fs.accounts[f.Account] <= maxInFlightOfAccount/2) {
		l.left, fs.left = false, false
		select {
		case fs.look <- struct{}{}:
		default:
		}
	}
}

// await makes the events of a run's payment wake the run, until forget.
func (fs *inFlightRuns) await(f *inFlight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.waits[f.Payment] == nil {
		fs.waits[f.Payment] = map[*inFlight]bool{}
	}
	fs.waits[f.Payment][f] = true
}

func (fs *inFlightRuns) forget(f *inFlight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.forgetLocked(f)
}

func (fs *inFlightRuns) forgetLocked(f *inFlight) {
	if delete(fs.waits[f.Payment], f); len(fs.waits[f.Payment]) == 0 {
		delete(fs.waits, f.Payment)
	}
}

func (f *inFlight) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// wake wakes the runs that wait for the payment.
func (e *Engine) wake(payment domain.PaymentID) {
	fs := &e.inFlight
	fs.mu.Lock()
	for f := range fs.waits[payment] {
		f.signal()
	}
	again := fs.parked.removeOf(payment)
	fs.mu.Unlock()
	for _, run := range again {
		e.take(run)
	}
}

// wakeRun wakes a run that changed, most likely on another node.
func (fs *inFlightRuns) wakeRun(id domain.RunID) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.by[id]; f != nil {
		f.signal()
	}
}

// drive performs the actions of a run until the run ends, must wait for long, or ctx ends.
func (e *Engine) drive(ctx context.Context, f *inFlight, l *lane) {
	select {
	case <-e.inFlight.acting:
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
		e.inFlight.await(f)
		next := e.advance(ctx, f)
		<-l.slots
		if next.over || ctx.Err() != nil {
			e.inFlight.forget(f)
			return
		}
		if next.moved {
			tried = 0
		}
		if tried++; next.parks || tried > triesMost {
			if e.park(f) {
				return
			}
			continue // the payment changed meanwhile
		}
		err := due.Rest(ctx, min(process.NextInterval(tried-1), retryMost), f.wake)
		e.inFlight.forget(f)
		if err != nil {
			return
		}
	}
}

// untilDue waits until a run's first action is due. It returns false if there is nothing left to do here.
func (e *Engine) untilDue(ctx context.Context, f *inFlight) bool {
	for {
		left := f.due.Left(e.Now())
		if left <= 0 {
			return ctx.Err() == nil
		}
		if due.Rest(ctx, left, f.wake) != nil || !f.due.Over(e.Now()) && e.gone(ctx, f) {
			return false
		}
	}
}
