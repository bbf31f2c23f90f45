package notifier

import (
	"context"
	"payledger/notifier/delivery"
	"time"
)

// overflow describes the deliveries of a lane that are only in the stream, in no particular order: the places between
// which they are, and when the first one is due, by the process's own clock. The lane reads the stream from first on.
// Deliveries that still do not fit into memory remain for another reading.
type overflow struct {
	open    bool
	planned bool      // some of it waits for its first attempt: later deliveries queue behind
	first   uint64    // nothing of it stands before
	latest  uint64    // highest place of what is known to be there: a reading that began before it was known goes on
	due     time.Time // when the first of it is due; zero: now

	cursor    uint64     // while it is read: the place to go on from
	remainder *remainder // what is left of what was read
}

// remainder describes the deliveries that one reading leaves in the stream.
type remainder struct {
	first uint64
	due   time.Time
}

// leave notes a delivery that is only in the stream, and when it is due.
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

// advance makes everything due earlier.
func (s *overflow) advance(by time.Duration) {
	if !s.due.IsZero() {
		s.due = s.due.Add(-by)
	}
	if s.remainder != nil && !s.remainder.due.IsZero() {
		s.remainder.due = s.remainder.due.Add(-by)
	}
}

// reached notes that everything before next was read; complete means that there is nothing left to read. The next
// reading for the remainder begins after laneReread, or at once if a first attempt waits.
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

// leastAhead is the least time by which an attempt ended ahead of the clock if the clock was set back since.
const leastAhead = time.Second

// ahead is since when this process knows of deliveries whose last attempt ended ahead of the clock. They are read from the
// stream again and again while there is no room for them, and their delay must not begin anew each time.
type ahead struct {
	since time.Time     // by the process's own clock
	most  time.Duration // the longest delay of one
}

// turn is when such a delivery may be sent that waits for a delay.
func (a *ahead) turn(delay time.Duration) time.Time {
	if now := time.Now(); a.since.IsZero() || now.Sub(a.since) > a.most+2*laneReread { // the clock was set back once more
		*a = ahead{since: now}
	}
	a.most = max(a.most, delay)
	return a.since.Add(delay)
}

// readBack takes the next page of the stream into memory: what is due is queued, what is not waits if there is room.
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

// readBackOne takes up a record that was read back. The delivery may have gone on meanwhile: that is seen before it is sent.
func (l *lane) readBackOne(at uint64, d delivery.Delivery, now time.Time) {
	if l.known.has(at) || !d.Status.Open() {
		return
	}
	switch turn := l.sendAt(d); {
	case !turn.After(now):
		l.queue = append(l.queue, entry{at: at, record: &d})
		l.known.add(at)
	case l.waiting.len() < l.limits.waiting:
		l.wait(at, turn)
	default:
		l.overflow.leaveBehind(at, turn)
	}
}
