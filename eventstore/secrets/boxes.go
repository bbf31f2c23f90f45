package secrets

import (
	"sync"

	"payledger/domain"
)

// boxes remembers encrypted values that were stored lately, so that the payment that follows need not ask
// for them. What it holds is as unreadable as on the disk.
type boxes struct {
	mu            sync.Mutex
	recent, older map[domain.SecretID][]byte
}

// boxesKept is how many values a generation holds; there are two.
const boxesKept = 16 << 10

func (b *boxes) put(name domain.SecretID, box []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.recent == nil || len(b.recent) >= boxesKept {
		b.older, b.recent = b.recent, map[domain.SecretID][]byte{}
	}
	b.recent[name] = box
}

func (b *boxes) get(name domain.SecretID) ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	box, ok := b.recent[name]
	if !ok {
		box, ok = b.older[name]
	}
	return box, ok
}

func (b *boxes) drop(name domain.SecretID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.recent, name)
	delete(b.older, name)
}
