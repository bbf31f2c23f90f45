package delivery

import (
	"math/rand/v2"
	"slices"
	"time"
)

const jitter = 0.10 // the largest difference between a delay and its nominal length, as a share of that length (D18)

// DefaultRetryDelays are the delays between automatic attempts (§6.1 rule 3, D18), about 31 minutes
// together.
func DefaultRetryDelays() []time.Duration {
	return []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute}
}

// Schedule holds the delays before failed deliveries are tried again.
type Schedule struct {
	Delays []time.Duration
	Random func() float64 // [0, 1)
}

// NewSchedule returns a schedule with random jitter.
func NewSchedule(delays []time.Duration) Schedule {
	return Schedule{Delays: slices.Clone(delays), Random: rand.Float64}
}

// after returns the delay after n failed automatic attempts. It reports false after the last one.
func (s Schedule) after(n int) (wait time.Duration, more bool) {
	if n < 1 || n > len(s.Delays) {
		return 0, false
	}
	nominal := float64(s.Delays[n-1])
	return time.Duration(nominal * (1 - jitter + 2*jitter*s.Random())), true
}
