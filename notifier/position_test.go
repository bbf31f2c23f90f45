package notifier

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain/processor"
	"payledger/eventstore"
)

// TestProgress: while deliveries are planned of which no lane knows, a later outcome moves nothing.
func TestProgress(t *testing.T) {
	t.Parallel()
	p := &progress{log: make([]uint64, 2)}
	at := func(what string, log []uint64, through uint64) {
		t.Helper()
		if l, n := p.at(); !slices.Equal(l, log) || n != through {
			t.Errorf("%s: %d, %d", what, l, n)
		}
	}
	p.begin()
	p.passed(5)
	at("while planning", []uint64{0, 0}, 0)
	p.advance([]*eventstore.Recorded{{Shard: 1, Seq: 9}, {Shard: 1, Seq: 8}}, 3)
	at("planned", []uint64{0, 9}, 3)
	p.passed(7)
	p.passed(6)
	at("an outcome", []uint64{0, 9}, 7)
	p.advance([]*eventstore.Recorded{{Shard: 0, Seq: 4}}, 0)
	at("nothing to plan", []uint64{4, 9}, 7)
}

// positionsWritten keeps what is written as the position.
type positionsWritten struct {
	stream
	all []position
}

func (s *positionsWritten) Replace(_ context.Context, _ string, body []byte) error {
	var p position
	err := eventstore.Unmarshal(body, &p)
	s.all = append(s.all, p)
	return err
}

// TestPositionNamesOpen: whenever the position is written, it names the lane of every open delivery that it has passed;
// those too that are planned while it looks through the lanes.
func TestPositionNamesOpen(t *testing.T) {
	t.Parallel()
	const n = 30
	h, s := &health{}, &positionsWritten{}
	ls := newLanes(nil, h, zerolog.Nop(), time.Now)
	k := &keeper{stream: s, progress: &progress{log: make([]uint64, 1)}, lanes: ls, health: h}
	stuck := ls.of("stuck")
	stuck.mu.Lock() // it cannot be looked at
	for at := range uint64(n) {
		ls.of(fmt.Sprint(at + 1))
	}
	var saving sync.WaitGroup
	saving.Go(func() { k.save(context.Background()) })
	for ls.mu.TryLock() {
		ls.mu.Unlock()
	}
	<-time.After(50 * time.Millisecond) // it is looking through the lanes, and has come to the one that is stuck
	for at := uint64(1); at <= n; at++ {
		k.progress.begin()
		ls.all[fmt.Sprint(at)].offer(placed{at: at})
		k.progress.advance([]*eventstore.Recorded{{Seq: at}}, at)
	}
	stuck.mu.Unlock()
	saving.Wait()
	k.save(context.Background())
	for _, p := range s.all {
		named := map[string]uint64{}
		for _, open := range p.Open {
			named[open.Lane] = open.First
		}
		for at := uint64(1); at <= p.Through; at++ {
			if named[fmt.Sprint(at)] != at {
				t.Fatalf("the position has passed %d, and does not name %d", p.Through, at)
			}
		}
	}
	if last := s.all[len(s.all)-1]; last.Through != n || last.Log[0] != n {
		t.Errorf("it ends at %d, %d", last.Log, last.Through)
	}
}

// TestPlannedBefore: a delivery that an earlier process planned is known to its lane when its event is planned again, if
// it is still open; it is not planned twice.
func TestPlannedBefore(t *testing.T) {
	t.Parallel()
	b := newBubble(t)
	open := b.put("00000000-0000-4000-8000-000000000001", goldenDelivery.Endpoint)
	over := b.put("00000000-0000-4000-8000-000000000002", goldenDelivery.Endpoint)
	b.record(over.at, over.cancelled())
	h := &health{}
	p := &planner{stream: b.stream, lanes: newLanes(b.stream, h, zerolog.Nop(), time.Now), health: h, progress: &progress{log: make([]uint64, 1)}}
	for _, d := range []placed{open, over} {
		d.Planner = "another"
		if _, err := p.createOne(context.Background(), d.Delivery); err != nil {
			t.Fatal(err)
		}
	}
	l := p.lanes.of(open.lane())
	if at, is := l.first(); !is || at != open.at || len(l.known.in) != 1 || len(b.stream.records) != 3 {
		t.Errorf("open at %d %v of %d, %d records", at, is, len(l.known.in), len(b.stream.records))
	}
}

// TestPlanFails: an event whose deliveries cannot be made durable is planned at the next start, whether the process
// crashes or is told to end.
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
			inbox := newReceiver(t, nil)
			refused := make(chan string, 1024)
			r, faults := crashRig(t, false, func(name string, expected uint64, replace bool) bool {
				if !replace && expected == 0 {
					refused <- name
					return true
				}
				return false
			})
			r.endpoint(inbox.url)
			r.pay(processor.Succeeded)
			for range 5 { // the waits between them are longer than the position takes to be written
				<-refused
			}
			end(r, faults)
			inbox.take(1)
		})
	}
}
