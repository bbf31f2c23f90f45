package secrets

import (
	"sync"

	"payledger/domain"
)

const maxForgotten = 4096

// forgotten counts the erasures that this process has applied, and knows the newest ones.
type forgotten struct {
	mu     sync.Mutex
	count  uint64
	last   map[domain.SecretID]uint64 // the count after the newest erasure of a key
	newest [maxForgotten]domain.SecretID
}

func (f *forgotten) add(key domain.SecretID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil {
		f.last = map[domain.SecretID]uint64{}
	}
	place := &f.newest[f.count%maxForgotten]
	f.count++
	if f.last[*place] == f.count-maxForgotten { // the oldest one has no newer erasure
		delete(f.last, *place)
	}
	*place, f.last[key] = key, f.count
}

// Moment returns the number of erasures that this process has applied.
func (v *Store) Moment() uint64 {
	v.forgotten.mu.Lock()
	defer v.forgotten.mu.Unlock()
	return v.forgotten.count
}

// ErasedSince reports whether data of a person that was opened after a moment may be erased by now.
// It reads nothing.
func (v *Store) ErasedSince(moment uint64, s *domain.Sealed) bool {
	return s != nil && v.erasedSince(moment, s.Key)
}

func (v *Store) erasedSince(moment uint64, key domain.SecretID) bool {
	f := &v.forgotten
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last[key] > moment || f.count-moment > maxForgotten
}

// erasure returns erasedSince as a function, for the caches.
func (v *Store) erasure(moment uint64, key domain.SecretID) func() bool {
	return func() bool { return v.erasedSince(moment, key) }
}
