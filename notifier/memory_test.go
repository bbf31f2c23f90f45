package notifier

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
)

// memory is the stream of deliveries without a server, for tests whose time is not the machine's. TestMemory holds it
// against the real one.
type memory struct {
	mu      sync.Mutex
	records []eventstore.StoredDelivery
	last    map[string]uint64
	dead    bool // the process that writes has crashed
	refuse  bool // outcomes are not carried out: it crashes before them
}

func newMemory() *memory { return &memory{last: map[string]uint64{}} }

// set makes the stream dead or alive, and has it refuse outcomes or not.
func (m *memory) set(dead, refuse bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead, m.refuse = dead, refuse
}

func (m *memory) Put(_ context.Context, name string, expected uint64, body []byte) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.dead || m.refuse && expected > 0:
		return 0, errCrashed
	case m.last[name] != expected:
		return 0, eventstore.ErrConflict
	}
	return m.append(name, body), nil
}

func (m *memory) append(name string, body []byte) uint64 {
	seq := uint64(len(m.records)) + 1
	m.records = append(m.records, eventstore.StoredDelivery{Name: name, Seq: seq, Body: body})
	m.last[name] = seq
	return seq
}

func (m *memory) Replace(_ context.Context, name string, body []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errCrashed
	}
	if old := m.last[name]; old > 0 {
		m.records[old-1].Name = "" // rolled up
	}
	m.append(name, body)
	return nil
}

func (m *memory) Last(_ context.Context, name string) (eventstore.StoredDelivery, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at := m.last[name]; at > 0 {
		return m.records[at-1], nil
	}
	return eventstore.StoredDelivery{}, eventstore.ErrNotFound
}

func (m *memory) Next(ctx context.Context, pattern string, from uint64) (eventstore.StoredDelivery, error) {
	page, _, err := m.Scan(ctx, pattern, from, 1)
	if err == nil && len(page) == 0 {
		return eventstore.StoredDelivery{}, eventstore.ErrNotFound
	}
	return append(page, eventstore.StoredDelivery{})[0], err
}

func (m *memory) Scan(_ context.Context, pattern string, from uint64, limit int) (page []eventstore.StoredDelivery, end bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := max(from, 1) - 1; i < uint64(len(m.records)) && len(page) < limit; i++ {
		if r := m.records[i]; matches(pattern, r.Name) {
			page = append(page, r)
		}
	}
	return page, len(page) < limit, nil
}

// matches compares token by token; "*" stands for any one.
func matches(pattern, name string) bool {
	want, got := strings.Split(pattern, "."), strings.Split(name, ".")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != "*" && want[i] != got[i] {
			return false
		}
	}
	return true
}

// decoded gives the newest record of every delivery.
func (m *memory) decoded(t testing.TB) map[string]Delivery {
	t.Helper()
	all := map[string]Delivery{}
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, at := range m.last {
		if _, is := laneOf(name); !is {
			continue
		}
		d, err := Decode(m.records[at-1])
		if err != nil {
			t.Error(err)
		}
		all[name] = d
	}
	return all
}

// firstOpen gives the lowest place of an open delivery's newest record; 0 when there is none.
func (m *memory) firstOpen(t testing.TB) (first uint64) {
	t.Helper()
	for name, d := range m.decoded(t) {
		m.mu.Lock()
		at := m.last[name]
		m.mu.Unlock()
		if d.Status.Open() && (first == 0 || at < first) {
			first = at
		}
	}
	return first
}

// TestMemory: whatever is done to it, the stream in memory answers as the real one.
func TestMemory(t *testing.T) {
	t.Parallel()
	store := eventstoretest.Open(t, t.TempDir())
	ctx := context.Background()
	stored, err := store.OpenDeliveries(ctx)
	if err != nil {
		t.Fatal(err)
	}
	model, offset, round := newMemory(), uint64(0), 0
	rapid.Check(t, func(t *rapid.T) {
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
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1, 2:
				n := name()
				expected := uint64(0)
				if last, err := model.Last(ctx, n); err == nil && rapid.IntRange(0, 3).Draw(t, "right") > 0 {
					expected = last.Seq
				}
				a, errA := stored.Put(ctx, n, expected, body)
				b, errB := model.Put(ctx, n, expected, body)
				same("put", a, b, errA, errB)
			case 3:
				same("replace", nil, nil, stored.Replace(ctx, "position", body), model.Replace(ctx, "position", body))
			case 4:
				pattern, from := fmt.Sprintf("a%d.*.*.*", round), offset+uint64(rapid.IntRange(0, 20).Draw(t, "from"))
				a, endA, errA := stored.Scan(ctx, pattern, from, 5)
				b, endB, errB := model.Scan(ctx, pattern, from, 5)
				same("scan", a, b, errA, errB)
				if len(a) < 5 && (!endA || !endB) {
					t.Fatalf("the end of %d records is not told: %t, in memory %t", len(a), endA, endB)
				}
				c, errC := stored.Next(ctx, pattern, from)
				d, errD := model.Next(ctx, pattern, from)
				same("next", c, d, errC, errD)
			}
			n := name()
			a, errA := stored.Last(ctx, n)
			b, errB := model.Last(ctx, n)
			same("last", a, b, errA, errB)
		}
		offset = uint64(len(model.records))
	})
}
