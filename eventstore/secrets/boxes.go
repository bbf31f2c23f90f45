package secrets

import (
	"sync"

	"payledger/domain"
)

// newest remembers by name what was stored or read lately: encrypted cards, so that the payment that follows
// need not ask for them (they are as unreadable as on the disk), and data keys, made ready for use.
type newest[V any] struct {
	mu            sync.Mutex
	recent, older map[domain.SecretID]V
}

// newestKept is how many values a generation holds; there are two.
const newestKept = 16 << 10

func (n *newest[V]) put(name domain.SecretID, v V) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.recent == nil || len(n.recent) >= newestKept {
		n.older, n.recent = n.recent, map[domain.SecretID]V{}
	}
	n.recent[name] = v
}

func (n *newest[V]) get(name domain.SecretID) (V, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	v, ok := n.recent[name]
	if !ok {
		v, ok = n.older[name]
	}
	return v, ok
}

func (n *newest[V]) drop(name domain.SecretID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.recent, name)
	delete(n.older, name)
}
