package eventfeed

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"payledger/eventstore/eventstream"
	"payledger/eventstore/ordered"
)

const compared = 100

// check compares the stream with the log, writes it again if they differ, and returns the position
// of its newest message.
func (f *Feed) check(ctx context.Context, stream *eventstream.Stream) (uint64, error) {
	state, err := stream.State(ctx)
	size, failed := f.size(ctx) // after the state: another writer may add events meanwhile
	if failed != nil {
		return 0, failed
	}
	fault := f.Server.Noted() // the next check may not find it: it compares few messages
	switch {
	case fault != "" && err == nil:
	case errors.Is(err, eventstream.ErrMissing):
		return f.rewrite(ctx, stream, size)
	case err != nil:
		return 0, err
	case !state.Whole:
		fault = "messages are missing or damaged"
	case state.Last > size: // a leader that was cut off shows an old size for a while
		if err = f.log.Reach(ctx, state.Last); err == nil {
			return f.check(ctx, stream)
		}
		if errors.Is(err, ordered.ErrBeyond) {
			fault, err = "it is ahead of the log", nil
		}
	default:
		if fault, err = f.begins(ctx, state); err == nil && fault == "" {
			fault, err = f.compare(ctx, stream, state)
		}
	}
	if err != nil {
		return 0, err
	}
	if fault != "" {
		f.report(fault)
		if !f.counted {
			f.faults.Add(1)
		}
		f.Logger.Warn().Str("fault", fault).Uint64("first", state.First).Uint64("last", state.Last).Msg("the stream EVENTS for analysts is written again")
		return f.rewrite(ctx, stream, size)
	}
	return state.Last, stream.Retain(ctx, f.Retention)
}

// begins returns a fault if an event before the first message is young enough to be in the stream.
func (f *Feed) begins(ctx context.Context, state eventstream.State) (fault string, err error) {
	if state.First == 1 {
		return "", nil
	}
	old := false
	if f.Retention > 0 {
		old, err = f.before(ctx, state.First-1, f.Now().Add(-f.Retention))
	}
	if err == nil && !old {
		fault = "its first messages are missing"
	}
	return fault, err
}

func (f *Feed) before(ctx context.Context, position uint64, at time.Time) (old bool, err error) {
	err = f.read(ctx, position-1, func(e ordered.Event) error {
		old = e.Time.Before(at)
		return errEnough
	})
	return old, err
}

// compare compares the first message and the newest ones with the log. It returns the first
// difference, or "".
func (f *Feed) compare(ctx context.Context, stream *eventstream.Stream, state eventstream.State) (fault string, err error) {
	if state.First > state.Last {
		return "", nil
	}
	fault, err = f.compareRange(ctx, stream, state.First, state.First)
	if err != nil || fault != "" {
		return fault, err
	}
	return f.compareRange(ctx, stream, max(state.First, state.Last-min(state.Last, compared)+1), state.Last)
}

// compareOne returns the difference between a message and its event, or "".
func (f *Feed) compareOne(ctx context.Context, stream *eventstream.Stream, e ordered.Event) (fault string, err error) {
	m, err := f.message(ctx, e)
	if err != nil {
		return "", err
	}
	same, err := stream.Has(ctx, m)
	if err != nil || same {
		return "", err
	}
	if f.Retention > 0 {
		if now, failed := stream.State(ctx); failed != nil || e.Position < now.First { // it has left meanwhile
			return "", failed
		}
	}
	return fmt.Sprintf("message %d is not the event of this position", e.Position), nil
}

var errEnough = errors.New("eventfeed: enough was read")

// read calls handle with the events after a position, until handle returns an error. errEnough is
// no error of read.
func (f *Feed) read(ctx context.Context, after uint64, handle func(ordered.Event) error) error {
	_, err := f.log.Read(ctx, after, handle)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// rewrite drops the stream and makes an empty one. It returns the position before the first event
// that the stream will have.
func (f *Feed) rewrite(ctx context.Context, stream *eventstream.Stream, size uint64) (uint64, error) {
	first, err := f.firstRetained(ctx, size)
	if err != nil {
		return 0, err
	}
	if err := stream.Create(ctx, first, f.Retention); err != nil {
		return 0, err
	}
	return first - 1, f.Server.Note("")
}

// spread is more than an event can be younger than one of a higher position: within a checkpoint
// only a shard's times grow.
const spread = time.Minute

// firstRetained returns the position of the first event that is not older than the retention, or
// the position after the newest.
func (f *Feed) firstRetained(ctx context.Context, size uint64) (uint64, error) {
	if f.Retention == 0 {
		return 1, nil
	}
	oldest := f.Now().Add(-f.Retention)
	var failed error
	before := sort.Search(int(size), func(n int) bool {
		old, err := f.before(ctx, uint64(n)+1, oldest.Add(-spread))
		failed = errors.Join(failed, err)
		return !old
	})
	if failed != nil {
		return 0, failed
	}
	first := size + 1
	err := f.read(ctx, uint64(before), func(e ordered.Event) error {
		if e.Time.Before(oldest) {
			return nil
		}
		first = min(first, e.Position)
		return errEnough
	})
	return first, err
}
