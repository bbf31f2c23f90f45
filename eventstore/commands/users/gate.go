package users

import (
	"context"
	"sync/atomic"
)

// gate bounds the sign-ins that compare a password at the same time, and those that wait.
type gate struct {
	slots   chan struct{}
	waiting *atomic.Int64
	most    int64
}

func newGate(slots, waiting int) gate {
	return gate{slots: make(chan struct{}, slots), waiting: new(atomic.Int64), most: int64(waiting)}
}

// enter waits for a slot. leave gives it back.
func (g gate) enter(ctx context.Context) (leave func(), err error) {
	leave = func() { <-g.slots }
	select {
	case g.slots <- struct{}{}:
		return leave, nil
	default:
	}
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > g.most {
		return nil, refuse(Busy)
	}
	select {
	case g.slots <- struct{}{}:
		return leave, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
