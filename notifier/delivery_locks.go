package notifier

import (
	"context"
	"sync"
)

// names are the deliveries with an attempt under way: of each one at a time, whoever asks for it.
type deliveryLocks struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // closed when the attempt is over
}

// lock waits until the name is free and takes it; false when ctx ends first.
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
