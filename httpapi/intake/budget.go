package intake

import (
	"net/netip"
	"sync"
)

// addressShare is the part of a budget that one client address may use.
const addressShare = 2

// Budget bounds the memory of bodies and answers, in bytes, in all and by client address. A nil Budget has no bound.
type Budget struct {
	mu    sync.Mutex
	whole int64
	left  int64
	by    map[netip.Addr]int64
}

// NewBudget makes a budget; bytes is its size.
func NewBudget(bytes int64) *Budget {
	return &Budget{whole: bytes, left: bytes, by: map[netip.Addr]int64{}}
}

// Take reserves bytes for a client, false when too few are left or the client has its share.
func (b *Budget) Take(who netip.Addr, bytes int64) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes > b.left || b.by[who]+bytes > b.whole/addressShare {
		return false
	}
	b.left -= bytes
	b.by[who] += bytes
	return true
}

// Give releases bytes that Take reserved.
func (b *Budget) Give(who netip.Addr, bytes int64) {
	if b == nil || bytes == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += bytes
	if b.by[who] -= bytes; b.by[who] == 0 {
		delete(b.by, who)
	}
}
