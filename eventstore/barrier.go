package eventstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// barrier returns when this process has applied every group that any process had appended before the call. It waits for the
// acknowledgement of a group that is sent after the call: a writer that appends at a place of the shard knows all groups before that place.
// The group is the next one of this process or of the sequencer (handover.go), or an empty one; all callers that wait when it is made share
// it. Only the acknowledgement counts: a group with the same bytes may stand at the place since before the call. A read at the leader would
// be wrong: a leader that lost its connections answers with an old end for up to jetapi.StaleLeader.
func (h *shard) barrier(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.s.api.Patience())
	defer cancel()
	b := &entry{began: time.Now(), done: make(chan struct{})}
	h.mu.Lock()
	h.barriers = append(h.barriers, b)
	f := h.dequeueGroup()
	h.mu.Unlock()
	if f != nil && !h.drive(f, ctx.Done()) {
		go h.drive(f, nil)
	}
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		h.leaveBarrier(b)
		return noMajority(h, ctx.Err())
	}
}

// Patience bounds a read of the log: without an answer of a majority it then fails with ErrNoMajority.
func (s *Store) Patience() time.Duration { return s.api.Patience() }

func noMajority(h *shard, cause error) error {
	return fmt.Errorf("%w: %s: %w", ErrNoMajority, h.name(), cause)
}

func (h *shard) leaveBarrier(b *entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	is := func(waiting *entry) bool { return waiting == b }
	h.sequencer.readers, h.barriers = slices.DeleteFunc(h.sequencer.readers, is), slices.DeleteFunc(h.barriers, is)
}

// againBarriers returns the barriers of a group that was not stored to the queue, after a pause. The caller holds the lock.
func (h *shard) againBarriers(f *groupInFlight, pause time.Duration) {
	var again []*entry
	for _, b := range f.barriers {
		if time.Since(b.began) < h.s.api.Patience() {
			again = append(again, b)
		} else {
			b.end(noMajority(h, errors.Join(f.err, context.DeadlineExceeded)))
		}
	}
	f.barriers = nil
	if len(again) == 0 {
		return
	}
	if pause == 0 {
		h.barriers = append(h.barriers, again...)
		return
	}
	time.AfterFunc(pause, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.barriers = append(h.barriers, again...)
		h.sendNext()
	})
}

type staleKey struct{}

// WithStale returns a context for reads that return the state that this process has applied. They wait for no majority, and can
// be old (D11). With this context no command is executed, and no personal data is opened: only the log shows whether it was erased.
func WithStale(ctx context.Context) context.Context { return context.WithValue(ctx, staleKey{}, true) }

// Stale reports whether a context is one of WithStale.
func Stale(ctx context.Context) bool { return ctx.Value(staleKey{}) != nil }
