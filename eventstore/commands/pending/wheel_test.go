package pending

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"payledger/domain/process"
	"payledger/domain/seedtest"
)

// TestTurns checks that a hand that advances by any steps passes every operation exactly once a Round, at the time that Next returns.
func TestTurns(t *testing.T) {
	seedtest.Check(t, func(t *rapid.T) {
		at := time.UnixMicro(rapid.Int64Range(-1e15, 2e15).Draw(t, "start"))
		requested := at.Add(time.Duration(rapid.Int64Range(-3*round, round).Draw(t, "requested")) * time.Microsecond)
		next := Next(requested, 0, at)
		if requested.After(at) != next.Equal(requested) || next.Sub(requested)%Round != 0 || !next.After(at) {
			t.Fatalf("next at %s", next)
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			to := at.Add(time.Duration(rapid.Int64Range(0, round).Draw(t, "step")) * time.Microsecond)
			passed := 0
			for _, turns := range turnsOf(at, to) {
				if turns.From < 0 || turns.From > turns.Through || turns.Through >= round {
					t.Fatalf("turns %+v", turns)
				}
				if turn := Turn(requested); turn >= turns.From && turn <= turns.Through {
					passed++
				}
			}
			want := 0
			for n := Next(requested.Add(-10*Round), 0, at); !n.After(to); n = n.Add(Round) {
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
		if wait := next.Sub(now); wait <= 0 || wait > Round || next.Sub(now.Add(jump+patience))%Round != 0 {
			t.Errorf("requested %s ahead: asked about in %s", jump, wait)
		}
	}
	if Round != process.LastInterval {
		t.Error("the questions that the agenda leaves to the wheel are not a Round apart")
	}
}
