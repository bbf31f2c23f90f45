package connector

import (
	"context"

	"payledger/domain"
)

// claim is the right to change the record of one key. An attempt calls the vendor; any other claim
// is short.
type claim struct {
	attempt bool
	done    chan struct{}
}

// claim takes a key, or returns the claim that holds it.
func (k *Connector) claim(key domain.OperationKey, attempt bool) (own, other *claim) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if other := k.held[key]; other != nil {
		return nil, other
	}
	own = &claim{attempt: attempt, done: make(chan struct{})}
	k.held[key] = own
	return own, nil
}

func (k *Connector) release(key domain.OperationKey, c *claim) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.held, key)
	close(c.done)
}

// claimAfterShort takes a key. It waits for short claims; nil without error: an attempt holds it.
func (k *Connector) claimAfterShort(ctx context.Context, key domain.OperationKey, attempt bool) (*claim, error) {
	for {
		own, other := k.claim(key, attempt)
		if own != nil || other.attempt {
			return own, nil
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
