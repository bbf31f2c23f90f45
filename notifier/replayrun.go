package notifier

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/notifier/health"
	"payledger/notifier/message"
	"payledger/projections/deliveries"
)

const (
	// replayChunk is the number of deliveries between two records of a replay's progress. After a crash, at most about as many
	// are sent again.
	replayChunk = 64
	// replayAttempts bounds the concurrent attempts of one replay. It is less than laneAttempts.
	replayAttempts = 6
)

// enter sets the contexts of replays: they run until ctx ends, and their attempts in flight until after the grace.
func (l *DeliveryLog) enter(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	cut, end := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(l.notifier.grace, end) })
	l.context, l.cut = ctx, cut
}

// leave ends the replays of this process. No replay starts after it.
func (l *DeliveryLog) leave(stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stop()
}

// resume starts the open replays. After a failure it tries again until it succeeds or ctx ends.
func (l *DeliveryLog) resume(ctx context.Context) {
	for n := 0; ; n++ {
		err := l.startOpen(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			l.notifier.health.Clear(replaysName)
			return
		}
		if l.notifier.health.Set(replaysName, err) {
			l.log.Error().Err(err).Msg("webhook replays cannot be read; trying again")
		}
		if !health.Pause(ctx, health.Backoff(n)) {
			return
		}
	}
}

// startOpen starts every open replay whose record can be read.
func (l *DeliveryLog) startOpen(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	o, _, err := l.openReplays(ctx)
	for _, name := range o.Open {
		err = errors.Join(err, l.startNamed(ctx, name))
	}
	return err
}

func (l *DeliveryLog) startNamed(ctx context.Context, name string) error {
	stored, err := l.stream.Last(ctx, name)
	if errors.Is(err, eventstore.ErrNotFound) { // the process ended before the record was open, and a drop has deleted it
		return l.removeOpen(ctx, name)
	}
	if err != nil {
		return err
	}
	p, err := decodeReplay(stored)
	if err != nil {
		return err
	}
	if p.Schema < replaySchema { // schema 1 has no Through: the place of the replay's first record is close to it
		for first := stored; err == nil; first, err = l.stream.AsOf(ctx, name, first.Seq-1) {
			p.Schema, p.Through = replaySchema, first.Seq
		}
		if !errors.Is(err, eventstore.ErrNotFound) {
			return err
		}
	}
	l.start(p, stored.Seq)
	return nil
}

// start runs a replay. Before Run it does nothing: Run starts all open replays. The caller holds the lock.
func (l *DeliveryLog) start(p replay, at uint64) {
	if l.context == nil || l.context.Err() != nil || l.active[p.name()] {
		return
	}
	l.active[p.name()] = true
	p.Runner = l.runner
	l.running.Go(func() {
		run := &replayRun{DeliveryLog: l, replay: p, at: at, skip: p.Ahead}
		run.run(l.context)
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.active, p.name())
	})
}

// replayRun is a replay that runs in this process.
type replayRun struct {
	*DeliveryLog
	replay replay
	at     uint64   // place of the replay's newest record
	skip   []string // names of deliveries after replay.At that are finished
	chunk  []task
	opened bool // this process has written the record as open
}

// task is one delivery of a chunk.
type task struct {
	event     *eventstore.Recorded
	candidate webhook.Candidate
	name      string
	done      bool
}

// run completes the replay, unless ctx ends first or another process continues the replay. After a problem of payledger's
// own it tries again.
func (t *replayRun) run(ctx context.Context) {
	name := t.replay.name()
	for n := 0; ; n++ {
		err := t.advance(ctx)
		if ctx.Err() == nil && over(err) {
			t.replay.State, t.replay.Failure = deliveries.ReplayFailed, reasonOf(err)
			t.log.Warn().Err(err).Str("replay", name).Msg("a webhook replay ends early")
			err = t.finish(ctx)
		}
		switch {
		case err == nil:
			t.notifier.health.Clear(name)
			return
		case ctx.Err() != nil:
			return
		case errors.Is(err, eventstore.ErrConflict):
			t.log.Warn().Str("replay", name).Msg("another process goes on with a webhook replay")
			return
		}
		if t.notifier.health.Set(name, err) {
			t.log.Error().Err(err).Str("replay", name).Msg("a webhook replay is held up; trying again")
		}
		if !health.Pause(ctx, health.Backoff(n)) {
			return
		}
	}
}

// over reports whether an error ends the replay.
func over(err error) bool {
	return errors.Is(err, message.ErrNoEndpoint) || errors.Is(err, message.ErrDisabled) || permanent(err)
}

func reasonOf(err error) string {
	switch {
	case errors.Is(err, message.ErrNoEndpoint):
		return "the endpoint was deleted"
	case errors.Is(err, message.ErrDisabled):
		return "the endpoint is disabled"
	}
	return "an event or a record is of a newer version of the service"
}

