package intake

import "sync"

// Shares bounds a resource, in all and by owner.
type Shares[K comparable] struct {
	mu   sync.Mutex
	left int64
	most int64 // of one owner
	by   map[K]int64
}

// NewShares makes a bound of whole, of which one owner may take most.
func NewShares[K comparable](whole, most int64) *Shares[K] {
	return &Shares[K]{left: whole, most: most, by: map[K]int64{}}
}

// Take reserves n for an owner, false when too few are left or the owner has its share.
func (b *Shares[K]) Take(who K, n int64) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.left || b.by[who]+n > b.most {
		return false
	}
	b.left -= n
	b.by[who] += n
	return true
}

// Give releases n that Take reserved.
func (b *Shares[K]) Give(who K, n int64) {
	if b == nil || n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += n
	if b.by[who] -= n; b.by[who] == 0 {
		delete(b.by, who)
	}
}
