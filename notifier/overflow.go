package notifier

import (
	"context"
	"time"

	"payledger/notifier/delivery"
)

// overflow describes the deliveries of a lane that are only in the stream: the range of their places, and the earliest due
// time, by the process's own clock. A reading is one pass over the stream from first on, page by page. Deliveries that still
// do not fit into memory remain for another reading.
type overflow struct {
	open    bool
	planned bool      // a delivery of it waits for its first attempt: newly planned deliveries go to overflow too
	first   uint64    // lowest place
	latest  uint64    // highest known place; if it grows during the last page, the reading continues
	due     time.Time // earliest due time; zero: now

	cursor    uint64     // the next place of the reading; 0: no reading has begun
	remainder *remainder // the deliveries that the reading left in the stream
}

// remainder describes the deliveries that a reading leaves in the stream: the lowest place and the earliest due time.
type remainder struct {
	first uint64
	due   time.Time
}

// leave notes a delivery that is only in the stream. due is its due time; zero: it waits for its first attempt.
func (s *overflow) leave(place uint64, due time.Time) {
	if !s.open {
		*s = overflow{open: true, first: place, latest: place, due: due}
	}
	s.planned = s.planned || due.IsZero()
	s.first, s.latest, s.due = min(s.first, place), max(s.latest, place), earlier(s.due, due)
	if s.cursor > place { // the reading has passed it already
		s.leaveBehind(place, due)
	}
}

// leaveBehind notes a delivery at a place that the reading has passed.
func (s *overflow) leaveBehind(place uint64, due time.Time) {
	if s.remainder == nil {
		s.remainder = &remainder{place, due}
	}
	s.remainder.first, s.remainder.due = min(s.remainder.first, place), earlier(s.remainder.due, due)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (s *overflow) shortenWaits(by time.Duration) {
	if !s.due.IsZero() {
		s.due = s.due.Add(-by)
	}
	if s.remainder != nil && !s.remainder.due.IsZero() {
		s.remainder.due = s.remainder.due.Add(-by)
	}
}

// reached notes that the records before next were read. complete means that the reading has ended. The next reading, for
// the remainder, begins at its due time, but not before laneReread has passed unless a first attempt waits.
func (s *overflow) reached(next uint64, complete bool, now time.Time) {
	rest := s.remainder
	switch {
	case !complete && rest == nil:
		s.cursor, s.first = next, next
	case !complete:
		s.cursor, s.first = next, min(rest.first, next)
	case rest == nil:
		*s = overflow{}
	default:
		*s = overflow{open: true, first: rest.first, latest: rest.first, due: rest.due, planned: rest.due.IsZero()}
		if !s.planned && s.due.Before(now.Add(laneReread)) {
			s.due = now.Add(laneReread)
		}
	}
}

// leastAhead separates a clock that was set back from inexact clocks: if an attempt ended further ahead of the clock, the
// clock was set back since.
const leastAhead = time.Second

// ahead holds the start of the delay for deliveries whose last attempt ended ahead of the clock. While such a delivery does
// not fit into memory, the lane reads it from the stream repeatedly, and its delay must not begin anew each time.
type ahead struct {
	since time.Time     // by the process's own clock
	most  time.Duration // the longest delay of such a delivery
}

// after returns when a delivery whose last attempt ended ahead of the clock may be sent, after its delay.
func (a *ahead) after(delay time.Duration) time.Time {
	if now := time.Now(); a.since.IsZero() || now.Sub(a.since) > a.most+2*laneReread { // the clock was set back once more
		*a = ahead{since: now}
	}
	a.most = max(a.most, delay)
	return a.since.Add(delay)
}

// readBack reads the next page of the stream. Deliveries that are due are queued. The others wait in memory if there is
// room.
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
	l.read = max(l.read, next)
	l.overflow.reached(next, end && l.overflow.latest == latest, now)
	return nil
}

// readBackOne adds a record that was read back. The record may be outdated: dispatcher.current reads it again. The caller
// holds the lock.
func (l *lane) readBackOne(at uint64, d delivery.Delivery, now time.Time) {
	if l.known[at] || !d.Status.Open() || l.leftTo(d) {
		return
	}
	switch when := l.sendAt(d); {
	case !when.After(now):
		l.queue = append(l.queue, entry{at: at, record: &d})
		l.known[at] = true
	case len(l.waiting) < l.limits.waiting:
		l.wait(at, when)
	default:
		l.overflow.leaveBehind(at, when)
	}
}
