package pending

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"payledger/domain/process"
	"payledger/domain/seedtest"
)

// TestSlots checks that a cursor that advances by any steps passes every operation exactly once a
// Cycle, at the time that Next returns.
func TestSlots(t *testing.T) {
	seedtest.Check(t, func(t *rapid.T) {
		at := time.UnixMicro(rapid.Int64Range(-1e15, 2e15).Draw(t, "start"))
		requested := at.Add(time.Duration(rapid.Int64Range(-3*cycle, cycle).Draw(t, "requested")) * time.Microsecond)
		next := Next(requested, 0, at)
		if requested.After(at) != next.Equal(requested) || next.Sub(requested)%Cycle != 0 || !next.After(at) {
			t.Fatalf("next at %s", next)
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			to := at.Add(time.Duration(rapid.Int64Range(0, cycle).Draw(t, "step")) * time.Microsecond)
			passed := 0
			for _, slots := range slotsOf(at, to) {
				if slots.From < 0 || slots.From > slots.Through || slots.Through >= cycle {
					t.Fatalf("slots %+v", slots)
				}
				if slot := Slot(requested); slot >= slots.From && slot <= slots.Through {
					passed++
				}
			}
			want := 0
			for n := Next(requested.Add(-10*Cycle), 0, at); !n.After(to); n = n.Add(Cycle) {
				want++
			}
			if passed != want {
				t.Fatalf("from %s to %s passed %d times, not %d", at, to, passed, want)
			}
			at = to
		}
	})
	for _, jump := range []time.Duration{25 * time.Hour, 72*time.Hour + time.Minute} { // noted before the clock was set back
		now := time.UnixMicro(1e15)
		next := Next(now.Add(jump), patience, now)
		if wait := next.Sub(now); wait <= 0 || wait > Cycle || next.Sub(now.Add(jump+patience))%Cycle != 0 {
			t.Errorf("requested %s ahead: looked up in %s", jump, wait)
		}
	}
	if Cycle != process.LastInterval {
		t.Error("the look-ups that the schedule leaves to the cycle are not a Cycle apart")
	}
}
