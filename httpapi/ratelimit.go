package httpapi

import (
	"math"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"payledger/domain"
)

// limits are the rate limits of all API keys.
type limits struct {
	perSecond float64
	now       func() time.Time
	mu        sync.Mutex
	byKey     map[domain.APIKeyID]*rate.Limiter
}

func newLimits(perSecond float64, now func() time.Time) *limits {
	return &limits{perSecond: perSecond, now: now, byKey: map[domain.APIKeyID]*rate.Limiter{}}
}

// checkRate refuses a key that calls more often than it may (D1); off unless configured.
func (c *call) checkRate(id domain.APIKeyID) error {
	wait := c.api.limits.wait(id)
	if wait == 0 {
		return nil
	}
	c.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	return domain.Refuse(domain.KindUnavailable, domain.ReasonRateLimitExceeded, "The API key makes too many requests.")
}

// wait is how long the key must wait for its next request; 0 when it need not.
func (l *limits) wait(id domain.APIKeyID) time.Duration {
	if l.perSecond <= 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter, known := l.byKey[id]
	if !known {
		limiter = rate.NewLimiter(rate.Limit(l.perSecond), max(1, int(math.Ceil(l.perSecond))))
		l.byKey[id] = limiter
	}
	now := l.now()
	reservation := limiter.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}
