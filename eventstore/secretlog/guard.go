package secretlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/eventstore/fault"
	"payledger/eventstore/folder"
	"payledger/eventstore/jetapi"
)

// mayUse looks at the blocks of a segment that an embedded server reads for a request: the server
// cuts a block at the first record that is wrong. With an error the request must not be sent;
// fault.ErrNotFound means that the segment was dropped.
func (x *index) mayUse(ctx context.Context, g segment, span folder.Span) error {
	if x.Guard == nil {
		return nil
	}
	span.Stream, span.First = g.Name(), g.First
	_, acked := x.place() // before the question for the newest segment, which may be closed meanwhile
	if x.segments.all().Open().Number == g.Number {
		span.Stored = max(acked, span.Through)
	}
	damage, err := x.Guard.Check(ctx, span)
	if err != nil || damage.Reason == "" {
		return err
	}
	x.mu.Lock()
	dropped := g.Number <= x.floor.dropped
	x.mu.Unlock()
	if dropped {
		return fault.ErrNotFound
	}
	return x.damageIn(g, damage.Seq, damage.Reason)
}

// mayRead is mayUse for a read of the message at a sequence.
func (x *index) mayRead(ctx context.Context, seq uint64) error {
	return x.mayUse(ctx, x.segments.of(seq), folder.Span{From: seq, Through: seq})
}

// mayReadEnd is mayUse for a read of the newest messages, and for an append.
func (x *index) mayReadEnd(ctx context.Context) error {
	_, acked := x.place()
	if acked == 0 {
		return nil
	}
	return x.mayUse(ctx, x.segments.of(acked), folder.Span{From: acked, Through: acked, Appends: true})
}

// mayAppend looks at the newest block before a message: if the block is not in the memory of an
// embedded server, the server reads it for the append. If the block is damaged, the server cuts it,
// and appends behind the cut. With an error the message must not be sent. If the look takes too
// long, there is none: the answer to the message shows whether the disk is lost. The next message
// finds the damage of the late look.
func (b *Stream) mayAppend(ctx context.Context) error {
	err := b.index.mayReadEnd(ctx)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		b.Log.Warn().Err(err).Msg("the newest block of the secrets could not be read in time before a message")
		return nil
	}
	return err
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
