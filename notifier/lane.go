package notifier

import (
	"container/heap"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore/due"
	"payledger/notifier/delivery"
	"payledger/notifier/health"
)

const (
	// AttemptsAtOnce bounds the attempts of one endpoint that are under way at the same time.
	AttemptsAtOnce = 16
	// laneUnrecorded bounds the outcomes of one endpoint that wait for the disk while further
	// attempts are made.
	laneUnrecorded = 128
	// laneQueue bounds the first attempts of one endpoint that wait in memory. Further ones wait in
	// the stream.
	laneQueue = 1024
	// laneWaiting bounds the retries that wait in memory, as time and place. Further ones wait in
	// the stream.
	laneWaiting = 32 << 10
	lanePage    = 256
	// laneReread is the shortest time between two passes over the stream for retries that did not
	// fit into memory.
	laneReread = 15 * time.Second
)

// lane is the queue of one endpoint: a slow or dead endpoint fills its own lane and no other.
// Deliveries that do not fit into memory stay in the stream, and the lane reads them back later. So
// planning never waits for an endpoint, and a lane's memory is bounded.
type lane struct {
	shared
	name string
	wake chan struct{} // holds one token when there may be something to do
	runs *runs         // nil: tests call run
	made time.Time     // start of the lane's times, by the monotonic clock

	mu           sync.Mutex
	running      bool
	clockJumps   due.Jumps
	aheadOfClock ahead
	queue        []entry
	waiting      waiters
	known        map[uint64]bool // places of the deliveries that are queued, waiting or in flight
	overflow     overflow        // the deliveries that are only in the stream
	readBelow    uint64          // all places below were read: this node's deliveries there are known, in overflow, or ended
	retried      bool            // the last delivery came from waiting: waiting and queue alternate
}

type shared struct {
	stream    stream
	health    *health.Health
	log       zerolog.Logger
	now       func() time.Time
	limits    limits
	ownership delivery.Ownership
	owners    *owners
}

// limits are the bounds of a lane's memory. Tests use small ones.
type limits struct{ queue, waiting, page int }

type entry struct {
	at     uint64
	record *delivery.Delivery // nil: only its place is known
	fresh  bool               // this node has just planned it: the record cannot have changed
}

func newLane(name string, s shared) *lane {
	return &lane{shared: s, name: name, made: time.Now(), wake: make(chan struct{}, 1), known: map[uint64]bool{}}
}

// offer adds a delivery that was just planned. It never waits. A lane that reads back may have
// found it, and even sent it, before.
func (l *lane) offer(d plannedDelivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case d.at < l.readBelow || l.known[d.at]:
		return
	case l.overflow.planned || len(l.queue) >= l.limits.queue:
		l.overflow.note(d.at, time.Time{})
	default:
		l.queue = append(l.queue, entry{at: d.at, record: &d.Delivery, fresh: true})
		l.known[d.at] = true
	}
	l.signal()
}

// found adds a delivery that was found at a place. The delivery waits until this node may send it,
// unless another node owns it.
func (l *lane) found(at uint64, d delivery.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.Status.Open() && !l.known[at] && (at >= l.readBelow || !l.ownership.IsMine(d)) { // a pass skips the deliveries of other owners
		l.park(at, d)
	}
}

// scanFrom makes the lane read the stream for open deliveries at or after a place.
func (l *lane) scanFrom(place uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.overflow.note(place, time.Time{})
	l.signal()
}

// begin starts a lane that may have deliveries.
func (l *lane) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.signal()
}

// signal makes the lane look for something to do. The caller holds the lock.
func (l *lane) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
	if !l.running && l.runs != nil {
		l.running = l.runs.start(l)
	}
}

// rest reports whether the lane has no delivery and ends. The next signal starts it again.
func (l *lane) rest() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs == nil || len(l.known) > 0 || l.overflow.open || len(l.wake) > 0 {
		return false
	}
	l.known, l.queue, l.waiting, l.running = map[uint64]bool{}, nil, nil, false // an empty map and slice keep the memory of a full one
	return true
}

func (l *lane) holds(place uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[place]
}

// leave removes the delivery at a place from the lane.
func (l *lane) leave(place uint64) { l.moved(place, 0, delivery.Delivery{}) }

// moved replaces record from by the durable record d at to. An open delivery waits for its next
// attempt, a finished one leaves the lane.
func (l *lane) moved(from, to uint64, d delivery.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, from)
	if d.Status.Open() && !l.known[to] {
		l.park(to, d)
	}
	if len(l.known) == 0 && l.running {
		l.signal() // it may rest
	}
}

