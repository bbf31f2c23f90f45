package secretlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/eventstore/folder"
	"payledger/eventstore/jetapi"
)

// mayAppend looks at the newest block of a segment before the first message after a silence: an
// embedded server has dropped the block from memory by then, and reads it for the append. If the
// block is damaged, the server cuts it, and appends behind the cut. With an error the message must
// not be sent. If the look takes too long, there is none: the answer to the message shows whether
// the disk is lost. The next message is looked at again then, and finds the damage of the late
// look.
func (b *Stream) mayAppend(ctx context.Context, g segment) error {
	began := time.Now()
	_, stored := b.index.place()
	if b.Guard == nil || stored < g.First || !b.lookDue() {
		return nil
	}
	damage, err := b.Guard.CheckNewest(ctx, g.Name(), stored)
	switch {
	case damage.Reason != "":
		return b.index.damage(damage.Seq, damage.Reason)
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		b.Log.Warn().Err(err).Msg("the newest block of the secrets could not be read in time before a message")
		b.mu.Lock()
		b.late = true
		b.mu.Unlock()
		return nil
	case err != nil:
		return err
	}
	b.mu.Lock()
	b.late = false
	b.mu.Unlock()
	b.lookCounts(began)
	return nil
}

func (b *Stream) lookDue() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.late || time.Since(b.looked) >= folder.Fresh
}

// lookCounts notes that the server had the newest block in memory at a time, or that a look found
// it whole.
func (b *Stream) lookCounts(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at.After(b.looked) {
		b.looked = at
	}
}

// answered notes the result of a publish, given failed as of its beginning. If the disk of an
// embedded server does not keep its writes any more, the process must stop. A publish that its
// caller gave up says nothing about the server.
func (b *Stream) answered(g segment, failed int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.before, b.silent = max(b.before, failed), time.Time{}
		return
	}
	b.failed++
	switch {
	case !b.Sole, b.Life.Err() != nil, !jetapi.IsTimeout(err), errors.Is(err, context.Canceled):
	case b.silent.IsZero():
		b.silent = time.Now()
	case time.Since(b.silent) > b.API.Patience():
		b.Fail(fmt.Errorf("%s: no message after sequence %d is known to be on disk for %s: %w", g.Name(), b.Witness.Acked(),
			time.Since(b.silent).Round(time.Second), err), true)
	}
}
