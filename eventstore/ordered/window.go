package ordered

import (
	"context"
	"errors"
	"time"

	"payledger/eventstore/checkpoint"
)

// Window selects events by their times; a zero time does not limit.
type Window struct{ From, To time.Time } // both included

// Holds reports whether a time is in the window.
func (w Window) Holds(at time.Time) bool {
	return (w.From.IsZero() || !at.Before(w.From)) && (w.To.IsZero() || !at.After(w.To))
}

// slack is more than the times of events go back from one checkpoint to the next one: the clocks of
// the nodes may differ, and an event gets its time before the log has it. A while in which a clock
// was further ahead, or behind, is passed over (search), unless it has more checkpoints than the
// window has beside it.
const slack = 10 * time.Minute

// edge is the beginning or the end of a window. Its place never changes once the log is past it: a
// reader of many pages searches once.
type edge struct {
	end bool
	at  int64 // microseconds since 1970
}

const edgesKept = 64

// ReadNear is Read that leaves out the checkpoints before and behind a window. So handle is called
// with every event of the window, and with some around it.
func (l *Log) ReadNear(ctx context.Context, w Window, after uint64, handle func(Event) error) (uint64, error) {
	newest, err := l.newest(ctx, after)
	if err != nil {
		return after, err
	}
	begin, err := l.lastBefore(ctx, w.From, after, newest)
	if err != nil {
		return after, err
	}
	end, err := l.firstBehind(ctx, w.To, newest)
	if err != nil || end.Size <= begin {
		return after, err
	}
	through, err := l.readTo(ctx, begin, end, handle)
	return max(after, through), err
}

// lastBefore returns the position up to which all events are before a time, or the position after,
// if that is greater. The event behind a checkpoint is not older than the checkpoint: if that event
// is before the time, so is all that the checkpoint covers.
func (l *Log) lastBefore(ctx context.Context, at time.Time, after uint64, newest checkpoint.Checkpoint) (uint64, error) {
	if at.IsZero() || after == newest.Size {
		return after, nil
	}
	key := edge{false, at.UnixMicro()}
	if begin, known := l.edges.Get(key); known {
		return max(after, begin), nil
	}
	at = at.Add(-slack)
	next, err := l.timeOf(ctx, after+1, newest)
	if err != nil || !next.Before(at) {
		return after, err
	}
	last, err := l.search(ctx, newest, backward, func(c checkpoint.Checkpoint) (bool, error) {
		if c.Size >= newest.Size {
			return false, nil
		}
		next, err := l.timeOf(ctx, c.Size+1, newest)
		return next.Before(at), err
	})
	if err == nil && last.Number+2 <= newest.Number { // the next one is not before the time
		l.edges.Put(key, last.Size)
	}
	return max(after, last.Size), err
}

// firstBehind returns the first checkpoint that all events up to a time are in, or the newest one.
// The last event that a checkpoint covers is not newer than the checkpoint: if that event is behind
// the time, so is all that follows.
func (l *Log) firstBehind(ctx context.Context, at time.Time, newest checkpoint.Checkpoint) (checkpoint.Checkpoint, error) {
	if at.IsZero() || newest.Size == 0 {
		return newest, nil
	}
	key := edge{true, at.UnixMicro()}
	if number, known := l.edges.Get(key); known && number < newest.Number {
		return l.checkpoint(ctx, number)
	}
	at = at.Add(slack)
	if last, err := l.timeOf(ctx, newest.Size, newest); err != nil || !last.After(at) {
		return newest, err
	}
	before, err := l.search(ctx, newest, forward, func(c checkpoint.Checkpoint) (bool, error) {
		if c.Size == 0 {
			return true, nil
		}
		last, err := l.timeOf(ctx, c.Size, newest)
		return !last.After(at), err
	})
	if err != nil || before.Number == newest.Number {
		return newest, err
	}
	l.edges.Put(key, before.Number+1)
	return l.checkpoint(ctx, before.Number+1)
}

// direction is where search looks on.
type direction int

const (
	forward direction = iota + 1
	backward
)

// search returns the last checkpoint for which before returns true, or the zero value if before
// returns true for none. It halves the log as if before returned true up to some checkpoint, and
// false after it. Then it looks at checkpoints in steps that double, and searches again from the
// first exception: forward, a later checkpoint for which before returns true; backward, an earlier
// checkpoint for which it returns false.
func (l *Log) search(ctx context.Context, newest checkpoint.Checkpoint, where direction, before func(checkpoint.Checkpoint) (bool, error)) (last checkpoint.Checkpoint, err error) {
	is := func(number uint64) (bool, error) {
		c, err := l.checkpoint(ctx, number)
		if err != nil {
			return false, err
		}
		return before(c)
	}
	from, through := uint64(0), newest.Number // before is true for from, or from is 0
	for step := uint64(0); ; {
		for from < through {
			middle := from + (through-from+1)/2
			is, err := is(middle)
			switch {
			case err != nil:
				return last, err
			case is:
				from = middle
			default:
				through = middle - 1
			}
		}
		step = max(1, 2*step)
		at := from + step
		if where == backward {
			at = from - min(from, step)
		}
		if at == 0 || at > newest.Number {
			break
		}
		is, err := is(at)
		switch {
		case err != nil:
			return last, err
		case is && where == forward:
			from, through, step = at, newest.Number, 0
		case !is && where == backward:
			from, through, step = 0, at-1, 0
		}
	}
	if from == 0 {
		return last, nil
	}
	return l.checkpoint(ctx, from)
}

var errFound = errors.New("ordered: the event is found")

// timeOf returns the time of the event at a position up to the newest one.
func (l *Log) timeOf(ctx context.Context, position uint64, newest checkpoint.Checkpoint) (at time.Time, err error) {
	_, err = l.readTo(ctx, position-1, newest, func(e Event) error {
		at = e.Time
		return errFound
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return at, err
}
