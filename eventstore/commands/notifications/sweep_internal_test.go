package notifications

import (
	"testing"
	"time"
)

// TestSweepRestart: a search for lost notifications begins anew an hour before the newest time that
// was seen. A time that was seen before the clock was set back, and has not come again, hides
// nothing: the search begins with the oldest.
func TestSweepRestart(t *testing.T) {
	noon := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	for ahead, want := range map[time.Duration]time.Time{-time.Minute: noon.Add(-time.Minute - sweepOverlap), 0: noon.Add(-sweepOverlap), 25 * time.Hour: {}} {
		w := sweep{cursor: "7", through: noon.Add(ahead)}
		if w.restart(noon); w.cursor != "" || !w.since.Equal(want) {
			t.Errorf("seen up to %s after now: begins at %s, cursor %q", ahead, w.since, w.cursor)
		}
		if w.saw(noon.Add(-time.Minute), noon); ahead > 0 && !w.through.Equal(noon.Add(-time.Minute)) {
			t.Errorf("goes on from %s", w.through)
		}
	}
}
