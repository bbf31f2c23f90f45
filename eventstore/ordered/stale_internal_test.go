package ordered

import (
	"context"
	"errors"
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/checkpoint"
)

// ends is a store of one shard that knows only its end.
type ends struct {
	Store
	events uint64
}

func (e ends) Shards() int                                  { return 1 }
func (e ends) LastSeq(context.Context, int) (uint64, error) { return 1, nil }
func (e ends) Events() uint64                               { return e.events }

// TestStaleCheckpoint: a leader that was cut off shows an older checkpoint than a reader has seen.
// The log holds the events, so the reader waits for a newer one. The reader gets ErrBeyond only if
// the log does not hold the event.
func TestStaleCheckpoint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sizes    []uint64 // of the checkpoints that are shown, one after the other
		position uint64
		ends     error
		want     error
	}{
		"shown at once":        {[]uint64{7}, 7, nil, nil},
		"shown by a newer one": {[]uint64{7, 5, 5, 9}, 9, nil, nil},
		"no such event":        {[]uint64{7}, 10, nil, ErrBeyond},
		"none, and it ends":    {[]uint64{5}, 9, context.DeadlineExceeded, eventstore.ErrNoMajority},
		"damage":               {[]uint64{5}, 9, eventstore.ErrUnhealthy, eventstore.ErrUnhealthy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown := 0
			l := &Log{store: ends{events: 9}}
			l.last = func(context.Context) (checkpoint.Checkpoint, error) {
				return checkpoint.Checkpoint{Number: 3, Size: c.sizes[shown]}, nil
			}
			l.await = func(context.Context, uint64) error {
				if shown++; shown == len(c.sizes) {
					return c.ends
				}
				return nil
			}
			if err := l.Reach(t.Context(), c.position); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}
