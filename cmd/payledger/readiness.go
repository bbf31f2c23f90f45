package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

const (
	// readyWithin is how far the views may be behind the log for the service to be ready.
	readyWithin = 2 * time.Second
	// watchEvery is how often is looked how far they are.
	watchEvery = 250 * time.Millisecond
)

// errBehind says that the views are behind the log.
var errBehind = errors.New("the views are behind the log")

// viewsWatch knows until when the views showed everything that was in the log. A probe that asked the views itself would
// wait for them; it is answered at once, whatever the load (I1).
type viewsWatch struct {
	caughtUp func(context.Context) error
	shown    atomic.Int64 // the views showed everything that was in the log then: Unix nanoseconds
}

// run looks again and again until ctx ends.
func (v *viewsWatch) run(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		began := time.Now()
		if err := v.caughtUp(ctx); err == nil {
			v.shown.Store(began.UnixNano())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// behind returns errBehind when the views have been behind the log for longer than readyWithin.
func (v *viewsWatch) behind() error {
	if time.Since(time.Unix(0, v.shown.Load())) > readyWithin+watchEvery {
		return errBehind
	}
	return nil
}
