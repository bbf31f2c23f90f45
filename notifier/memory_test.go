package notifier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/streams"
	"payledger/notifier/delivery"
)

// memory is the stream of deliveries without a server, for tests with their own time. TestMemory
// compares it with the real one.
type memory struct {
	mu      sync.Mutex
	records []deliverylog.Record
	last    map[string]uint64
	open    map[string]bool
	dead    bool // the process that writes has crashed
	refuse  bool // outcomes are not carried out: it crashes before them
}

func newMemory() *memory { return &memory{last: map[string]uint64{}, open: map[string]bool{}} }

// set makes the stream dead or alive, and has it refuse outcomes or not.
func (m *memory) set(dead, refuse bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead, m.refuse = dead, refuse
}

func (m *memory) Put(_ context.Context, name string, expected uint64, body []byte, open bool) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.dead || m.refuse && expected > 0:
		return 0, errCrashed
	case m.last[name] != expected:
		return 0, eventstore.ErrConflict
	}
	seq := uint64(len(m.records)) + 1
	m.records = append(m.records, deliverylog.Record{Name: name, Seq: seq, Body: body})
	m.last[name], m.open[name] = seq, open
	return seq, nil
}

func (m *memory) Last(_ context.Context, name string) (deliverylog.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at := m.last[name]; at > 0 {
		return m.records[at-1], nil
	}
	return deliverylog.Record{}, eventstore.ErrNotFound
}

func (m *memory) Known(name string) (deliverylog.Record, error) {
	return m.Last(context.Background(), name)
}

func (m *memory) At(_ context.Context, place uint64) (deliverylog.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if place == 0 || place > uint64(len(m.records)) {
		return deliverylog.Record{}, eventstore.ErrNotFound
	}
	return m.records[place-1], nil
}

func (m *memory) Waiting(_ context.Context, lane string, from uint64, limit int) (page []deliverylog.Record, end bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.records[min(max(from, 1)-1, uint64(len(m.records))):] { // record n is at place n
		if !strings.HasPrefix(r.Name, lane+".") || m.last[r.Name] != r.Seq || !m.open[r.Name] {
			continue
		}
		if of, is := laneOf(r.Name); !is || of != lane {
			continue
		}
		if len(page) == limit {
			return page, false, nil
		}
		page = append(page, r)
	}
	return page, true, nil
}

func (m *memory) Lanes(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lanes := map[string]bool{}
	for name, open := range m.open {
		if lane, is := laneOf(name); is && open {
			lanes[lane] = true
		}
	}
	return slices.Collect(maps.Keys(lanes)), nil
}

// laneOf returns the lane in a delivery's name.
func laneOf(name string) (string, bool) {
	parts := strings.Split(name, ".")
	if len(parts) != 4 {
		return "", false
	}
	return parts[0] + "." + parts[1], true
}

// Follow has no records of other processes.
func (m *memory) Follow(ctx context.Context, _ uint64, _ func([]deliverylog.Record) error) error {
	<-ctx.Done()
	return ctx.Err()
}

func (m *memory) End(context.Context) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return uint64(len(m.records)), nil
}

func (*memory) Floor() streams.Floor { return streams.Floor{} }

// decoded returns the newest record of every delivery.
func (m *memory) decoded(t testing.TB) map[string]delivery.Delivery {
	t.Helper()
	all := map[string]delivery.Delivery{}
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, at := range m.last {
		if _, is := laneOf(name); !is {
			continue
		}
		d, err := delivery.Decode(m.records[at-1])
		if err != nil {
			t.Error(err)
		}
		all[name] = d
	}
	return all
}

// firstOpen returns the lowest place of an open delivery's newest record; 0 if there is none.
func (m *memory) firstOpen() (first uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, open := range m.open {
		if _, is := laneOf(name); is && open && (first == 0 || m.last[name] < first) {
			first = m.last[name]
		}
	}
	return first
}

// TestMemory checks, for random calls, that the stream in memory answers like the real one, except
// for the numbers of places.
func TestMemory(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	ctx := context.Background()
	stored := eventstoretest.Open(t, t.TempDir()).Deliveries()
	model, round := newMemory(), 0
	places := map[uint64]uint64{0: 0} // in the real stream
	back := map[uint64]uint64{0: 0}
	translated := func(page []deliverylog.Record) (all []deliverylog.Record) {
		for _, r := range page {
			r.Seq, r.Time = back[r.Seq], time.Time{} // the stream in memory has no clock
			all = append(all, r)
		}
		return all
	}
	seedtest.Check(t, func(t *rapid.T) {
		round++
		name := func() string {
			return fmt.Sprintf("a%d.e%d.x%d.K", round, rapid.IntRange(0, 1).Draw(t, "endpoint"), rapid.IntRange(0, 4).Draw(t, "event"))
		}
		same := func(what string, a, b any, errA, errB error) {
			if fmt.Sprint(a) != fmt.Sprint(b) || errors.Is(errA, eventstore.ErrConflict) != errors.Is(errB, eventstore.ErrConflict) ||
				errors.Is(errA, eventstore.ErrNotFound) != errors.Is(errB, eventstore.ErrNotFound) || (errA == nil) != (errB == nil) {
				t.Fatalf("%s: %v %v, in memory %v %v", what, a, errA, b, errB)
			}
		}
		for i := range rapid.IntRange(1, 12).Draw(t, "steps") {
			body := fmt.Appendf(nil, "%d.%d", round, i)
			n := name()
			expected := uint64(0)
			if last, err := model.Last(ctx, n); err == nil && rapid.IntRange(0, 3).Draw(t, "right") > 0 {
				expected = last.Seq
			}
			open := rapid.Bool().Draw(t, "open")
			a, errA := stored.Put(ctx, n, places[expected], body, open)
			b, errB := model.Put(ctx, n, expected, body, open)
			if places[b], back[a] = a, b; errA != nil || errB != nil {
				places[0], back[0] = 0, 0
			}
			same("put", nil, nil, errA, errB)
			lane, _ := laneOf(n)
			from := uint64(rapid.IntRange(0, len(model.records)).Draw(t, "from"))
			limit := rapid.IntRange(1, 4).Draw(t, "limit")
			pageA, endA, errA := stored.Waiting(ctx, lane, places[from], limit)
			pageB, endB, errB := model.Waiting(ctx, lane, from, limit)
			same("waiting", translated(pageA), pageB, errA, errB)
			same("the end", endA, endB, nil, nil)
			lanesA, errA := stored.Lanes(ctx)
			lanesB, errB := model.Lanes(ctx)
			slices.Sort(lanesA)
			slices.Sort(lanesB)
			same("lanes", lanesA, lanesB, errA, errB)
			lastA, errA := stored.Last(ctx, n)
			lastB, errB := model.Last(ctx, n)
			same("last", translated([]deliverylog.Record{lastA}), []deliverylog.Record{lastB}, errA, errB)
			atA, errA := stored.At(ctx, max(1, places[from]))
			atB, errB := model.At(ctx, from)
			same("at", translated([]deliverylog.Record{atA}), []deliverylog.Record{atB}, errA, errB)
			endOfA, errA := stored.End(ctx)
			endOfB, errB := model.End(ctx)
			same("end", back[endOfA], endOfB, errA, errB)
		}
	})
}
