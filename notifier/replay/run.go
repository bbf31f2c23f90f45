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
	// chunkSize is the number of deliveries between two records of a replay's progress. After a
	// crash about as many are sent again.
	chunkSize = 64
	// maxAttempts bounds the concurrent attempts of one replay. It is less than the number of
	// concurrent attempts of one endpoint.
	maxAttempts = 6
	// recordTime bounds the last write of a run when the process ends.
	recordTime = time.Second
)

type job struct {
	*Replayer
	replay record
	at     uint64   // place of the replay's newest record
	skip   []string // names of deliveries after replay.At that are finished
	chunk  []task
	opened bool // this node has written the record as open
}

type task struct {
	event     *eventstore.Recorded
	candidate webhook.Candidate
	name      string
	done      bool
}

// run completes the replay, unless ctx ends first or another node continues it. After a problem of
// payledger's own it tries again.
func (j *job) run(ctx context.Context) {
	name := j.replay.name()
	defer j.Index.Hasten()() // the replay waits for recorded attempts, and the index must not be behind the floor
	_ = j.Health.Retry(ctx, name, func() error {
		err := j.execute(ctx)
		if ctx.Err() == nil && over(err) {
			j.replay.State, j.replay.Failure = deliveries.ReplayFailed, reasonOf(err)
			j.Log.Warn().Err(err).Str("replay", name).Msg("a webhook replay ends early")
			err = j.finish(ctx)
		}
		if ctx.Err() == nil && (errors.Is(err, eventstore.ErrConflict) || errors.Is(err, errOtherOwner)) {
			j.Log.Warn().Str("replay", name).Msg("another process goes on with a webhook replay")
			return nil
		}
		return err
	}, func(err error) {
		j.Log.Error().Err(err).Str("replay", name).Msg("a webhook replay is held up; trying again")
	})
}

var errOtherOwner = errors.New("notifier: the replay belongs to an earlier owner id of this node")

// owns returns nil while this node has the owner id that the replay's record names. After another
// id, the node that takes the replay over goes on with it.
func (j *job) owns() error {
	switch now, err := j.Ownership.Holder(); {
	case err != nil:
		return err
	case now != j.replay.Owner:
		return errOtherOwner
	}
	return nil
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

func (j *job) execute(ctx context.Context) error {
	if j.replay.State != deliveries.ReplayRunning {
		return j.finish(ctx)
	}
	if err := j.open(ctx); err != nil {
		return err
	}
	if _, err := j.WaitForIndex(ctx); err != nil { // a delivery that the index does not show would count as not planned
		return err
	}
	j.chunk = nil
	from := j.replay
	from.At = slices.Clone(j.replay.At)
	reached := slices.Clone(j.replay.At)
	err := j.eachEvent(ctx, &from, func(e relevantEvent) error {
		for _, c := range e.wanted {
			j.chunk = append(j.chunk, task{event: e.Recorded, candidate: c})
		}
		reached[e.Shard] = e.Seq
		if len(j.chunk) < chunkSize {
			return nil
		}
		return j.send(ctx, reached)
	})
	if err != nil {
		return err
	}
	if err := j.send(ctx, j.replay.End); err != nil {
		return err
	}
	j.replay.State = deliveries.ReplayDone
	return j.finish(ctx)
}

// open writes the record as open before the first step, so that no drop deletes it while the replay
// runs.
func (j *job) open(ctx context.Context) error {
	if j.opened {
		return nil
	}
	err := j.save(ctx)
	j.opened = err == nil
	return err
}

// send sends a chunk and moves At to reached. After a failure, send records the finished deliveries
// in DoneAfterAt.
func (j *job) send(ctx context.Context, reached []uint64) error {
	err := j.sendAll(ctx)
	before := len(j.skip)
	for _, one := range j.chunk {
		if one.done && !slices.Contains(j.skip, one.name) {
			j.skip = append(j.skip, one.name)
		}
	}
	done := len(j.skip) > before
	if err == nil {
		done = len(j.chunk) > 0
		copy(j.replay.At, reached)
		j.skip = nil
	}
	j.replay.DoneAfterAt, j.chunk = j.skip, nil
	if !done {
		return err
	}
	return errors.Join(err, j.save(ctx))
}

// save records the replay's progress, within recordTime if ctx ends. ErrConflict means that another
// node continues the replay.
func (j *job) save(ctx context.Context) error {
	body, err := j.replay.encode()
	if err != nil {
		return err
	}
	late, cancel := health.Extend(ctx, recordTime)
	defer cancel()
	open := j.replay.State == deliveries.ReplayRunning
	at, err := j.Stream.Put(late, j.replay.name(), j.at, body, open)
	if errors.Is(err, eventstore.ErrConflict) {
		at, err = j.saveAgain(late, body, open, err)
	}
	if err == nil {
		j.at = at
	}
	return err
}

// saveAgain writes the record after a conflict if this node wrote the newest record, in a write
// whose answer was lost.
func (j *job) saveAgain(ctx context.Context, body []byte, open bool, conflict error) (uint64, error) {
	stored, err := j.Stream.Last(ctx, j.replay.name())
	if err != nil {
		return 0, err
	}
	if there, err := decode(stored); err != nil || there.Runner != j.process {
		return 0, errors.Join(conflict, err)
	}
	return j.Stream.Put(ctx, j.replay.name(), stored.Seq, body, open)
}

// finish records the replay's end, then removes the replay from the list of open replays.
func (j *job) finish(ctx context.Context) error {
	if err := j.save(ctx); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.removeOpen(ctx, j.replay.name())
}
