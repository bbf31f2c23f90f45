package replay

import (
	"context"
	"errors"
	"slices"
	"time"

	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/notifier/delivery"
	"payledger/notifier/health"
	"payledger/notifier/message"
	"payledger/projections/deliveries"
)

const (
	// chunkSize is the number of deliveries between two records of a replay's progress. After a crash, at most about as many
	// are sent again.
	chunkSize = 64
	// maxAttempts bounds the concurrent attempts of one replay. It is less than the number of concurrent attempts of one endpoint.
	maxAttempts = 6
	// recordTime bounds the last write of a run when the process ends.
	recordTime = time.Second
)

type run struct {
	*Replayer
	replay record
	at     uint64   // place of the replay's newest record
	skip   []string // names of deliveries after replay.At that are finished
	chunk  []task
	opened bool // this process has written the record as open
}

type task struct {
	event     *eventstore.Recorded
	candidate webhook.Candidate
	name      string
	done      bool
}

// run completes the replay, unless ctx ends first or another process continues the replay. After a problem of payledger's
// own it tries again.
func (t *run) run(ctx context.Context) {
	name := t.replay.name()
	defer t.Index.Hasten()() // the replay waits for recorded attempts, and the index must not be behind the floor
	_ = t.Health.Retry(ctx, name, func() error {
		err := t.execute(ctx)
		if ctx.Err() == nil && over(err) {
			t.replay.State, t.replay.Failure = deliveries.ReplayFailed, reasonOf(err)
			t.Log.Warn().Err(err).Str("replay", name).Msg("a webhook replay ends early")
			err = t.finish(ctx)
		}
		if ctx.Err() == nil && errors.Is(err, eventstore.ErrConflict) {
			t.Log.Warn().Str("replay", name).Msg("another process goes on with a webhook replay")
			return nil
		}
		return err
	}, func(err error) {
		t.Log.Error().Err(err).Str("replay", name).Msg("a webhook replay is held up; trying again")
	})
}

func over(err error) bool {
	return errors.Is(err, message.ErrNoEndpoint) || errors.Is(err, message.ErrDisabled) || delivery.Permanent(err)
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

// execute sends the webhooks of a replay, from its stored position to its end.
func (t *run) execute(ctx context.Context) error {
	if t.replay.State != deliveries.ReplayRunning {
		return t.finish(ctx)
	}
	if err := t.open(ctx); err != nil {
		return err
	}
	if _, err := t.WaitForIndex(ctx); err != nil { // a delivery that the index does not show would count as not planned
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
		if len(t.chunk) < chunkSize {
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
func (t *run) open(ctx context.Context) error {
	if t.opened {
		return nil
	}
	err := t.save(ctx)
	t.opened = err == nil
	return err
}

// send sends a chunk and moves At to reached. After a failure, send records the finished deliveries in Ahead.
func (t *run) send(ctx context.Context, reached []uint64) error {
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

// save records the replay's progress. If ctx ends, the write has recordTime left. ErrConflict means that another process
// continues the replay.
func (t *run) save(ctx context.Context) error {
	body, err := t.replay.encode()
	if err != nil {
		return err
	}
	late, cancel := health.Extend(ctx, recordTime)
	defer cancel()
	open := t.replay.State == deliveries.ReplayRunning
	at, err := t.Stream.Put(late, t.replay.name(), t.at, body, open)
	if errors.Is(err, eventstore.ErrConflict) {
		at, err = t.saveAgain(late, body, open, err)
	}
	if err == nil {
		t.at = at
	}
	return err
}

// saveAgain writes the record after a conflict if this process wrote the newest record, in a write whose answer was lost.
func (t *run) saveAgain(ctx context.Context, body []byte, open bool, conflict error) (uint64, error) {
	stored, err := t.Stream.Last(ctx, t.replay.name())
	if err != nil {
		return 0, err
	}
	if there, err := decode(stored); err != nil || there.Process != t.process {
		return 0, errors.Join(conflict, err)
	}
	return t.Stream.Put(ctx, t.replay.name(), stored.Seq, body, open)
}

// finish records the replay's end, then removes the replay from the list of open replays.
func (t *run) finish(ctx context.Context) error {
	if err := t.save(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.removeOpen(ctx, t.replay.name())
}
