package replay

import "sync"

// firstAttempts signals when the first attempt of a delivery is recorded. A caller calls await
// before it plans the delivery.
type firstAttempts struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
}

func (f *firstAttempts) await(name string) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.waiting[name]
	if c == nil {
		c = make(chan struct{})
		f.waiting[name] = c
	}
	return c
}

func (f *firstAttempts) recorded(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.waiting[name]; c != nil {
		close(c)
		delete(f.waiting, name)
	}
}
