package notifier

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/position"
	"payledger/notifier/delivery"
	"payledger/projections/deliveries"
)

// later is behind the retention of deliveries.
const later = -DefaultRetention - 24*time.Hour

// newOldRig returns a rig whose deliveries are old enough to be dropped.
func newOldRig(t *testing.T) *logRig {
	r := newLogRig(t)
	r.config.RetryDelays = []time.Duration{time.Hour}
	r.slow = later
	r.start()
	return r
}

// dropAll drops all droppable deliveries.
func (r *logRig) dropAll() {
	r.t.Helper()
	before := r.log.stream.Floor().Segment
	for limit := time.Now().Add(patience); r.log.stream.Floor().Segment == before; {
		r.must(r.log.dropOld(context.Background(), DefaultRetention))
		if time.Now().After(limit) {
			r.t.Fatal("nothing was dropped")
		}
	}
}

// TestRetention: old finished deliveries are dropped: lists show that, and they cannot be sent
// again. An open delivery stays, waits as before, and can be sent.
func TestRetention(t *testing.T) {
	t.Parallel()
	bad := &atomic.Bool{}
	inbox := newReceiver(t, map[string]http.HandlerFunc{"/": switching(bad)})
	r := newOldRig(t)
	r.endpoint(inbox.url)
	const settled = 20
	for range settled {
		r.pay(processor.Succeeded)
	}
	inbox.waitFor(settled)
	r.settled(settled, deliveries.Filter{Statuses: []string{"SUCCEEDED"}}) // the receiver has answered all of them
	bad.Store(true)
	r.pay(processor.Succeeded)
	inbox.waitFor(1)
	waits := r.settled(1, deliveries.Filter{Statuses: []string{"FAILED"}})[0]
	r.dropAll()
	ctx := context.Background()
	for _, row := range r.list(deliveries.Filter{}) {
		detail, err := r.log.Delivery(ctx, merchantID, row.ID)
		r.must(err)
		if open := row.ID == waits.ID; row.Dropped == open || detail.Dropped == open || (len(detail.Tried) == 0) == open || row.Attempts != 1 {
			t.Errorf("%+v with %d attempts", row, len(detail.Tried))
		}
		if row.Dropped {
			_, err := r.log.Resend(ctx, merchantID, row.ID, deliveries.ResendRequest{})
			reasonIs(t, err, domain.ReasonRequestValidation)
		}
	}
	lane, _ := laneOf(waits.Name)
	l := r.notifier.lanes.of(lane)
	now := r.settled(1, deliveries.Filter{Statuses: []string{"FAILED"}})[0]
	if now.Seq <= waits.Seq || !now.NextAt.Equal(waits.NextAt) || !l.holds(now.Seq) || l.holds(waits.Seq) {
		t.Errorf("it waits as %+v, before as %+v", now, waits)
	}
	bad.Store(false)
	if sent, err := r.log.Resend(ctx, merchantID, waits.ID, deliveries.ResendRequest{}); err != nil || sent.Status != "SUCCEEDED" || len(sent.Tried) != 2 {
		t.Errorf("%+v %v", sent, err)
	}
	inbox.waitFor(1)
	inbox.none()
}

// TestRetentionReplay checks that a replay leaves out dropped deliveries.
func TestRetentionReplay(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newOldRig(t)
	id := r.endpoint(inbox.url)
	for range 5 {
		r.pay(processor.Succeeded)
	}
	inbox.waitFor(5)
	r.settled(5, deliveries.Filter{Statuses: []string{"SUCCEEDED"}})
	r.dropAll()
	r.pay(processor.Succeeded)
	inbox.waitFor(1)
	r.settled(6, deliveries.Filter{Statuses: []string{"SUCCEEDED"}})
	replay, err := r.log.StartReplay(context.Background(), deliveries.ReplayRequest{
		Account: merchantID, Endpoint: id, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour),
	}, true)
	if err != nil || replay.Count != 1 {
		t.Errorf("%+v %v", replay, err)
	}
}

// TestRetentionWatermark checks that events before the dropped ones plan nothing, although the
// position is lost and the names are free, at the next start, too.
func TestRetentionWatermark(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newOldRig(t)
	r.endpoint(inbox.url)
	const settled = 10
	for range settled {
		r.pay(processor.Succeeded)
	}
	inbox.waitFor(settled)
	r.settled(settled, deliveries.Filter{Statuses: []string{"SUCCEEDED"}})
	r.dropAll()
	for range 2 {
		r.stop()
		r.wrap = func(s stream) stream { return forgotten{s} }
		r.start()
		r.pay(processor.Succeeded)
		inbox.waitFor(1) // all events before it were planned
		inbox.none()
	}
	r.settled(settled+2, deliveries.Filter{Statuses: []string{"SUCCEEDED"}})
}

