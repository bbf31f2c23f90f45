package workflows

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/workflows/condition"
)

const (
	// readerName names the planner among the log's readers.
	readerName = "workflows"
	// positionEvery is how often the position is written at most: after a crash this much is planned again.
	positionEvery = 250 * time.Millisecond
	// lastSave bounds the last writing of the position when the engine ends.
	lastSave = 2 * time.Second
)

// Config is what an engine needs.
type Config struct {
	Store    *eventstore.Store
	Compiler *condition.Compiler
	// DisputeCompiler compiles conditions of workflows that disputes start.
	DisputeCompiler *condition.Compiler
	Subjects        Subjects
	Payments        Payments
	Requests        Requests
	OpenRuns        OpenRuns
	Now             func() time.Time
	Logger          zerolog.Logger
	// Alone says that no other node takes runs of this log: what is open at the start is nobody's.
	Alone bool
	// SweepEvery is how often open runs are looked for besides; 0: every ten seconds.
	SweepEvery time.Duration
}

// Engine starts and takes runs. Run it once.
type Engine struct {
	Config
	positions   *eventstore.PositionStream
	fanout      *eventstore.Fanout // of its own: what holds up workflows holds up nothing else
	reader      *eventstore.Reader
	place       place
	conditions  conditions
	definitions definitionHistory
	inFlight    inFlightRuns
	swept       map[domain.WorkflowID]sweepPlace
	sweptAhead  sweepPlace
	health      health
	patience    time.Duration
	simulating  turnstile
}

// New makes an engine that goes on at the place that was planned last. It fails when the log is shorter than that.
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
	e := &Engine{
		Config: c, positions: positions, fanout: eventstore.NewFanout(c.Store), place: place{log: at}, definitions: definitionHistory{store: c.Store},
		swept: map[domain.WorkflowID]sweepPlace{}, patience: unreadable,
	}
	e.reader = e.fanout.Reader(readerName, at)
	e.conditions = conditions{compiler: e.compilerFor}
	e.inFlight.start()
	return e, nil
}

// Run plans runs until ctx ends (nil), or until an event cannot be planned: the error names it. They are taken from
// Act on.
func (e *Engine) Run(ctx context.Context) error {
	background, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var beside sync.WaitGroup
	beside.Go(func() {
		if err := e.fanout.Run(background); err != nil {
			stop(err)
		}
	})
	beside.Go(func() { e.keep(background) })
	beside.Go(func() { e.lookAfter(background) })
	err := e.plan(background)
	if cause := context.Cause(background); err == nil && ctx.Err() == nil {
		err = cause // the log cannot be read
	}
	if err != nil {
		e.health.stopped(err)
		e.Logger.Error().Err(err).Msg("workflows are not started any more")
	}
	stop(nil)
	beside.Wait()
	e.Close()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSave)
	defer cancel()
	e.save(last)
	return err
}

// Act has runs taken: everything that they need is there. It is called once.
func (e *Engine) Act() { close(e.inFlight.acting) }

// Close ends the runs under way where they are; they go on at the next start. Those that wait in Payments end when it
// lets its callers go.
func (e *Engine) Close() { e.inFlight.close() }

// Healthy is nil while every event is planned; an error says why that is at a stand, or ended.
func (e *Engine) Healthy() error { return e.health.err() }

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
