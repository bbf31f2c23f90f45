package notifier

import (
	"context"
	"math"
	"sync"
	"time"

	"payledger/eventstore/deliverylog"
	"payledger/eventstore/due"
	"payledger/eventstore/streams"
	"payledger/eventstore/workers"
	"payledger/notifier/health"
)

// stream is the part of deliverylog.Stream that the notifier uses.
type stream interface {
	Put(ctx context.Context, name string, expected uint64, body []byte, open bool) (uint64, error)
	Last(ctx context.Context, name string) (deliverylog.Record, error)
	Known(name string) (deliverylog.Record, error)
	At(ctx context.Context, place uint64) (deliverylog.Record, error)
	Waiting(ctx context.Context, lane string, from uint64, limit int) (page []deliverylog.Record, end bool, err error)
	Lanes(ctx context.Context) ([]string, error)
	End(ctx context.Context) (uint64, error)
	Follow(ctx context.Context, from uint64, batch func([]deliverylog.Record) error) error
	Floor() streams.Floor
}

// lanes holds the lanes of all endpoints that have had a delivery. A lane without deliveries has no
// goroutine.
type lanes struct {
	shared
	workers *workers.Workers // of all lanes
	runs    *runs

	mu  sync.Mutex
	all map[string]*lane
}

// runs starts the goroutines of lanes.
type runs struct {
	mu      sync.Mutex
	run     func(*lane) // nil before lanes.run and after lanes.wait
	running sync.WaitGroup
}

// start reports whether the lane runs now.
func (r *runs) start(l *lane) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run == nil {
		return false
	}
	run := r.run
	r.running.Go(func() { run(l) })
	return true
}

func (r *runs) set(run func(*lane)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run = run
}

func newLanes(s shared) *lanes {
	s.owners, s.limits = &owners{ids: map[string]bool{}}, limits{laneQueue, laneWaiting, lanePage}
	return &lanes{shared: s, workers: workers.New(), runs: &runs{}, all: map[string]*lane{}}
}

func (ls *lanes) of(name string) *lane {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l, there := ls.all[name]
	if !there {
		l = newLane(name, ls.shared)
		l.runs = ls.runs
		ls.all[name] = l
	}
	return l
}

func (ls *lanes) scan() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.all {
		l.scanFrom(1)
	}
}

func (ls *lanes) run(ctx context.Context, send sendFunc) {
	ls.runs.set(func(l *lane) { l.run(ctx, ls.workers, send) })
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.all {
		l.begin()
	}
}

// wait waits until every lane has ended. Lanes end when run's ctx ends. No lane starts later.
func (ls *lanes) wait() {
	ls.runs.set(nil)
	ls.runs.running.Wait()
	ls.workers.Close()
}

// sendFunc attempts an entry's delivery until the outcome is recorded or the notifier ends. It
// calls free when the next attempt may begin.
type sendFunc func(ctx context.Context, l *lane, e entry, free func())

// run calls send on workers for each delivery when it is due, until the lane has no delivery or ctx
// ends, and the calls have returned. At most AttemptsAtOnce calls have not called free.
func (l *lane) run(ctx context.Context, w *workers.Workers, send sendFunc) {
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
			send(ctx, l, e, f.free)
		})
	}
}

type slot struct {
	slots, unrecorded chan struct{}
	freed             bool
}

// free gives the slot back before the outcome is recorded, unless laneUnrecorded outcomes already
// wait to be recorded.
func (f *slot) free() {
	select {
	case f.unrecorded <- struct{}{}:
		<-f.slots
		f.freed = true
	default:
	}
}

func (f *slot) release() {
	if f.freed {
		<-f.unrecorded
	} else {
		<-f.slots
	}
}

// next waits for a delivery that is due and returns it. It reports false if the lane has no
// delivery, or ctx ends first.
func (l *lane) next(ctx context.Context) (entry, bool) {
	for failures := 0; ctx.Err() == nil; {
		picked := l.pick()
		if picked.found {
			return picked.entry, true
		}
		if !picked.mustRead {
			if l.rest() {
				return entry{}, false
			}
			wait := time.Duration(math.MaxInt64) // without a time, a signal ends the wait
			if !picked.wakeAt.IsZero() {
				wait = time.Until(picked.wakeAt)
			}
			_ = due.Rest(ctx, wait, l.wake)
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
		_ = due.Rest(ctx, health.Backoff(failures), nil)
		failures++
	}
	return entry{}, false
}
