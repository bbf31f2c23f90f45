package intake

import "sync"

// Budget bounds the memory of bodies and answers, in bytes, in all and by owner: an account, or an
// address before the account is known. A nil Budget has no bound.
//
// An owner may hold at most as many bytes as are free for the other owners. So one greedy owner
// leaves half of the budget, two leave a quarter, and a new owner always finds room.
type Budget struct {
	mu   sync.Mutex
	left int64
	by   map[string]int64
}

// NewBudget makes a budget; bytes is its size.
func NewBudget(bytes int64) *Budget { return &Budget{left: bytes, by: map[string]int64{}} }

// Take reserves n bytes for an owner, false when its share is too small.
func (b *Budget) Take(who string, n int64) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.by[who]+n > b.left-n {
		return false
	}
	b.take(who, n)
	return true
}

// Owe reserves n bytes for an owner that gets them in any case, such as the answer to a change. The
// budget may be overdrawn by them.
func (b *Budget) Owe(who string, n int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.take(who, n)
}

func (b *Budget) take(who string, n int64) {
	b.left -= n
	b.by[who] += n
}

// Give releases n bytes that Take or Owe reserved.
func (b *Budget) Give(who string, n int64) {
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
