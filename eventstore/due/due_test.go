package due_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"payledger/eventstore/due"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// TestLeft checks that the rest of a recorded wait is never more than the wait itself.
func TestLeft(t *testing.T) {
	const length = time.Hour
	for _, c := range []struct {
		noted time.Duration // after noon, which is now
		left  time.Duration
	}{
		{0, length},
		{-20 * time.Minute, 40 * time.Minute},
		{-length, 0},
		{-25 * time.Hour, -24 * time.Hour},
		{time.Second, length},
		{25 * time.Hour, length},
		{72 * time.Hour, length},
	} {
		noted := noon.Add(c.noted)
		if left := due.Left(noon, noted, noted.Add(length)); left != c.left {
			t.Errorf("noted %s after now: %s left, expected %s", c.noted, left, c.left)
		}
	}
	if left := due.Left(noon, noon.Add(time.Hour), noon.Add(30*time.Minute)); left != 0 {
		t.Errorf("due before it was noted, which is ahead: %s left", left)
	}
}

// TestTime: a wait ends at its time by the clock, and at the latest after its length, wherever the
// clock jumps.
func TestTime(t *testing.T) {
	for _, jump := range []time.Duration{0, time.Second, 25 * time.Hour, 72 * time.Hour} {
		for _, recorded := range []bool{false, true} {
			t.Run(fmt.Sprint(jump, recorded), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var ahead time.Duration
					now := func() time.Time { return time.Now().Round(0).Add(ahead) }
					ahead = jump
					wait := due.In(now(), time.Minute)
					if recorded {
						noted := now()
						ahead = 0
						wait = due.At(now(), noted, noted.Add(time.Minute))
					}
					ahead = 0
					if left := wait.Left(now()); left != time.Minute {
						t.Errorf("%s left", left)
					}
					<-time.After(time.Minute - 1)
					if wait.Over(now()) {
						t.Error("it is over too early")
					}
					<-time.After(1)
					if !wait.Over(now()) {
						t.Errorf("%s left after its length", wait.Left(now()))
					}
				})
			})
		}
	}
	if !(due.Time{}).Over(noon) {
		t.Error("the zero value is not over")
	}
	if wait := due.In(noon, time.Minute); wait.Over(noon) || !wait.Over(noon.Add(time.Minute)) {
		t.Error("it does not end when the clock shows its time")
	}
}

// TestJumps checks that a clock that is set forward is reported once, with the difference. A clock
// that is set back, or only goes on, is not reported.
func TestJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var jumps due.Jumps
		var ahead time.Duration
		for i, c := range []struct{ set, want time.Duration }{
			{25 * time.Hour, 0}, // the first look
			{25 * time.Hour, 0},
			{72 * time.Hour, 47 * time.Hour},
			{72 * time.Hour, 0},
			{0, 0},
			{time.Second / 2, 0},
			{25 * time.Hour, 25*time.Hour - time.Second/2},
		} {
			ahead = c.set
			<-time.After(time.Minute)
			if got := jumps.Forward(time.Now().Add(ahead)); got != c.want {
				t.Errorf("look %d: %s, expected %s", i, got, c.want)
			}
		}
	})
}