func (l *lane) movedInFlight(from, to uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, from)
	l.known[to] = true
}

// ownedByOther reports whether another node owns a delivery, and notes the owner: when that owner
// is gone, the lane reads the stream.
func (l *lane) ownedByOther(d delivery.Delivery) bool {
	if l.ownership.MayTake(d) {
		return false
	}
	l.owners.note(d.Owner())
	return true
}

// park makes a delivery wait until it may be sent: in memory if there is room, else in the stream.
// The caller holds the lock.
func (l *lane) park(at uint64, d delivery.Delivery) {
	if l.ownedByOther(d) {
		return
	}
	if len(l.waiting) >= l.limits.waiting {
		l.tidy()
	}
	if when := l.sendAt(d); len(l.waiting) >= l.limits.waiting {
		l.overflow.note(at, when)
	} else {
		l.pushWaiter(at, when)
	}
	l.signal()
}

// tidy drops the waiters whose delivery left the lane, if they are more than twice the known
// deliveries.
func (l *lane) tidy() {
	if len(l.waiting) <= 2*len(l.known) {
		return
	}
	l.waiting = slices.Clone(slices.DeleteFunc(l.waiting, func(w waiter) bool { return !l.known[w.at] })) // frees memory
	heap.Init(&l.waiting)
}

// pushWaiter makes a delivery wait in memory until a time. The caller holds the lock.
func (l *lane) pushWaiter(at uint64, until time.Time) {
	l.known[at] = true
	heap.Push(&l.waiting, waiter{due: l.micros(until), at: at})
}

func (l *lane) micros(monotonic time.Time) int64 { return monotonic.Sub(l.made).Microseconds() }

// sendAt returns when a delivery may be sent, by the monotonic clock. The zero time means that the
// first attempt may be made now. The caller holds the lock.
func (l *lane) sendAt(d delivery.Delivery) time.Time {
	now := l.now()
	l.shortenWaits(now)
	if d.Status != delivery.Failed {
		return time.Time{}
	}
	left := due.Left(now, d.LastTried(), d.NextAt) // setting the clock back lengthens no wait
	if d.LastTried().Sub(now) > leastAhead {
		return l.aheadOfClock.after(left)
	}
	return time.Now().Add(left)
}

// shortenWaits shortens all waits by the time that the clock was set forward. The caller holds the
// lock.
func (l *lane) shortenWaits(now time.Time) {
	jump := l.clockJumps.Forward(now)
	if jump == 0 {
		return
	}
	for i := range l.waiting {
		l.waiting[i].due -= jump.Microseconds()
	}
	l.overflow.shortenWaits(jump)
}

// picked is what a lane does next.
type picked struct {
	found bool
	entry entry // the delivery to send now, if one was found; else:

	mustRead bool      // the lane must read the stream
	wakeAt   time.Time // the next call of pick, by the monotonic clock; zero: only a signal leads to another call
}

func (l *lane) pick() picked {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shortenWaits(l.now())
	l.forget()
	now := time.Now()
	isDue := len(l.waiting) > 0 && l.waiting[0].due <= l.micros(now)
	switch {
	case isDue && (!l.retried || len(l.queue) == 0):
		l.retried = true
		return picked{found: true, entry: entry{at: heap.Pop(&l.waiting).(waiter).at}}
	case len(l.queue) > 0:
		e := l.queue[0]
		l.retried = false
		l.queue[0] = entry{}
		if l.queue = l.queue[1:]; len(l.queue) == 0 {
			l.queue = nil
		}
		return picked{found: true, entry: e}
	}
	var wakeAt time.Time
	if l.overflow.open {
		if !now.Before(l.overflow.due) {
			return picked{mustRead: true}
		}
		wakeAt = l.overflow.due
	}
	if len(l.waiting) > 0 {
		top := l.made.Add(time.Duration(l.waiting[0].due) * time.Microsecond)
		if wakeAt.IsZero() || top.Before(wakeAt) {
			wakeAt = top
		}
	}
	return picked{wakeAt: wakeAt}
}

// forget removes deliveries that left the lane from the heads of queue and heap. The caller holds
// the lock.
func (l *lane) forget() {
	for len(l.queue) > 0 && !l.known[l.queue[0].at] {
		l.queue = l.queue[1:]
	}
	for len(l.waiting) > 0 && !l.known[l.waiting[0].at] {
		heap.Pop(&l.waiting)
	}
}
