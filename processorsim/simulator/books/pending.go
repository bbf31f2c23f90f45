package books

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Due is a pending operation, or a dispute to come, and the time at which it ends.
type Due struct {
	ID    string
	At    time.Time
	After time.Duration // how long that was to take
}

// Wait returns how long it has to go on at now: never longer than it was to take, as the clock may
// have been set back.
func (d Due) Wait(now time.Time) time.Duration { return max(0, min(d.At.Sub(now), d.After)) }

// Pending lists what has no result yet, in order of creation: after Open, what is to be scheduled
// again.
func (b *Books) Pending() []Due {
	b.mu.Lock()
	defer b.mu.Unlock()
	due := make([]Due, 0, len(b.pending))
	for _, o := range b.pending {
		due = append(due, Due{ID: o.ID, At: o.Due, After: o.Due.Sub(o.CreatedAt)})
	}
	slices.SortFunc(due, func(x, y Due) int { return cmp.Or(x.At.Compare(y.At), strings.Compare(x.ID, y.ID)) })
	return due
}

// Finish finishes the pending operations with these ids and returns them when they are durable.
// Other ids are left out.
func (b *Books) Finish(ids ...string) (ended []Operation, err error) {
	err = b.durably(func() error {
		for _, id := range ids {
			o, ok := b.pending[id]
			if !ok {
				continue
			}
			answer := b.result(o)
			answer.At, answer.ProcessorEventID = b.now().UTC(), o.Answer.ProcessorEventID+"_result"
			if err := b.write(record{Type: finished, At: answer.At, ID: id, Answer: &answer}); err != nil {
				return err
			}
			ended = append(ended, o.answered())
		}
		return nil
	})
	return ended, err
}

// Unnotified lists the operations with an undelivered result in order of creation, to be sent after
// Open.
func (b *Books) Unnotified() []Operation {
	b.mu.Lock()
	defer b.mu.Unlock()
	var left []Operation
	for _, o := range b.order {
		if o.finished && !o.notified && o.NotifyURL != "" {
			left = append(left, o.answered())
		}
	}
	return left
}

// Notified records that the notification of operation id is delivered or given up. It does not wait
// for the disk: a crash before that repeats the notification, which receivers must accept.
func (b *Books) Notified(id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.write(record{Type: notified, At: b.now().UTC(), ID: id})
}
