package notifier

import (
	"slices"
	"testing"
	"time"

	"payledger/eventstore/deliverylog"
)

// TestLagged checks that the lag of each record counts that was written since the start, also of
// one by a clock that is ahead: it has none.
func TestLagged(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	var lags []time.Duration
	l := &AttemptLog{AttemptLogConfig: AttemptLogConfig{
		Now: func() time.Time { return start.Add(time.Minute) }, Lagged: func(lag time.Duration) { lags = append(lags, lag) },
	}, began: start}
	l.noteLag([]deliverylog.Record{{Time: start.Add(-1)}, {Time: start}, {Time: start.Add(59 * time.Second)}, {Time: start.Add(time.Hour)}})
	if want := []time.Duration{time.Minute, time.Second, 0}; !slices.Equal(lags, want) {
		t.Errorf("the lags are %v, expected %v", lags, want)
	}
}
