package notifier

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/sidelog"
	"payledger/eventstore/workers"
	"payledger/notifier/delivery"
	"payledger/notifier/health"
)

// stream is the part of deliverylog.Stream and sidelog.Positions that the notifier uses.
type stream interface {
	Put(ctx context.Context, name string, expected uint64, body []byte, open bool) (uint64, error)
	Last(ctx context.Context, name string) (deliverylog.Record, error)
	At(ctx context.Context, place uint64) (deliverylog.Record, error)
	Waiting(ctx context.Context, lane string, from uint64, limit int) (page []deliverylog.Record, end bool, err error)
	Lanes(ctx context.Context) ([]string, error)
	End(ctx context.Context) (uint64, error)
	Floor() deliverylog.Floor
	Load(ctx context.Context, reader string) ([]uint64, error)
	Save(ctx context.Context, reader string, at []uint64) error
}

// records are the streams that a notifier writes to.
type records struct {
	*deliverylog.Stream
	*sidelog.Positions
}

func openRecords(ctx context.Context, s *eventstore.Store) (records, error) {
	positions, err := s.Positions(ctx)
	return records{s.Deliveries(), positions}, err
}

// lanes holds the lanes of all endpoints that have had a delivery.
type lanes struct {
	stream    stream
	health    *health.Health
	log       zerolog.Logger
	now       func() time.Time
	limits    limits
	ownership delivery.Ownership
	owners    *owners
	workers   *workers.Workers // of all lanes

	mu      sync.Mutex
	all     map[string]*lane
	start   func(*lane) // nil before run and after wait
	running sync.WaitGroup
}

func newLanes(s stream, h *health.Health, log zerolog.Logger, now func() time.Time) *lanes {
	return &lanes{stream: s, health: h, log: log, now: now, owners: &owners{names: map[string]bool{}}, workers: workers.New(), limits: limits{laneQueue, laneWaiting, lanePage}, all: map[string]*lane{}}
}

// of returns an endpoint's lane. The first call creates the lane.
func (ls *lanes) of(name string) *lane {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l, there := ls.all[name]
	if !there {
		l = newLane(name, ls.stream, ls.health, ls.log, ls.now, ls.limits)
		l.ownership, l.owners = ls.ownership, ls.owners
		ls.all[name] = l
		if ls.start != nil {
			ls.start(l)
		}
	}
	return l
}

// scan makes every lane read its open deliveries.
func (ls *lanes) scan() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.all {
		l.scanFrom(1)
	}
}

// run starts every existing and every later lane.
func (ls *lanes) run(ctx context.Context, do send) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.start = func(l *lane) { ls.running.Go(func() { l.run(ctx, ls.workers, do) }) }
	for _, l := range ls.all {
		ls.start(l)
	}
}

// wait waits until every lane has ended. Lanes end when run's ctx ends. A lane that is created later does not start.
func (ls *lanes) wait() {
	ls.mu.Lock()
	ls.start = nil
	ls.mu.Unlock()
	ls.running.Wait()
	ls.workers.Close()
}

// send makes the attempt of an entry. It calls free when the endpoint can take the next attempt. It returns when the
// outcome is recorded, or when the notifier ends.
type send func(ctx context.Context, l *lane, e entry, free func())

// run calls send by workers for each delivery when it is due, at most AttemptsAtOnce at once, until ctx ends. Then run waits for the
// calls that are under way.
func (l *lane) run(ctx context.Context, w *workers.Workers, do send) {
	var flights sync.WaitGroup
	defer flights.Wait()
	slots, unrecorded := make(chan struct{}, AttemptsAtOnce), make(chan struct{}, laneUnrecorded)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		e, ok := l.next(ctx)
		if !ok {
			return
		}
		flights.Add(1)
		w.Start(func() {
			defer flights.Done()
			f := slot{slots: slots, unrecorded: unrecorded}
			defer f.release()
			do(ctx, l, e, f.free)
		})
	}
}

// slot is the share of a lane's limits that one attempt occupies.
type slot struct {
	slots, unrecorded chan struct{}
	freed             bool
}

// free gives the slot back before the outcome is recorded, unless laneUnrecorded outcomes already wait to be recorded.
func (f *slot) free() {
	select {
	case f.unrecorded <- struct{}{}:
		<-f.slots
		f.freed = true
	default:
	}
}

// release gives back the slot, or the place among the unrecorded outcomes after free.
func (f *slot) release() {
	if f.freed {
		<-f.unrecorded
	} else {
		<-f.slots
	}
}

// next waits for a delivery that is due and returns it. It reports false if ctx ends first.
func (l *lane) next(ctx context.Context) (entry, bool) {
	for failures := 0; ctx.Err() == nil; {
		e, found, read, again := l.pick()
		switch {
		case found:
			return e, true
		case !read:
			l.rest(ctx, again)
			continue
		}
		err := l.readBack(ctx)
		if err == nil {
			l.health.Clear(l.name)
			failures = 0
			continue
		}
		if ctx.Err() == nil && l.health.Set(l.name, err) {
			l.log.Error().Err(err).Str("lane", l.name).Msg("deliveries cannot be read; trying again")
		}
		health.Pause(ctx, health.Backoff(failures))
		failures++
	}
	return entry{}, false
}

// rest waits for a signal, the time until, or the end of ctx. If until is zero, there is no time limit.
func (l *lane) rest(ctx context.Context, until time.Time) {
	var timer <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-l.wake:
	case <-timer:
	case <-ctx.Done():
	}
}