// forgotten is a stream without its position.
type forgotten struct{ stream }

func (f forgotten) Last(ctx context.Context, name string) (deliverylog.Record, error) {
	if name == deliverylog.PositionName(plannerName) {
		return deliverylog.Record{}, eventstore.ErrNotFound
	}
	return f.stream.Last(ctx, name)
}

// TestRetentionHolds: nothing is dropped before its time, or before the position has passed its
// event; and it is dropped afterwards.
func TestRetentionHolds(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newOldRig(t)
	r.endpoint(inbox.url)
	s := r.pay(processor.Succeeded)
	inbox.waitFor(1)
	row := r.settled(1, deliveries.Filter{Statuses: []string{"SUCCEEDED"}})[0]
	ctx := context.Background()
	r.must(r.log.dropOld(ctx, 10*DefaultRetention))
	for closed := false; !closed; {
		oldest, open, err := r.log.stream.Segments(ctx)
		r.must(err)
		r.log.stream.CloseSegment(open.Number)
		closed = oldest.Closed
	}
	oldest, _, err := r.log.stream.Segments(ctx)
	r.must(err)
	if err := r.log.drop(ctx, oldest, []uint64{0, 0}); !errors.Is(err, errUnplanned) || r.log.stream.Floor().Segment != 0 {
		t.Errorf("%s was dropped before the position has passed its event: %v", s.ID, err)
	}
	if rows := r.list(deliveries.Filter{}); len(rows) != 1 || rows[0].Dropped {
		t.Errorf("%+v", rows)
	}
	r.dropAll()
	if rows := r.list(deliveries.Filter{}); len(rows) != 1 || !rows[0].Dropped || rows[0].ID != row.ID {
		t.Errorf("%+v", rows)
	}
}

// TestCopiedMeanwhile: an attempt that was under way when its record was copied forward, by another
// process, is recorded behind the copy, and not made again.
func TestCopiedMeanwhile(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newRig(t)
	r.wrap = func(s stream) stream { return copying{s, &atomic.Bool{}} }
	r.start()
	r.endpoint(inbox.url)
	r.pay(processor.Succeeded)
	inbox.waitFor(1)
	d := r.until("over", func(d delivery.Delivery) bool { return !d.Status.Open() })
	if d.Status != delivery.Succeeded || len(d.Attempts) != 1 {
		t.Errorf("%+v", d)
	}
	r.stop()
	inbox.none()
}

// copying copies a delivery's first record forward before its outcome is put.
type copying struct {
	stream
	done *atomic.Bool
}

func (c copying) Put(ctx context.Context, name string, expected uint64, body []byte, open bool) (uint64, error) {
	if expected > 0 && !c.done.Swap(true) {
		first, err := c.Last(ctx, name)
		if err != nil {
			return 0, err
		}
		if _, err := c.stream.Put(ctx, name, first.Seq, first.Body, true); err != nil {
			return 0, fmt.Errorf("copy: %w", err)
		}
		_, err = c.stream.Put(ctx, name, expected, body, open)
		return 0, err
	}
	return c.stream.Put(ctx, name, expected, body, open)
}

// TestRetentionPositions checks that the position of a reader without new events stands when the
// segment of its record is dropped, and that the drops of an idle log come to an end: no position
// goes from segment to segment.
func TestRetentionPositions(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newOldRig(t)
	r.endpoint(inbox.url)
	ctx := context.Background()
	r.must(eventstoretest.SavePosition(ctx, r.log.stream, "workflows", []uint64{5, 7}))
	r.pay(processor.Succeeded)
	inbox.waitFor(1)
	r.settled(1, deliveries.Filter{Statuses: []string{"SUCCEEDED"}})
	r.notifier.savePosition(ctx)
	var ends []uint64
	poll(t, func() bool {
		r.must(r.log.dropOld(ctx, time.Nanosecond))
		end, err := r.log.stream.End(ctx)
		r.must(err)
		ends = append(ends, end)
		n := len(ends)
		return r.log.stream.Floor().Segment > 0 && n > 50 && ends[n-50] == end
	}, func() string { return fmt.Sprintf("the stream grows on: %d", ends[len(ends)-50:]) })
	for reader, want := range map[string][]uint64{"workflows": {5, 7}, plannerName: r.notifier.position.At()} {
		if p, err := position.Open(ctx, r.log.stream, reader, 2); err != nil || !slices.Equal(p.At(), want) {
			t.Errorf("the position of %s is %d %v, want %d", reader, p.At(), err, want)
		}
	}
}
