package replay

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/due"
	"payledger/notifier/delivery"
	"payledger/notifier/health"
	"payledger/projections/deliveries"
)

// Notifier is the part of the notifier that replays use.
type Notifier interface {
	Planned(ctx context.Context) ([]uint64, error)
	Plan(ctx context.Context, e *eventstore.Recorded, endpoint domain.EndpointID, kinds []webhook.Kind) ([]string, error)
	ResendUntil(ctx, cut context.Context, owner domain.AccountID, name string, owns func() error) error
}

// Config is what a Replayer needs.
type Config struct {
	Store    eventstore.Store
	Stream   *deliverylog.Stream
	Notifier Notifier
	// Endpoint returns an account's endpoint, or message.ErrNoEndpoint.
	Endpoint     func(ctx context.Context, owner domain.AccountID, id domain.EndpointID) (account.Endpoint, error)
	Index        *deliveries.Index
	WaitForIndex func(ctx context.Context) (uint64, error) // AttemptLog.waitForIndex
	Health       *health.Health
	Now          func() time.Time
	Random       io.Reader
	Log          zerolog.Logger
	PerSecond    float64       // deliveries, of all replays together
	Grace        time.Duration // for attempts in flight after Run's context has ended
	Ownership    delivery.Ownership
}

// goneEvery is the interval in which a node looks for replays of nodes that are gone.
const goneEvery = 500 * time.Millisecond

// Replayer starts, runs and continues replays.
type Replayer struct {
	Config
	pace     *rate.Limiter
	process  string // the id of this process, in its records
	counts   *counts
	attempts firstAttempts

	mu      sync.Mutex
	context context.Context // of the replays; nil while Run does not run
	cut     context.Context // ends later than context, so that attempts in flight can finish
	active  map[string]bool // replays that run here, by name
	running sync.WaitGroup
}

// New returns a Replayer. Replays run only while Run runs.
func New(c Config) (*Replayer, error) {
	process, err := eventstore.NewUUID(c.Random)
	if err != nil {
		return nil, err
	}
	return &Replayer{
		Config: c, pace: rate.NewLimiter(rate.Limit(c.PerSecond), max(1, int(c.PerSecond/20))), process: process,
		counts: newCounts(), attempts: firstAttempts{waiting: map[string]chan struct{}{}}, active: map[string]bool{},
	}, nil
}

// Run runs the open replays and every replay that Start starts, until ctx ends: those of this node
// and, in a cluster, those of nodes that are gone. The next start continues them.
func (r *Replayer) Run(ctx context.Context) {
	cut, end := health.Extend(ctx, r.Grace)
	defer end()
	r.mu.Lock()
	r.context, r.cut = ctx, cut
	r.mu.Unlock()
	r.startAll(ctx)
	for r.Ownership.Nodes != nil && due.Rest(ctx, goneEvery, nil) == nil {
		if r.anyToStart() {
			r.startAll(ctx)
		}
	}
	<-ctx.Done()
	r.mu.Lock()
	r.context = nil // start starts nothing any more
	r.mu.Unlock()
	r.running.Wait()
}

func (r *Replayer) startAll(ctx context.Context) {
	_ = r.Health.Retry(ctx, listName, func() error { return r.startOpen(ctx) }, func(err error) {
		r.Log.Error().Err(err).Msg("webhook replays cannot be read; trying again")
	})
}

// Attempted notes that an attempt of a delivery is recorded.
func (r *Replayer) Attempted(name string) { r.attempts.recorded(name) }

// Needs reports whether a record of the stream must not be dropped while it is open. Older versions
// left open records of replays that they refused; the list of open replays does not have those.
func (r *Replayer) Needs(ctx context.Context, stored deliverylog.Record) (bool, error) {
	if stored.IsDelivery() || !strings.HasPrefix(stored.Name, prefix) { // not of a replay
		return true, nil
	}
	list, _, err := r.openList(ctx)
	return slices.Contains(list.Open, stored.Name), err
}

// startOpen starts the open replays that this node owns or may take over, and that do not run here.
func (r *Replayer) startOpen(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, _, err := r.openList(ctx)
	for _, name := range list.Open {
		err = errors.Join(err, r.startNamed(ctx, name))
	}
	return err
}

// anyToStart reports whether startOpen would start a replay, by the records that this process has.
// It makes no request.
func (r *Replayer) anyToStart() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, _, err := listOf(r.Stream.Known(listName))
	return err == nil && slices.ContainsFunc(list.Open, func(name string) bool {
		if r.active[name] {
			return false
		}
		stored, err := r.Stream.Known(name)
		if err != nil {
			return false // a start reports it
		}
		p, err := decode(stored)
		return err == nil && r.Ownership.MayRun(p.Owner)
	})
}

func (r *Replayer) startNamed(ctx context.Context, name string) error {
	stored, err := r.Stream.Last(ctx, name)
	if errors.Is(err, eventstore.ErrNotFound) { // the process ended before the record was open, and a drop has deleted it
		return r.removeOpen(ctx, name)
	}
	if err != nil {
		return err
	}
	p, err := decode(stored)
	if err == nil && r.Ownership.MayRun(p.Owner) {
		r.start(p, stored.Seq)
	}
	return err
}

// start runs a replay as this node's own. Before Run it does nothing: Run starts all open replays.
// The caller holds the lock.
func (r *Replayer) start(p record, at uint64) {
	ctx := r.context
	owner, err := r.Ownership.Holder()
	if ctx == nil || r.active[p.name()] || err != nil { // without an owner id, a later look at the open replays starts it
		return
	}
	r.active[p.name()] = true
	p.Runner, p.Owner = r.process, owner
	r.running.Go(func() {
		j := &job{Replayer: r, replay: p, at: at, skip: p.DoneAfterAt}
		j.run(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.active, p.name())
	})
}
