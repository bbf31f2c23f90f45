package bench

import (
	"encoding/json"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPercentile(t *testing.T) {
	t.Parallel()
	var t100 tally
	for i := range 100 {
		t100.took = append(t100.took, time.Duration(100-i)*time.Millisecond)
	}
	t100.sorted()
	one, none := tally{took: []time.Duration{time.Millisecond}}, tally{}
	for _, c := range []struct {
		of              *tally
		share, expected float64
	}{
		{&t100, 0.5, 50}, {&t100, 0.99, 99}, {&t100, 0.999, 100}, {&t100, 1, 100}, {&t100, 0, 1}, {&one, 0.5, 1}, {&one, 0.999, 1}, {&none, 0.5, 0},
	} {
		if got := c.of.percentile(c.share); got != c.expected {
			t.Errorf("%v of %d: %v, expected %v", c.share, len(c.of.took), got, c.expected)
		}
	}
	if none.perSecond() != 0 {
		t.Errorf("%v requests per second of none", none.perSecond())
	}
}

func connections(n int) (all []*connection) {
	for range n {
		all = append(all, &connection{})
	}
	return all
}

// TestRate: every request that is due in the time starts, and its latency counts from the time at
// which it was due.
func TestRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := load{connections: connections(2), rate: 100}
		var started atomic.Int64
		quick := l.run(t.Context(), time.Second, func(*connection, int64) error { started.Add(1); return nil })
		if started.Load() != 100 || len(quick.took) != 100 || quick.percentile(1) != 0 || quick.lasted != 990*time.Millisecond {
			t.Errorf("%d requests started, %d succeeded, the slowest %v ms, in %s", started.Load(), len(quick.took), quick.percentile(1), quick.lasted)
		}
		// One connection answers each 20 ms, and a request is due each 10 ms: request i waits i
		// times 10 ms.
		slow := load{connections: connections(1), rate: 100}
		late := slow.run(t.Context(), 100*time.Millisecond, func(*connection, int64) error {
			pauseUntil(t.Context(), time.Now().Add(20*time.Millisecond))
			return nil
		})
		var expected []time.Duration
		for i := range 10 {
			expected = append(expected, time.Duration(20+10*i)*time.Millisecond)
		}
		if !slices.Equal(late.took, expected) || late.lasted != 200*time.Millisecond {
			t.Errorf("took %v in %s, expected %v", late.took, late.lasted, expected)
		}
	})
}

// TestErrors: an unexpected answer is an error, and the connection goes on; a broken connection is
// one error, and ends.
func TestErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := load{connections: connections(1)}
		got := l.run(t.Context(), time.Second, func(c *connection, n int64) error {
			pauseUntil(t.Context(), time.Now().Add(100*time.Millisecond))
			c.read += 3
			switch n {
			case 1, 3:
				return answerError{"GET /x", 503, "busy"}
			case 5:
				return net.ErrClosed
			}
			return nil
		})
		if len(got.took) != 3 || got.errors != 3 || got.read != 18 || got.first.Error() != "GET /x answered 503: busy" || got.lasted != 600*time.Millisecond {
			t.Errorf("%d succeeded, %d failed, first %v, %d read, in %s", len(got.took), got.errors, got.first, got.read, got.lasted)
		}
	})
}

// TestDelivered: a webhook's latency counts from the request, and a missing webhook is one error.
func TestDelivered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := service{inbox: &receiver{came: map[string]time.Time{}}, began: map[string]time.Time{"a": began, "b": began.Add(time.Second), "lost": began}}
		pauseUntil(t.Context(), began.Add(2*time.Second))
		s.inbox.note("a")
		s.inbox.note("of another run")
		go func() {
			pauseUntil(t.Context(), began.Add(4*time.Second))
			s.inbox.note("a") // once more
			s.inbox.note("b")
		}()
		got := tally{took: make([]time.Duration, 3), lasted: time.Second}
		s.delivered(t.Context(), began, time.Minute, &got)
		if !slices.Equal(got.took, []time.Duration{2 * time.Second, 3 * time.Second}) || got.lasted != 4*time.Second {
			t.Errorf("took %v in %s", got.took, got.lasted)
		}
		if got.errors != 1 || !strings.Contains(got.first.Error(), "payment lost") || len(s.began) != 0 {
			t.Errorf("%d errors, first %v, %d still awaited", got.errors, got.first, len(s.began))
		}
	})
}

// TestReportWithoutFigures: without metrics the report has no ratio of them, and is JSON and text.
func TestReportWithoutFigures(t *testing.T) {
	t.Parallel()
	m := measurement{command: &Command{Scenario: authorizing}, ours: &measured{}, theirs: &measured{}}
	m.ours.tally = tally{took: []time.Duration{time.Millisecond}, lasted: time.Second, errors: 1, first: errors.New("x")}
	r := m.report()
	var out strings.Builder
	if err := errors.Join(json.NewEncoder(&out).Encode(r), r.text(&out)); err != nil || len(r.Ratios) != 0 || r.PerSecond != 1 {
		t.Errorf("%v, report %+v", err, r)
	}
}
