package workflows

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/cache"
	"payledger/eventstore/commands/workflows/condition"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/position"
	"payledger/eventstore/turns"
)

const (
	// readerName names the planner among the log's readers.
	readerName = "workflows"
	// lastSave bounds the last write of the position, when the engine ends.
	lastSave = 2 * time.Second
)

// Store is a store with the stream that has the positions of its readers.
type Store interface {
	eventstore.Store
	Deliveries() *deliverylog.Stream
}

// Config is the configuration of an engine.
type Config struct {
	Store    Store
	Compiler *condition.Compiler
	// DisputeCompiler compiles conditions of workflows that disputes start.
	DisputeCompiler *condition.Compiler
	Subjects        Subjects
	Payments        Payments
	Requests        Requests
	OpenRuns        OpenRuns
	Now             func() time.Time
	Logger          zerolog.Logger
	// Alone is true if no other node drives runs of this log, so that no node drives the runs that
	// are open at the start.
	Alone bool
	// Left reports whether the node that ran a command does not work any more, or is this one; nil:
	// every event is this node's own, and it takes over no run.
	Left func(command string) bool
	// Plans reports whether this node evaluates the events of a command at once, and not only what
	// other nodes leave; nil: Left.
	Plans func(command string) bool
	// Lost returns how often another node has stopped working; nil: never.
	Lost func() uint64
	// SweepEvery is the time between two sweeps of the open runs; 0: sweepEvery.
	SweepEvery time.Duration
}

// Engine starts and drives runs. Run it once.
type Engine struct {
	Config
	fanout      *eventstore.Fanout // of its own: a problem of workflows delays no other reader
	reader      *eventstore.Reader
	position    *position.Position
	others      *turns.Queue[possible] // what the events of other nodes may start
	conditions  *cache.Cache[compiledKey, compiled]
	definitions definitionHistory
	active      activeRuns
	swept       map[domain.WorkflowID]sweepPlace
	sweptAhead  sweepPlace
	health      health
	patience    time.Duration
	simulating  turnstile
	lost        uint64 // Lost at the last sweep that ended
	sweepsAll   bool   // the sweep looks at the runs that other nodes drive, too
}

// New returns an engine that continues at the stored position. It fails if the log is shorter than
// that position.
func New(ctx context.Context, c Config) (*Engine, error) {
	stored, err := position.Open(ctx, c.Store.Deliveries(), readerName, c.Store.Shards())
	if err != nil {
		return nil, err
	}
	addresses := stored.At()
	if err := c.Store.CheckReader(ctx, readerName, addresses); err != nil {
		return nil, err
	}
	if c.Lost == nil {
		c.Lost = func() uint64 { return 0 }
	}
	e := &Engine{
		Config: c, fanout: eventstore.NewFanout(c.Store), position: stored, definitions: definitionHistory{store: c.Store},
		conditions: cache.New[compiledKey](maxCompiled, func(compiled) int { return 1 }, nil),
		swept:      map[domain.WorkflowID]sweepPlace{}, patience: unreadable,
	}
	e.reader = e.fanout.Reader(readerName, addresses)
	e.others = turns.NewQueue(e.started, e.startPossible, e.position.Advance)
	e.active.start()
	return e, nil
}

// Run plans runs until ctx ends (nil), or until an event cannot be planned: the error names the
// event. Actions begin after Act.
func (e *Engine) Run(ctx context.Context) error {
	background, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var beside sync.WaitGroup
	beside.Go(func() {
		if err := e.fanout.Run(background); err != nil {
			stop(err)
		}
	})
	beside.Go(func() { e.position.Run(background, func(err error) { e.saved(background, err) }) })
	beside.Go(func() { e.runSweeps(background) })
	err := e.plan(background)
	if cause := context.Cause(background); err == nil && ctx.Err() == nil {
		err = cause // the log cannot be read
	}
	if err != nil {
		e.health.set(errors.Join(errStopped, err))
		e.Logger.Error().Err(err).Msg("workflows are not started any more")
	}
	stop(nil)
	beside.Wait()
	e.Close()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSave)
	defer cancel()
	_, failed := e.position.Save(last)
	e.saved(last, failed)
	return err
}

// Act lets the actions of runs begin. Call it once, when Payments and Requests work.
func (e *Engine) Act() { close(e.active.acting) }

// Close stops the runs under way and waits for them. They continue at the next start. A run that
// waits in Payments stops when the call of Payments returns.
func (e *Engine) Close() { e.active.close() }

// Healthy returns nil while every event is planned, else the problem that holds up or ended the
// planner.
func (e *Engine) Healthy() error { return e.health.err() }

func (e *Engine) saved(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		e.Logger.Warn().Err(err).Msg("the position of the workflows is not written; trying again")
	}
}
