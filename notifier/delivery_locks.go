package notifier

import (
	"context"
	"sync"
)

// deliveryLocks allow one attempt at a time of each delivery, automatic or manual, within this
// process.
type deliveryLocks struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // closed when the attempt is over
}

// lock waits until no attempt of the delivery is under way and takes the lock. It reports false if
// ctx ends first.
func (l *deliveryLocks) lock(ctx context.Context, name string) (unlock func(), ok bool) {
	mine := make(chan struct{})
	for {
		l.mu.Lock()
		other, taken := l.busy[name]
		if !taken {
			if l.busy == nil {
				l.busy = map[string]chan struct{}{}
			}
			l.busy[name] = mine
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				delete(l.busy, name)
				close(mine)
			}, true
		}
		l.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, false
		}
	}
}
