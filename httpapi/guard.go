package httpapi

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"payledger/domain"
	"payledger/domain/account/apikey"
)

// apiVersion is the one version that is served (§9).
const apiVersion = "2.4"

// authenticate finds out who calls (D2). Every failure looks the same.
func (c *call) authenticate() error {
	switch c.route.access {
	case byNothing:
		return nil
	case byClientToken:
		return c.authenticateBrowser()
	}
	text := c.r.Header.Get("X-Api-Key")
	environment, id, err := apikey.Parse(text)
	if err != nil || environment != c.api.Environment {
		return unauthorized()
	}
	merchant, known := c.api.Reader.AccountByKey(id)
	if !known {
		return unauthorized()
	}
	key, found := merchant.Key(id)
	if !found || !apikey.Matches(key.Hash, text) || !key.Valid(c.api.Now()) {
		return unauthorized()
	}
	c.merchant, c.actor = merchant, "api_key:"+string(id)
	return c.checkRate(id)
}

func unauthorized() error {
	return domain.Refuse(domain.KindUnauthorized, domain.ReasonUnauthorized,
		"The header X-API-KEY is missing, or its key is not known, not valid any more, or of another environment.")
}

// checkVersion wants X-API-VERSION where the call has versions (D1, §9).
func (c *call) checkVersion() error {
	if !c.route.versioned {
		return nil
	}
	switch version := c.r.Header.Get("X-Api-Version"); version {
	case apiVersion:
		return nil
	case "":
		return domain.Refuse(domain.KindInvalid, domain.ReasonAPIVersionMissing,
			"The header X-API-VERSION is missing. Supported: %s.", apiVersion)
	default:
		return domain.Refuse(domain.KindInvalid, domain.ReasonAPIVersionNotSupported,
			"The API version is not supported. Supported: %s.", apiVersion)
	}
}

// checkScope wants the scope of the call on the key (D2).
func (c *call) checkScope() error {
	if c.route.scope == "" {
		return nil
	}
	_, id, err := apikey.Parse(c.r.Header.Get("X-Api-Key"))
	if err != nil {
		return unauthorized()
	}
	if key, _ := c.merchant.Key(id); key.Allows(c.route.scope) {
		return nil
	}
	return domain.Refuse(domain.KindForbidden, domain.ReasonMissingScope, "The API key lacks the scope %s.", c.route.scope)
}

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

// clientTokenHeaders carry the client token, the second being an alias (D12).
var clientTokenHeaders = []string{"X-Client-Token", "Primer-Client-Token"}

func clientToken(h http.Header) string {
	for _, name := range clientTokenHeaders {
		if v := h.Get(name); v != "" {
			return v
		}
	}
	return ""
}
