package workflows

import (
	"context"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/process"
)

const (
	// maxFlights is how many runs are in memory at most; the rest stays in the views.
	maxFlights = 4096
	// laneWidth is how many actions of one workflow are under way.
	laneWidth = 16
	// orphaned is how long nothing happens to a run before it counts as left behind by its node; longer than an
	// operation is waited for.
	orphaned = 2 * time.Minute
	// retryMost is the longest wait before an action is tried again.
	retryMost = 30 * time.Second
)

// flight is one run in memory, from when it is due soon until it is over.
type flight struct {
	OpenRun
	adopt bool          // what was requested is nobody else's
	wake  chan struct{} // holds one signal: look again now
}

// flights are the runs in memory.
type flights struct {
	ctx     context.Context // ends with close
	stop    context.CancelFunc
	running sync.WaitGroup
	acting  chan struct{} // closed by Act

	mu     sync.Mutex
	closed bool
	by     map[domain.RunID]*flight
	waits  map[domain.PaymentID]map[*flight]bool
	lanes  map[domain.WorkflowID]*lane
}

// lane are the places for actions of one workflow.
type lane struct {
	slots chan struct{}
	users int
}

func (fs *flights) start() {
	fs.ctx, fs.stop = context.WithCancel(context.Background())
	fs.acting = make(chan struct{})
	fs.by, fs.waits, fs.lanes = map[domain.RunID]*flight{}, map[domain.PaymentID]map[*flight]bool{}, map[domain.WorkflowID]*lane{}
}

// close ends all flights and waits for them.
func (fs *flights) close() {
	fs.mu.Lock()
	fs.closed = true
	fs.mu.Unlock()
	fs.stop()
	fs.running.Wait()
}

// take brings an open run to its end beside the caller, unless it is on its way or there is no room.
func (e *Engine) take(run OpenRun) {
	fs := &e.flights
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.closed || fs.by[run.ID] != nil || len(fs.by) >= maxFlights {
		return
	}
	f := &flight{OpenRun: run, adopt: e.Alone || run.Running, wake: make(chan struct{}, 1)}
	l := fs.lanes[run.Workflow]
	if l == nil {
		l = &lane{slots: make(chan struct{}, laneWidth)}
		fs.lanes[run.Workflow] = l
	}
	l.users++
	fs.by[run.ID] = f
	fs.running.Go(func() {
		defer fs.land(f, l)
		e.fly(fs.ctx, f, l)
	})
}

func (fs *flights) land(f *flight, l *lane) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	delete(fs.by, f.ID)
	if l.users--; l.users == 0 {
		delete(fs.lanes, f.Workflow)
	}
}

// await has a flight woken by the events of its payment, until forget.
func (fs *flights) await(f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.waits[f.Payment] == nil {
		fs.waits[f.Payment] = map[*flight]bool{}
	}
	fs.waits[f.Payment][f] = true
}

func (fs *flights) forget(f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if delete(fs.waits[f.Payment], f); len(fs.waits[f.Payment]) == 0 {
		delete(fs.waits, f.Payment)
	}
}

// wake has the flights look again that wait for the payment.
func (fs *flights) wake(payment domain.PaymentID) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for f := range fs.waits[payment] {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
}

// fly takes one run to its end, for as long as it takes or until ctx ends.
func (e *Engine) fly(ctx context.Context, f *flight, l *lane) {
	select {
	case <-e.flights.acting:
	case <-ctx.Done():
		return
	}
	if f.rest(ctx, f.DueAt.Sub(e.Now())) != nil {
		return
	}
	for tried := 0; ; {
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		e.flights.await(f)
		next := e.advance(ctx, f)
		<-l.slots
		if next.over || ctx.Err() != nil {
			e.flights.forget(f)
			return
		}
		if next.moved {
			tried = 0
		}
		wait := min(process.NextInterval(tried), retryMost)
		if next.wait > 0 {
			wait = next.wait
		}
		err := f.rest(ctx, wait)
		e.flights.forget(f)
		if err != nil {
			return
		}
		tried++
	}
}

// rest waits; a wake-up or the end of ctx ends it.
func (f *flight) rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-f.wake:
	case <-t.C:
	}
	return nil
}