// advance runs the rest of the replay.
func (t *replayRun) advance(ctx context.Context) error {
	if t.replay.State != deliveries.ReplayRunning {
		return t.finish(ctx)
	}
	if err := t.open(ctx); err != nil {
		return err
	}
	if _, err := t.waitForIndex(ctx); err != nil { // a delivery that the index does not show would count as not planned
		return err
	}
	t.chunk = nil
	from := t.replay
	from.At = slices.Clone(t.replay.At)
	reached := slices.Clone(t.replay.At)
	err := t.eachEvent(ctx, &from, func(e relevantEvent) error {
		for _, c := range e.wanted {
			t.chunk = append(t.chunk, task{event: e.Recorded, candidate: c})
		}
		reached[e.Shard] = e.Seq
		if len(t.chunk) < replayChunk {
			return nil
		}
		return t.send(ctx, reached)
	})
	if err != nil {
		return err
	}
	if err := t.send(ctx, t.replay.End); err != nil {
		return err
	}
	t.replay.State = deliveries.ReplayDone
	return t.finish(ctx)
}

// open writes the record as open before the first step, so that no drop deletes it while the replay runs (begin).
func (t *replayRun) open(ctx context.Context) error {
	if t.opened {
		return nil
	}
	err := t.save(ctx)
	t.opened = err == nil
	return err
}

// send sends a chunk and moves At to reached. After a failure, send records the finished deliveries in Ahead.
func (t *replayRun) send(ctx context.Context, reached []uint64) error {
	err := t.sendAll(ctx)
	var ahead []string
	for _, one := range t.chunk {
		if one.done {
			ahead = append(ahead, one.name)
		}
	}
	if err == nil {
		copy(t.replay.At, reached)
		t.replay.Ahead, t.skip = nil, nil
	} else {
		t.replay.Ahead, t.skip = ahead, ahead
	}
	t.chunk = nil
	if len(ahead) == 0 {
		return err
	}
	return errors.Join(err, t.save(ctx))
}

// sendAll sends the chunk in order, replayAttempts deliveries at a time. After a failure it begins no further delivery, and
// returns when the deliveries under way have ended.
func (t *replayRun) sendAll(ctx context.Context) error {
	var (
		mu      sync.Mutex
		first   error
		next    int
		running sync.WaitGroup
	)
	take := func() *task {
		mu.Lock()
		defer mu.Unlock()
		if first != nil || ctx.Err() != nil || next == len(t.chunk) {
			return nil
		}
		next++
		return &t.chunk[next-1]
	}
	for range min(replayAttempts, len(t.chunk)) {
		running.Go(func() {
			for one := take(); one != nil; one = take() {
				counted, err := t.do(ctx, one)
				mu.Lock()
				if one.done = err == nil; counted && err == nil {
					t.replay.Done++
				}
				if err != nil && first == nil {
					first = err
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	if first == nil && next < len(t.chunk) {
		return ctx.Err()
	}
	return first
}

// do executes the step of one delivery. counted reports whether the delivery adds one to the replay's Done.
func (t *replayRun) do(ctx context.Context, one *task) (counted bool, err error) {
	what, name, err := t.stepOf(ctx, &t.replay, one.event, one.candidate)
	one.name = name
	if err != nil || slices.Contains(t.skip, name) {
		return false, err
	}
	if what == stepAgain || what == stepAnew {
		if err := t.pace.Wait(ctx); err != nil {
			return false, err
		}
	}
	switch what {
	case stepAgain:
		err = t.notifier.resend(ctx, t.cut, t.replay.Account, name)
	case stepAnew:
		err = t.planAndWait(ctx, one)
	}
	return what != stepNone, err
}

// planAndWait plans a delivery and waits for its first attempt, so that a replay does not fill the endpoint's lane, which
// live webhooks use too. The lane sends a planned delivery even if ctx ends.
func (t *replayRun) planAndWait(ctx context.Context, one *task) error {
	first := t.firstAttempts.await(one.name)
	created, err := t.notifier.Plan(ctx, one.event, t.replay.Endpoint, []webhook.Kind{one.candidate.Kind})
	if err != nil || len(created) == 0 {
		t.firstAttempts.recorded(one.name)
		return err
	}
	select {
	case <-first:
	case <-ctx.Done():
	}
	return nil
}

// save records the replay's progress. If ctx ends, the write has recordTime left. ErrConflict means that another process
// continues the replay.
func (t *replayRun) save(ctx context.Context) error {
	body, err := t.replay.encode()
	if err != nil {
		return err
	}
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(recordTime, cancel) })
	defer stop()
	open := t.replay.State == deliveries.ReplayRunning
	at, err := t.stream.Put(late, t.replay.name(), t.at, body, open)
	if errors.Is(err, eventstore.ErrConflict) {
		at, err = t.saveAgain(late, body, open, err)
	}
	if err == nil {
		t.at = at
	}
	return err
}

// saveAgain writes the record after a conflict if this process wrote the newest record, in a write whose answer was lost.
func (t *replayRun) saveAgain(ctx context.Context, body []byte, open bool, conflict error) (uint64, error) {
	stored, err := t.stream.Last(ctx, t.replay.name())
	if err != nil {
		return 0, err
	}
	if there, err := decodeReplay(stored); err != nil || there.Runner != t.runner {
		return 0, errors.Join(conflict, err)
	}
	return t.stream.Put(ctx, t.replay.name(), stored.Seq, body, open)
}

// finish records the replay's end, then removes the replay from the list of open replays.
func (t *replayRun) finish(ctx context.Context) error {
	if err := t.save(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.removeOpen(ctx, t.replay.name())
}
