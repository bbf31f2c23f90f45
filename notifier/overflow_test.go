package notifier

import (
	"context"
	"fmt"
	"testing"
	"time"

	"payledger/eventstore/deliverylog"
	"payledger/notifier/delivery"
)

// TestSpill: the first place and the due time of the deliveries in the stream are right before,
// during and after a pass.
func TestSpill(t *testing.T) {
	t.Parallel()
	now := goldenTime
	in := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	var s overflow
	check := func(what string, want overflow) {
		t.Helper()
		want.remainder = s.remainder
		if s != want {
			t.Errorf("%s: %+v, want %+v", what, s, want)
		}
	}
	s.note(30, in(60))
	s.note(20, in(90))
	s.note(40, in(30))
	check("three", overflow{open: true, first: 20, latest: 40, due: in(30)})

	s.cursor = 20
	s.reached(25, false, now)
	check("a page where nothing is left", overflow{open: true, first: 25, latest: 40, due: in(30), cursor: 25})
	s.noteForNextPass(27, in(50))
	s.reached(31, false, now)
	check("a page where one is left", overflow{open: true, first: 27, latest: 40, due: in(30), cursor: 31})
	s.note(29, in(45)) // where it has been read already
	s.note(50, in(80)) // where it has not
	s.reached(45, false, now)
	check("more came", overflow{open: true, first: 27, latest: 50, due: in(30), cursor: 45})
	s.reached(51, true, now)
	check("to the end", overflow{open: true, first: 27, latest: 27, due: in(45)})

	s.cursor = 27
	s.noteForNextPass(27, in(5))
	s.reached(51, true, now)
	check("due soon, not looked at again at once", overflow{open: true, first: 27, latest: 27, due: now.Add(laneReread)})

	s.cursor = 27
	s.note(3, time.Time{}) // one for its first attempt, behind
	check("for the first attempt", overflow{open: true, planned: true, first: 3, latest: 27, cursor: 27})
	s.reached(51, true, now)
	check("at once", overflow{open: true, planned: true, first: 3, latest: 3})

	s.cursor = 3
	s.reached(51, true, now)
	check("nothing left", overflow{})
}

// scanned is a stream; after is called when it was read, before the reader knows.
type scanned struct {
	stream
	after func()
}

func (s scanned) Waiting(ctx context.Context, lane string, from uint64, limit int) ([]deliverylog.Record, bool, error) {
	page, end, err := s.stream.Waiting(ctx, lane, from, limit)
	s.after()
	return page, end, err
}

// TestReadBackMeanwhile checks that no delivery is forgotten that is planned, or fails, while the
// stream is read to its end.
func TestReadBackMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBubble(t)
	event := 0
	next := func() plannedDelivery {
		event++
		return b.put(fmt.Sprintf("00000000-0000-4000-8000-%012d", event), goldenDelivery.Endpoint)
	}
	var l *lane
	var planned, failed uint64
	later := false
	l = newLane(goldenDelivery.Lane(), sharedOf(scanned{b.stream, func() {
		if later {
			return
		}
		later = true
		d := next()
		planned = d.at
		l.offer(d)
		f := next()
		after := f.WithAttempt(delivery.Attempt{StartedAt: time.Now(), StatusCode: 500, Failure: delivery.FailureStatus}, nominal)
		failed = b.record(f.at, after)
		l.moved(f.at, failed, after)
	}}, limits{queue: 1, waiting: 0, page: 100}))
	for range 3 {
		l.offer(next())
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var taken []uint64
	for range 4 {
		e, ok := l.next(ctx)
		if !ok {
			t.Fatal("nothing is due")
		}
		taken = append(taken, e.at)
	}
	if taken[3] != planned || !l.overflow.open || l.overflow.first > failed || l.overflow.due.IsZero() {
		t.Errorf("taken %d, planned meanwhile %d, failed %d; left %+v", taken, planned, failed, l.overflow)
	}
}
