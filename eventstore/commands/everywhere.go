package commands

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/eventstore"
)

// everywhereWithin bounds the wait for the other nodes. A node that is silent counts no more after
// 10 s, and its end takes a second.
const everywhereWithin = 15 * time.Second

// AppliedEverywhere returns when every node that serves has applied an event, or else an error for
// the caller: the event is recorded.
func (b *Base) AppliedEverywhere(ctx context.Context, event *eventstore.Recorded) error {
	if b.Everywhere == nil || event == nil {
		return nil
	}
	position := make([]uint64, b.Store.Shards())
	position[event.Shard] = event.Seq
	return b.everywhere(ctx, position)
}

// AllAppliedEverywhere is AppliedEverywhere for all events that any node recorded before the call.
func (b *Base) AllAppliedEverywhere(ctx context.Context) error {
	if b.Everywhere == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, everywhereWithin)
	defer cancel()
	position, err := eventstore.Ends(ctx, b.Store)
	if err != nil {
		return unconfirmed(err)
	}
	return b.everywhere(ctx, position)
}

func (b *Base) everywhere(ctx context.Context, position []uint64) error {
	ctx, cancel := context.WithTimeout(ctx, everywhereWithin)
	defer cancel()
	if err := b.Everywhere(ctx, position); err != nil {
		return unconfirmed(err)
	}
	return nil
}

func unconfirmed(err error) error {
	return &domain.Error{
		Kind: domain.KindUnavailable, Reason: domain.ReasonServiceUnavailable,
		Message:  "The change is recorded, but not every node of the service has confirmed it yet. The nodes apply it by themselves.",
		Recovery: domain.WaitForNodes, Err: err,
	}
}
