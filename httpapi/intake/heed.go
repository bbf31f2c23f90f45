package intake

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// Repeats bounds the refusals a second of callers that ignore Retry-After. Such a caller sends its next request at once; 2,000 of
// them, unbounded, took four fifths of a machine from the requests that were worked on (measured). The first refusal of a connection
// comes at once, and so does one after Retry-After. Others wait for their turn, at most as long as the Retry-After they ignored.
type Repeats struct{ pace *rate.Limiter }

// NewRepeats makes a bound of so many requests a second.
func NewRepeats(perSecond int) *Repeats {
	return &Repeats{rate.NewLimiter(rate.Limit(perSecond), max(1, perSecond/burstShare))}
}

// burstShare is the part of a second's repeats that may come at one moment.
const burstShare = 50

// Refused notes that a request was answered with a Retry-After. The next request of the connection should come after it.
func Refused(ctx context.Context, retryAfter time.Duration) {
	if c, ok := ctx.Value(connKey{}).(*conn); ok {
		c.heed.Store(time.Now().Add(retryAfter).UnixNano())
	}
}

// Wait returns at once for a request that heeded Retry-After. For another one it waits until its refusal has its turn.
func (r *Repeats) Wait(ctx context.Context) {
	c, ok := ctx.Value(connKey{}).(*conn)
	if r == nil || !ok {
		return
	}
	left := time.Until(time.Unix(0, c.heed.Load()))
	if left <= 0 {
		return
	}
	turn := r.pace.Reserve()
	wait := time.NewTimer(min(left, turn.Delay()))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		turn.Cancel()
	}
}
