package audit

import (
	"testing"
	"time"
)

// TestDays: a day is in UTC; --from is its first moment and --to its last (I1).
func TestDays(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string][2]time.Time{
		"2026-03-01":                {day, day.Add(24*time.Hour - 1)},
		"2026-03-01T00:00:00Z":      {day, day},
		"2026-03-01T01:00:00+01:00": {day, day},
		"2026-03-01T00:00:00.5":     {day.Add(time.Second / 2), day.Add(time.Second / 2)},
	} {
		q, err := (&Reconcile{Processor: []string{"ADYEN"}, Source: Source{Data: "."}, From: text, To: text}).question()
		if err != nil || !q.From.Equal(want[0]) || !q.To.Equal(want[1]) {
			t.Errorf("%s is from %s to %s (%v), not %v", text, q.From, q.To, err, want)
		}
	}
}
