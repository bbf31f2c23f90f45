package notifier

import (
	"context"
	"errors"
	"sync"

	"github.com/rs/zerolog"

	"payledger/eventstore"
)

const (
	// laneFlights is how many attempts one endpoint gets at the same time.
	laneFlights = 8
	// laneQueue is how many deliveries wait in memory for one endpoint; more wait in the stream.
	laneQueue = 1024
	// lanePage is how many are read back from the stream at a time.
	lanePage = 128
)

// lane sends the deliveries of one endpoint: a slow or dead endpoint fills its own lane and no other. What
// does not fit into its queue stays in the stream, where it is anyway, and is read back in order: the
// planner is never held up.
type lane struct {
	name   string
	stream stream
	health *health
	log    zerolog.Logger
	limit  int           // of queue
	wake   chan struct{} // holds one token when there may be something to do

	mu     sync.Mutex
	queue  []placed
	known  map[uint64]bool // places of the deliveries that are queued or in flight
	behind bool            // deliveries at or after from are in the stream only, up to latest at least
	from   uint64
	latest uint64
	read   uint64 // up to here, exclusive, the stream was read back: what stands there is known or ended
}

func newLane(name string, s stream, h *health, log zerolog.Logger) *lane {
	return &lane{
		name: name, stream: s, health: h, log: log, limit: laneQueue, wake: make(chan struct{}, 1), known: map[uint64]bool{},
	}
}

// offer hands over a delivery that was just planned, in the order of their places. It never waits. A lane
// that is reading back may have found it in the stream, and even sent it, before it is offered.
func (l *lane) offer(d placed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case d.at < l.read:
		return
	case l.behind || len(l.queue) >= l.limit:
		l.leave(d.at)
	default:
		l.queue = append(l.queue, d)
		l.known[d.at] = true
	}
	l.signal()
}

// lookFrom has the lane look through the stream for deliveries at or after place that have no outcome.
func (l *lane) lookFrom(place uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leave(place)
	l.signal()
}

// leave notes that the delivery at place is in the stream only.
func (l *lane) leave(place uint64) {
	if !l.behind {
		l.behind, l.from, l.latest = true, place, place
	}
	l.from, l.latest = min(l.from, place), max(l.latest, place)
}

func (l *lane) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// done forgets a delivery whose outcome is recorded.
func (l *lane) done(place uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, place)
}

// first is the place of the lane's first delivery without an outcome; false when there is none.
func (l *lane) first() (place uint64, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.behind {
		place, open = l.from, true
	}
	for at := range l.known {
		if !open || at < place {
			place, open = at, true
		}
	}
	return place, open
}

// run hands each delivery to deliver, at most laneFlights at once, until ctx ends; then it waits for those
// in flight. deliver tells whether the outcome is recorded.
func (l *lane) run(ctx context.Context, deliver func(context.Context, placed) bool) {
	var flights sync.WaitGroup
	defer flights.Wait()
	slots := make(chan struct{}, laneFlights)
	for {
		d, ok := l.next(ctx)
		if !ok {
			return
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		flights.Go(func() {
			defer func() { <-slots }()
			if deliver(ctx, d) {
				l.done(d.at)
			}
		})
	}
}

// next waits for a delivery; false when ctx ends.
func (l *lane) next(ctx context.Context) (placed, bool) {
	for failures := 0; ctx.Err() == nil; {
		d, found, behind := l.take()
		if found {
			return d, true
		}
		if behind {
			err := l.readBack(ctx)
			if err == nil {
				l.health.clear(l.name)
				failures = 0
				continue
			}
			if ctx.Err() == nil && l.health.set(l.name, err) {
				l.log.Error().Err(err).Str("lane", l.name).Msg("deliveries cannot be read; trying again")
			}
			pause(ctx, backoff(failures))
			failures++
			continue
		}
		select {
		case <-l.wake:
		case <-ctx.Done():
		}
	}
	return placed{}, false
}

func (l *lane) take() (d placed, found, behind bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.queue = nil
		return d, false, l.behind
	}
	d = l.queue[0]
	l.queue = l.queue[1:]
	return d, true, l.behind
}

// readBack queues the next page of what is in the stream only.
func (l *lane) readBack(ctx context.Context) error {
	l.mu.Lock()
	start := l.from
	l.mu.Unlock()
	page, next, end, err := l.page(ctx, start)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range page {
		l.queue = append(l.queue, d)
		l.known[d.at] = true
	}
	if l.from >= start { // else something before it was pointed out meanwhile: begin there, known ones are left out
		l.from = next
	}
	l.read = max(l.read, next)
	if end && l.latest < l.from {
		l.behind = false
	}
	return nil
}

// page reads deliveries of the lane that have no outcome and are not known, from a place on. It gives the
// place to go on from, and whether the stream ended there.
func (l *lane) page(ctx context.Context, from uint64) (page []placed, next uint64, end bool, err error) {
	for next = from; len(page) < lanePage; {
		stored, err := l.stream.Next(ctx, l.name+".*.*", next)
		if errors.Is(err, eventstore.ErrNotFound) {
			return page, next, true, nil
		}
		if err != nil {
			return nil, next, false, err
		}
		d, unsent, err := l.unsent(ctx, stored)
		if err != nil {
			return nil, next, false, err
		}
		if unsent {
			page = append(page, placed{Delivery: d, at: stored.Seq})
		}
		next = stored.Seq + 1
	}
	return page, next, false, nil
}

// unsent reads a record, and tells whether it is its delivery's only one and not on its way already. The
// order matters: an outcome is recorded before the delivery is forgotten.
func (l *lane) unsent(ctx context.Context, stored eventstore.StoredDelivery) (d Delivery, unsent bool, err error) {
	l.mu.Lock()
	known := l.known[stored.Seq]
	l.mu.Unlock()
	if known {
		return d, false, nil
	}
	if d, err = decodeDelivery(stored); err != nil || d.Status != Planned {
		return d, false, err
	}
	last, err := l.stream.Last(ctx, stored.Name)
	return d, err == nil && last.Seq == stored.Seq, err
}
