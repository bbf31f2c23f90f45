package secrets

import (
	"sync"
	"time"

	"payledger/domain"
)

// newest caches recently used values by name: data keys with their ciphers, and encrypted cards, because a payment soon
// follows.
type newest[V any] struct {
	life time.Duration // of a value; 0: until newer values replace it

	mu            sync.Mutex
	recent, older map[domain.SecretID]remembered[V]
}

type remembered[V any] struct {
	value V
	at    time.Time
}

// newestKept is the number of values in a generation. There are two generations.
const newestKept = 16 << 10

func (n *newest[V]) put(name domain.SecretID, v V, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.recent == nil || len(n.recent) >= newestKept {
		n.older, n.recent = n.recent, map[domain.SecretID]remembered[V]{}
	}
	n.recent[name] = remembered[V]{v, now}
}

func (n *newest[V]) get(name domain.SecretID, now time.Time) (V, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, ok := n.recent[name]
	if !ok {
		r, ok = n.older[name]
	}
	if ok && n.life > 0 && now.Sub(r.at).Abs() >= n.life {
		return remembered[V]{}.value, false
	}
	return r.value, ok
}

func (n *newest[V]) drop(name domain.SecretID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.recent, name)
	delete(n.older, name)
}
