package replay

import "sync"

// firstAttempts signals when the first attempt of a delivery is recorded. A caller calls await before it plans the delivery.
type firstAttempts struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
}

// await returns a channel that closes when an attempt of the delivery is recorded.
func (f *firstAttempts) await(name string) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.waiting[name]; known != nil {
		return known
	}
	c := make(chan struct{})
	if f.waiting == nil {
		f.waiting = map[string]chan struct{}{}
	}
	f.waiting[name] = c
	return c
}

// recorded closes the channel of a delivery.
func (f *firstAttempts) recorded(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.waiting[name]; c != nil {
		close(c)
		delete(f.waiting, name)
	}
}
