package notifier

import (
	"context"
	"sync"
)

// deliveryLocks allow one attempt at a time of each delivery, automatic or manual.
type deliveryLocks struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // closed when the attempt is over
}

// lock waits until no attempt of the delivery is under way and takes the lock. It reports false if ctx ends first.
func (n *deliveryLocks) lock(ctx context.Context, name string) (unlock func(), ok bool) {
	mine := make(chan struct{})
	for {
		n.mu.Lock()
		other, taken := n.busy[name]
		if !taken {
			if n.busy == nil {
				n.busy = map[string]chan struct{}{}
			}
			n.busy[name] = mine
			n.mu.Unlock()
			return func() {
				n.mu.Lock()
				defer n.mu.Unlock()
				delete(n.busy, name)
				close(mine)
			}, true
		}
		n.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, false
		}
	}
}

// firstAttempts signals when the first attempt of a delivery is recorded. A caller calls await before it plans the delivery.
type firstAttempts struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
	stopped bool
}

// await returns a channel that closes when an attempt of the delivery is recorded, or after stop.
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

// recorded closes the channel of a delivery.
func (f *firstAttempts) recorded(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.waiting[name]; c != nil {
		close(c)
		delete(f.waiting, name)
	}
}

// stop closes all channels.
func (f *firstAttempts) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	for name, c := range f.waiting {
		close(c)
		delete(f.waiting, name)
	}
}
