package workflows

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore"
	"payledger/eventstore/workflows/condition"
)

const (
	// readerName names the planner among the log's readers.
	readerName = "workflows"
	// positionEvery is how often the position is written at most: after a crash this much is planned again.
	positionEvery = 250 * time.Millisecond
	// sweepEvery is how often open runs are looked for, and horizon how long ahead of their time they are taken.
	sweepEvery = 10 * time.Second
	horizon    = 30 * time.Second
	// lastSave bounds the last writing of the position when the engine ends.
	lastSave = 2 * time.Second
)

// Config is what an engine needs.
type Config struct {
	Store    *eventstore.Store
	Fanout   *eventstore.Fanout // must not run yet
	Compiler *condition.Compiler
	// DisputeCompiler compiles conditions of workflows that disputes start.
	DisputeCompiler *condition.Compiler
	Subjects        Subjects
	Payments        Payments
	Requests        Requests
	OpenRuns        Runs
	Now             func() time.Time
	Logger          zerolog.Logger
	// Alone says that no other node takes runs of this log: what is open at the start is nobody's.
	Alone bool
}

// Engine starts and takes runs. Run it once.
type Engine struct {
	Config
	positions  *eventstore.PositionStream
	reader     *eventstore.Reader
	place      place
	conditions conditions
	flights    flights
	health     health
}

// New registers with the fan-out at the place that was planned last. It fails when the log is shorter than that place.
func New(ctx context.Context, c Config) (*Engine, error) {
	positions, err := c.Store.OpenPositions(ctx)
	if err != nil {
		return nil, err
	}
	at, err := positions.Load(ctx, readerName)
	if err != nil {
		return nil, err
	}
	if err := c.Store.CheckReader(ctx, readerName, at); err != nil {
		return nil, err
	}
	e := &Engine{Config: c, positions: positions, reader: c.Fanout.Reader(readerName, at), place: place{log: at}}
	e.conditions = conditions{compiler: e.compilerFor}
	e.flights.start()
	return e, nil
}

// Run plans runs until ctx ends (nil), or until an event cannot be planned: the error names it. They are taken from
// Act on.
func (e *Engine) Run(ctx context.Context) error {
	background, stop := context.WithCancel(ctx)
	defer stop()
	var beside sync.WaitGroup
	beside.Go(func() { e.keep(background) })
	beside.Go(func() { e.lookAfter(background) })
	err := e.plan(ctx)
	if err != nil {
		e.health.stopped(err)
		e.Logger.Error().Err(err).Msg("workflows are not started any more")
	}
	stop()
	beside.Wait()
	e.Close()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSave)
	defer cancel()
	e.save(last)
	return err
}

// Act has runs taken: everything that they need is there. It is called once.
func (e *Engine) Act() { close(e.flights.acting) }

// Close ends the runs under way where they are; they go on at the next start. Those that wait in Payments end when it
// lets its callers go.
func (e *Engine) Close() { e.flights.close() }

// Healthy is nil while every event is planned.
func (e *Engine) Healthy() error { return e.health.err() }

// lookAfter takes the runs that are open and due: at once, and again and again.
func (e *Engine) lookAfter(ctx context.Context) {
	select {
	case <-e.flights.acting:
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := e.sweep(ctx); err != nil && ctx.Err() == nil {
			e.Logger.Warn().Err(err).Msg("open workflow runs not looked through; trying again")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sweep takes what is open and due, and nobody's.
func (e *Engine) sweep(ctx context.Context) error {
	now := e.Now()
	open, err := e.OpenRuns(ctx, now.Add(horizon), maxFlights)
	if err != nil {
		return err
	}
	for _, run := range open {
		if !run.Running || e.Alone || now.Sub(run.Updated) > orphaned {
			e.take(run)
		}
	}
	return nil
}

// keep writes the position as it changes, until ctx ends.
func (e *Engine) keep(ctx context.Context) {
	tick := time.NewTicker(positionEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			e.save(ctx)
		}
	}
}

// save writes the position if it changed; a failure costs nothing but work after a crash.
func (e *Engine) save(ctx context.Context) {
	at, changed := e.place.changed()
	if !changed {
		return
	}
	if err := e.positions.Save(ctx, readerName, at); err != nil {
		if ctx.Err() == nil {
			e.Logger.Warn().Err(err).Msg("the position of the workflows is not written; trying again")
		}
		return
	}
	e.place.written(at)
}

// health is why nothing is planned any more.
type health struct {
	mu    sync.Mutex
	cause error
}

func (h *health) stopped(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cause = errors.Join(errStopped, err)
}

var errStopped = errors.New("workflows: events are not planned any more")

func (h *health) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cause
}
