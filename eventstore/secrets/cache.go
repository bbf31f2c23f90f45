package secrets

import (
	"sync"
	"time"

	"payledger/domain"
)

// valueCache caches recently used values by name: data keys with their ciphers, and encrypted
// cards, because a payment soon follows.
type valueCache[V any] struct {
	life time.Duration // of a value; 0: until newer values replace it

	mu            sync.Mutex
	recent, older map[domain.SecretID]remembered[V]
}

type remembered[V any] struct {
	value V
	at    time.Time
}

// cacheGeneration is the number of values in a generation. There are two generations.
const cacheGeneration = 16 << 10

// putUnless puts a value unless stale reports that it may not be used any more. stale, which may be
// nil, is called while no value can be dropped: the value is dropped after it has become stale.
func (c *valueCache[V]) putUnless(name domain.SecretID, v V, now time.Time, stale func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stale != nil && stale() {
		return
	}
	if c.recent == nil || len(c.recent) >= cacheGeneration {
		c.older, c.recent = c.recent, map[domain.SecretID]remembered[V]{}
	}
	c.recent[name] = remembered[V]{v, now}
}

func (c *valueCache[V]) get(name domain.SecretID, now time.Time) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.recent[name]
	if !ok {
		r, ok = c.older[name]
	}
	if ok && c.life > 0 && now.Sub(r.at).Abs() >= c.life {
		return remembered[V]{}.value, false
	}
	return r.value, ok
}

func (c *valueCache[V]) drop(name domain.SecretID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.recent, name)
	delete(c.older, name)
}
