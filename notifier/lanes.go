package notifier

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore"
	"payledger/notifier/delivery"
	"payledger/notifier/health"
)

// stream is what the notifier needs of eventstore.DeliveryStream and eventstore.PositionStream.
type stream interface {
	Put(ctx context.Context, name string, expected uint64, body []byte, open bool) (uint64, error)
	Last(ctx context.Context, name string) (eventstore.StoredDelivery, error)
	At(ctx context.Context, place uint64) (eventstore.StoredDelivery, error)
	Waiting(ctx context.Context, lane string, from uint64, limit int) (page []eventstore.StoredDelivery, end bool, err error)
	Lanes(ctx context.Context) ([]string, error)
	End(ctx context.Context) (uint64, error)
	Floor() eventstore.Floor
	Load(ctx context.Context, reader string) ([]uint64, error)
	Save(ctx context.Context, reader string, at []uint64) error
}

// records are the streams that a notifier writes to.
type records struct {
	*eventstore.DeliveryStream
	*eventstore.PositionStream
}

func openRecords(ctx context.Context, s *eventstore.Store) (records, error) {
	deliveries, err := s.OpenDeliveries(ctx)
	if err != nil {
		return records{}, err
	}
	positions, err := s.OpenPositions(ctx)
	return records{deliveries, positions}, err
}

// lanes are the lanes of all endpoints that have had a delivery.
type lanes struct {
	stream    stream
	health    *health.Health
	log       zerolog.Logger
	now       func() time.Time
	limits    limits
	ownership delivery.Ownership

	mu      sync.Mutex
	all     map[string]*lane
	start   func(*lane) // nil until run, and after wait
	running sync.WaitGroup
}

func newLanes(s stream, h *health.Health, log zerolog.Logger, now func() time.Time) *lanes {
	return &lanes{stream: s, health: h, log: log, now: now, limits: limits{laneQueue, laneWaiting, lanePage}, all: map[string]*lane{}}
}

// of gives an endpoint's lane, and makes it at first use.
func (ls *lanes) of(name string) *lane {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l, there := ls.all[name]
	if !there {
		l = newLane(name, ls.stream, ls.health, ls.log, ls.now, ls.limits)
		l.ownership = ls.ownership
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
