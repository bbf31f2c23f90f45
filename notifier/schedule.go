package notifier

import (
	"math/rand/v2"
	"slices"
	"time"
)

// jitter is how far a delay may differ from its nominal length, as a share of it (D18).
const jitter = 0.10

// DefaultRetryDelays are the delays between automatic attempts (§6.1 rule 3, D18): the last attempt comes about 31
// minutes after the first.
func DefaultRetryDelays() []time.Duration {
	return []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute}
}

// schedule says when failed deliveries are tried again.
type schedule struct {
	delays []time.Duration
	random func() float64 // [0, 1)
}

func newSchedule(delays []time.Duration) schedule {
	return schedule{delays: slices.Clone(delays), random: rand.Float64}
}

// after gives the wait after n failed automatic attempts; false when that was the last one.
func (s schedule) after(n int) (wait time.Duration, more bool) {
	if n < 1 || n > len(s.delays) {
		return 0, false
	}
	nominal := float64(s.delays[n-1])
	return time.Duration(nominal * (1 - jitter + 2*jitter*s.random())), true
}
