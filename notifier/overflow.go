package notifier

import (
	"context"
	"time"

	"payledger/notifier/delivery"
)

// overflow describes the deliveries of a lane that are only in the stream. A pass reads the stream
// from first on, page by page. Deliveries that still do not fit into memory remain for the next
// pass. Times are by the monotonic clock.
type overflow struct {
	open    bool
	planned bool      // a delivery in overflow waits for its first attempt, so newly planned ones must queue behind it
	first   uint64    // lowest place
	latest  uint64    // highest known place; if it grows during the last page, the pass continues
	due     time.Time // earliest due time; zero: now

	cursor    uint64     // the next place of the pass; 0: no pass has begun
	remainder *remainder // the deliveries that the pass left in the stream
}

type remainder struct {
	first uint64
	due   time.Time
}

// note adds a delivery that is only in the stream. due is its due time; zero: it waits for its
// first attempt.
func (o *overflow) note(place uint64, due time.Time) {
	if !o.open {
		*o = overflow{open: true, first: place, latest: place, due: due}
	}
	o.planned = o.planned || due.IsZero()
	o.first, o.latest, o.due = min(o.first, place), max(o.latest, place), earlier(o.due, due)
	if o.cursor > place { // the pass has read beyond it already
		o.noteForNextPass(place, due)
	}
}

// noteForNextPass adds a delivery at a place that the pass has read already.
func (o *overflow) noteForNextPass(place uint64, due time.Time) {
	if o.remainder == nil {
		o.remainder = &remainder{place, due}
	}
	o.remainder.first, o.remainder.due = min(o.remainder.first, place), earlier(o.remainder.due, due)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (o *overflow) shortenWaits(by time.Duration) {
	if !o.due.IsZero() {
		o.due = o.due.Add(-by)
	}
	if o.remainder != nil && !o.remainder.due.IsZero() {
		o.remainder.due = o.remainder.due.Add(-by)
	}
}

// reached notes that the records before next were read. complete means that the pass has ended. The
// next pass, for the remainder, begins at its due time, but not before laneReread has passed unless
// a first attempt waits.
func (o *overflow) reached(next uint64, complete bool, now time.Time) {
	rest := o.remainder
	switch {
	case !complete && rest == nil:
		o.cursor, o.first = next, next
	case !complete:
		o.cursor, o.first = next, min(rest.first, next)
	case rest == nil:
		*o = overflow{}
	default:
		*o = overflow{open: true, first: rest.first, latest: rest.first, due: rest.due, planned: rest.due.IsZero()}
		if !o.planned && o.due.Before(now.Add(laneReread)) {
			o.due = now.Add(laneReread)
		}
	}
}

// leastAhead is the tolerance for inexact clocks: if an attempt ended further ahead of the clock,
// the clock was set back since.
const leastAhead = time.Second

// ahead holds the start of the delay for deliveries whose last attempt ended ahead of the clock.
// While such a delivery does not fit into memory, the lane reads it from the stream repeatedly, and
// its delay must not begin anew each time.
type ahead struct {
	since time.Time     // by the monotonic clock
	most  time.Duration // the longest delay of such a delivery
}

// after returns when a delivery whose last attempt ended ahead of the clock may be sent, after its
// delay.
func (a *ahead) after(delay time.Duration) time.Time {
	if now := time.Now(); a.since.IsZero() || now.Sub(a.since) > a.most+2*laneReread { // earlier delays have ended: this is another set-back
		*a = ahead{since: now}
	}
	a.most = max(a.most, delay)
	return a.since.Add(delay)
}

// readBack reads the next page of the stream. Deliveries that are due are queued. The others wait
// in memory if there is room.
func (l *lane) readBack(ctx context.Context) error {
	l.mu.Lock()
	if l.overflow.cursor == 0 {
		l.overflow.cursor = max(l.overflow.first, 1)
	}
	from, latest := l.overflow.cursor, l.overflow.latest
	l.mu.Unlock()
	page, end, err := l.stream.Waiting(ctx, l.name, from, l.limits.page)
	if err != nil {
		return err
	}
	records := make([]delivery.Delivery, len(page))
	for i, stored := range page {
		if records[i], err = delivery.Decode(stored); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	next, now := from, time.Now()
	for i, d := range records {
		next = page[i].Seq + 1
		l.readBackOne(page[i].Seq, d, now)
	}
	l.readBelow = max(l.readBelow, next)
	l.overflow.reached(next, end && l.overflow.latest == latest, now)
	return nil
}

// readBackOne adds a record, which may be outdated: dispatcher.current reads it again. The caller
// holds the lock.
func (l *lane) readBackOne(at uint64, d delivery.Delivery, now time.Time) {
	if l.known[at] || !d.Status.Open() || l.ownedByOther(d) {
		return
	}
	switch when := l.sendAt(d); {
	case !when.After(now):
		l.queue = append(l.queue, entry{at: at, record: &d})
		l.known[at] = true
	case len(l.waiting) < l.limits.waiting:
		l.pushWaiter(at, when)
	default:
		l.overflow.noteForNextPass(at, when)
	}
}
