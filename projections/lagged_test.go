package projections

import (
	"slices"
	"testing"
	"time"

	"payledger/eventstore"
)

// TestLagged checks that the lag of each event counts that was recorded since the start, also of
// one by a clock that is ahead: it has none.
func TestLagged(t *testing.T) {
	t.Parallel()
	var lags []time.Duration
	p := &Projections{Config: Config{
		Now:    func() time.Time { return start.Add(time.Minute) },
		Lagged: func(lag time.Duration, _ string) { lags = append(lags, lag) },
	}, began: start}
	var events []*eventstore.Recorded
	for _, at := range []time.Duration{-time.Hour, -1, 0, 59 * time.Second, time.Minute, 2 * time.Minute} {
		events = append(events, &eventstore.Recorded{Time: start.Add(at)})
	}
	p.noteLag(events)
	if want := []time.Duration{time.Minute, time.Second, 0, 0}; !slices.Equal(lags, want) {
		t.Errorf("the lags are %v, expected %v", lags, want)
	}
}
