package httpapi

import (
	"math"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"payledger/domain"
	"payledger/domain/account"
)

// minBrowserRate is the lowest limit of a client token, in requests a second: a page sends several at once.
const minBrowserRate = 10

// forgetAbove is the number of callers above which quiet callers are forgotten.
const forgetAbove = 4096

// limits are the rate limits of all callers: API keys, and the client tokens of browsers.
//
// Each of n nodes allows a caller 2/(n+1) of the limit. If the requests spread evenly, the nodes together allow less than twice the
// limit. If all of them go to one node, a caller still has half of the limit with three nodes, and two thirds with two.
type limits struct {
	perSecond float64
	nodes     func() int // that serve; nil: one
	now       func() time.Time
	mu        sync.Mutex
	by        map[caller]*rate.Limiter
	forgetAt  int
}

// caller has a limit of its own: an API key, a client session, or a payment with a required action.
type caller struct {
	access access
	id     string
}

func newLimits(perSecond float64, nodes func() int, now func() time.Time) *limits {
	return &limits{perSecond: perSecond, nodes: nodes, now: now, by: map[caller]*rate.Limiter{}, forgetAt: forgetAbove}
}

// checkRate refuses a key above its rate limit (D1); off unless configured.
func (c *call) checkRate(key account.APIKey) error {
	return c.checkLimit(c.api.limits.wait(caller{byAPIKey, string(key.ID)}, c.api.limits.perSecond), "API key")
}

// checkBrowserRate refuses a client token above its rate limit (D1). Pages count like calls.
func (c *call) checkBrowserRate(kind access, id string) error {
	return c.checkLimit(c.api.limits.wait(caller{kind, id}, c.api.limits.perSecond), "client token")
}

func (c *call) checkLimit(wait time.Duration, who string) error {
	if wait == 0 {
		return nil
	}
	c.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	return domain.Refuse(domain.KindUnavailable, domain.ReasonRateLimitExceeded, "The %s makes too many requests.", who)
}

// wait returns the time until the caller may send its next request; 0 when it may send it now.
func (l *limits) wait(who caller, perSecond float64) time.Duration {
	if l.perSecond <= 0 {
		return 0
	}
	if l.nodes != nil {
		perSecond *= 2 / float64(l.nodes()+1)
	}
	if who.access != byAPIKey {
		perSecond = max(minBrowserRate, perSecond)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	limiter, known := l.by[who]
	limit, burst := rate.Limit(perSecond), max(1, int(math.Ceil(perSecond)))
	switch {
	case !known:
		l.forget(now)
		limiter = rate.NewLimiter(limit, burst)
		l.by[who] = limiter
	case limiter.Limit() != limit: // a node joined or left
		limiter.SetLimitAt(now, limit)
		limiter.SetBurstAt(now, burst)
	}
	reservation := limiter.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}

// forget drops the callers whose limiters are full again, once there are many callers.
func (l *limits) forget(now time.Time) {
	if len(l.by) < l.forgetAt {
		return
	}
	for who, limiter := range l.by {
		if limiter.TokensAt(now) >= float64(limiter.Burst()) {
			delete(l.by, who)
		}
	}
	l.forgetAt = max(forgetAbove, 2*len(l.by))
}
