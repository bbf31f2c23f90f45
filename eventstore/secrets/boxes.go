package secrets

import (
	"sync"
	"time"

	"payledger/domain"
)

// newest remembers by name what was stored or read lately: encrypted cards, so that the payment that follows
// need not ask for them (they are as unreadable as on the disk), and data keys, made ready for use.
type newest[V any] struct {
	life time.Duration // how long a value is remembered; 0: until it is pushed out

	mu            sync.Mutex
	recent, older map[domain.SecretID]remembered[V]
}

type remembered[V any] struct {
	value V
	at    time.Time
}

// newestKept is how many values a generation holds; there are two.
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
