package notifier

import (
	"context"
	"payledger/notifier/health"
	"sync"
	"time"
)

// send makes the attempt of an entry. It calls free as soon as the endpoint is free for the next one, and returns
// when the outcome is recorded, or the notifier is ending.
type send func(ctx context.Context, l *lane, e entry, free func())

// run hands each delivery to send when it is due, at most laneFlights at once, until ctx ends; then it waits for
// those under way.
func (l *lane) run(ctx context.Context, do send) {
	var flights sync.WaitGroup
	defer flights.Wait()
	slots, unrecorded := make(chan struct{}, laneAttempts), make(chan struct{}, laneUnrecorded)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		e, ok := l.next(ctx)
		if !ok {
			return
		}
		flights.Go(func() {
			f := slot{slots: slots, unrecorded: unrecorded}
			defer f.release()
			do(ctx, l, e, f.free)
		})
	}
}

// slot is what one attempt takes up in its lane.
type slot struct {
	slots, unrecorded chan struct{}
	freed             bool
}

// free gives the slot back before the outcome is recorded, unless too many outcomes wait for that.
func (f *slot) free() {
	select {
	case f.unrecorded <- struct{}{}:
		<-f.slots
		f.freed = true
	default:
	}
}

// release gives back what is left.
func (f *slot) release() {
	if f.freed {
		<-f.unrecorded
	} else {
		<-f.slots
	}
}

// next waits for a delivery that is due; false when ctx ends.
func (l *lane) next(ctx context.Context) (entry, bool) {
	for failures := 0; ctx.Err() == nil; {
		e, found, read, again := l.take()
		switch {
		case found:
			return e, true
		case !read:
			l.rest(ctx, again)
			continue
		}
		err := l.readBack(ctx)
		if err == nil {
			l.health.Clear(l.name)
			failures = 0
			continue
		}
		if ctx.Err() == nil && l.health.Set(l.name, err) {
			l.log.Error().Err(err).Str("lane", l.name).Msg("deliveries cannot be read; trying again")
		}
		health.Pause(ctx, health.Backoff(failures))
		failures++
	}
	return entry{}, false
}

// rest waits until there is something to do, or the time has come; the zero time never comes.
func (l *lane) rest(ctx context.Context, until time.Time) {
	var timer <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-l.wake:
	case <-timer:
	case <-ctx.Done():
	}
}
