package notifier

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore"
)

// stream is what the notifier needs of eventstore.DeliveryStream.
type stream interface {
	Put(ctx context.Context, name string, expected uint64, body []byte) (uint64, error)
	Replace(ctx context.Context, name string, body []byte) error
	Last(ctx context.Context, name string) (eventstore.StoredDelivery, error)
	Next(ctx context.Context, pattern string, from uint64) (eventstore.StoredDelivery, error)
	Scan(ctx context.Context, pattern string, from uint64, limit int) (page []eventstore.StoredDelivery, end bool, err error)
}

// lanes are the lanes of all endpoints that have had a delivery.
type lanes struct {
	stream stream
	health *health
	log    zerolog.Logger
	now    func() time.Time
	limits limits
	turns  turns

	mu      sync.Mutex
	all     map[string]*lane
	start   func(*lane) // nil until run, and after wait
	running sync.WaitGroup
}

func newLanes(s stream, h *health, log zerolog.Logger, now func() time.Time) *lanes {
	return &lanes{stream: s, health: h, log: log, now: now, limits: limits{laneQueue, laneWaiting, lanePage}, all: map[string]*lane{}}
}

// of gives an endpoint's lane, and makes it at first use.
func (ls *lanes) of(name string) *lane {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l, there := ls.all[name]
	if !there {
		l = newLane(name, ls.stream, ls.health, ls.log, ls.now, ls.limits)
		l.turns = ls.turns
		ls.all[name] = l
		if ls.start != nil {
			ls.start(l)
		}
	}
	return l
}

// run starts every lane, those to come too. wait returns when all have ended.
func (ls *lanes) run(ctx context.Context, do send) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.start = func(l *lane) { ls.running.Go(func() { l.run(ctx, do) }) }
	for _, l := range ls.all {
		ls.start(l)
	}
}

// wait returns when every lane has ended, which is when run's ctx has; a lane that is made later does not start.
func (ls *lanes) wait() {
	ls.mu.Lock()
	ls.start = nil
	ls.mu.Unlock()
	ls.running.Wait()
}

// open lists the lanes that have open deliveries, by name.
func (ls *lanes) open() []openLane {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	var open []openLane
	for name, l := range ls.all {
		if place, there := l.first(); there {
			open = append(open, openLane{Lane: name, First: place})
		}
	}
	slices.SortFunc(open, func(a, b openLane) int { return cmp.Compare(a.Lane, b.Lane) })
	return open
}
