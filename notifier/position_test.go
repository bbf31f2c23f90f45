package notifier

import (
	"context"
	"slices"
	"testing"

	"payledger/domain/processor"
	"payledger/eventstore/position"
	"payledger/eventstore/streams"
	"payledger/notifier/health"
)

// TestPositionAbove checks that a start plans no dropped event again, whatever the recorded
// position.
func TestPositionAbove(t *testing.T) {
	t.Parallel()
	ctx, m := context.Background(), newMemory()
	p, err := position.Open(ctx, m, plannerName, 3)
	if err != nil {
		t.Fatal(err)
	}
	p.Raise([]uint64{5, 9, 0})
	if _, err := p.Save(ctx); err != nil {
		t.Fatal(err)
	}
	p, err = openPosition(ctx, floored{m, streams.Floor{Log: []uint64{7, 3, 1}}}, 3)
	if err != nil || !slices.Equal(p.At(), []uint64{7, 9, 1}) {
		t.Errorf("%d %v", p.At(), err)
	}
}

// floored is a stream whose oldest records were dropped.
type floored struct {
	stream
	floor streams.Floor
}

func (f floored) Floor() streams.Floor { return f.floor }

// TestPlannedBefore: a delivery that an earlier process planned is known to its lane when its event
// is planned again, if it is still open; it is not planned twice.
func TestPlannedBefore(t *testing.T) {
	t.Parallel()
	b := newBubble(t)
	open := b.put("00000000-0000-4000-8000-000000000001", goldenDelivery.Endpoint)
	over := b.put("00000000-0000-4000-8000-000000000002", goldenDelivery.Endpoint)
	b.record(over.at, over.Cancel())
	h := &health.Health{}
	p := &planner{Notifier: &Notifier{stream: b.stream, lanes: newLanes(sharedOf(b.stream, limits{})), health: h}}
	for _, d := range []plannedDelivery{open, over} {
		d.Planner = "another"
		if err := p.createOne(context.Background(), d.Delivery); err != nil {
			t.Fatal(err)
		}
	}
	l := p.lanes.of(open.Lane())
	if at, is := l.first(); !is || at != open.at || len(l.known) != 1 || len(b.stream.records) != 3 {
		t.Errorf("open at %d %v of %d, %d records", at, is, len(l.known), len(b.stream.records))
	}
}

// TestPlanFails checks that an event whose deliveries could not be made durable is planned at the
// next start, after a crash and after an orderly stop.
func TestPlanFails(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*rig, *crashing){
		"crash": (*rig).crash,
		"stop": func(r *rig, _ *crashing) {
			r.stop()
			r.wrap, r.views = nil, nil
			r.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inbox := newReceiver(t, nil)
			refused := make(chan string, 1024)
			r, faults := crashRig(t, false, func(name string, expected uint64, position bool) bool {
				if !position && expected == 0 {
					refused <- name
					return true
				}
				return false
			})
			r.endpoint(inbox.url)
			r.pay(processor.Succeeded)
			for range 4 { // the waits between them are longer than the position takes to be written
				<-refused
			}
			end(r, faults)
			inbox.waitFor(1)
		})
	}
}
