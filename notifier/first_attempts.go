package notifier

import "sync"

// firstAttempts tells when the first attempt of a delivery is recorded, to whoever asked before the delivery was planned.
type firstAttempts struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
	stopped bool
}

// await gives what is closed then, or when nothing is told any more.
func (f *firstAttempts) await(name string) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.waiting[name]; known != nil {
		return known
	}
	c := make(chan struct{})
	if f.stopped {
		close(c)
		return c
	}
	if f.waiting == nil {
		f.waiting = map[string]chan struct{}{}
	}
	f.waiting[name] = c
	return c
}

// recorded says that a delivery has had an attempt, or that nobody waits for it any more.
func (f *firstAttempts) recorded(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.waiting[name]; c != nil {
		close(c)
		delete(f.waiting, name)
	}
}

// stop lets everybody go.
func (f *firstAttempts) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	for name, c := range f.waiting {
		close(c)
		delete(f.waiting, name)
	}
}
