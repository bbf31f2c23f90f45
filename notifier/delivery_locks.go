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
