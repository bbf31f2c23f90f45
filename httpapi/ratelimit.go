package httpapi

import (
	"encoding/json"
	"math"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"payledger/domain"
)

const minBrowserRate = 10 // the lowest limit of a client token, in requests a second: a page sends several at once

const forgetAbove = 4096 // the number of callers above which quiet callers are forgotten

// limits are the rate limits of all callers: API keys, and the client tokens of browsers.
//
// Each of n nodes has a bucket of tokens for a caller. The bucket gets L tokens a second, L being
// the limit, and holds b = max(1, L/n) tokens, rounded up. A request that any node allows takes a
// token from the bucket of every node: at once from its own, and within d seconds from the others
// (Allowed, AllowedElsewhere). So the nodes together allow at most L·T + n·(b + L·d) requests in T
// seconds: the node that allows the last one has counted all others but those of the last d
// seconds, and each node allows at most b + L·d of these. No bucket is ever further below 0 than
// these: a caller gets at least L·T - n·(b + L·d) requests, from one node or from all. Both are
// within a factor of two of the limit over 2·(1 + n/L + n·d) seconds and more, for any n and L.
type limits struct {
	perSecond float64
	nodes     func() int // that serve; nil: one
	now       func() time.Time
	mu        sync.Mutex
	by        map[caller]*rate.Limiter
	allowed   map[caller]int // since the last call of Allowed
	forgetAt  int
}

// caller has a limit of its own: an API key, a client session, or a payment with a required action.
type caller struct {
	Access access
	ID     string
}

func newLimits(perSecond float64, nodes func() int, now func() time.Time) *limits {
	return &limits{perSecond: perSecond, nodes: nodes, now: now, by: map[caller]*rate.Limiter{}, allowed: map[caller]int{}, forgetAt: forgetAbove}
}

// checkLimit refuses a caller above its rate limit (D1); off unless configured. Pages count like
// calls.
func (c *call) checkLimit(who caller, called string) error {
	wait := c.api.limits.wait(who)
	if wait == 0 {
		return nil
	}
	c.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	return domain.Refuse(domain.KindUnavailable, domain.ReasonRateLimitExceeded, "The %s makes too many requests.", called)
}

// wait returns the time until the caller may send its next request; 0 when it may send it now.
func (l *limits) wait(who caller) time.Duration {
	if l.perSecond <= 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	reservation := l.bucket(who, now).ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	} else if l.serving() > 1 {
		l.allowed[who]++
	}
	return wait
}

// bucket returns the caller's bucket. The caller of the method holds the lock.
func (l *limits) bucket(who caller, now time.Time) *rate.Limiter {
	perSecond := l.perSecond
	if who.Access != byAPIKey {
		perSecond = max(minBrowserRate, perSecond)
	}
	size := max(1, int(math.Ceil(perSecond/float64(l.serving()))))
	bucket, known := l.by[who]
	switch {
	case !known:
		l.forget(now)
		bucket = rate.NewLimiter(rate.Limit(perSecond), size)
		l.by[who] = bucket
	case bucket.Burst() != size: // a node joined or left
		bucket.SetBurstAt(now, size)
	}
	return bucket
}

func (l *limits) serving() int {
	if l.nodes == nil {
		return 1
	}
	return l.nodes()
}

type allowed struct {
	caller
	Requests int
}

// Allowed returns the numbers of requests that this node allowed since the last call, for
// AllowedElsewhere of the other nodes; nil: none.
func (a *API) Allowed() ([]byte, error) {
	l := a.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.allowed) == 0 {
		return nil, nil
	}
	var all []allowed
	for who, n := range l.allowed {
		all = append(all, allowed{who, n})
	}
	clear(l.allowed)
	return json.Marshal(all)
}

// AllowedElsewhere takes the requests that another node allowed from the buckets.
func (a *API) AllowedElsewhere(data []byte) error {
	var all []allowed
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	l := a.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for _, one := range all {
		bucket := l.bucket(one.caller, now)
		for left := one.Requests; left > 0; left -= bucket.Burst() {
			bucket.ReserveN(now, min(left, bucket.Burst()))
		}
	}
	return nil
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
