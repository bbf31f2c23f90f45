package replay

import (
	"context"
	"sync"

	"payledger/domain"
)

// maxCounts bounds the replays of all accounts whose range is counted at the same time.
const maxCounts = 4

// counts lets one replay of an account be counted at a time, and maxCounts of all accounts: a count
// reads the log.
type counts struct {
	mu    sync.Mutex
	in    map[domain.AccountID]bool
	ended chan struct{} // closed and replaced at the end of a count
}

func newCounts() *counts {
	return &counts{in: map[domain.AccountID]bool{}, ended: make(chan struct{})}
}

// begin waits for the account's turn, or for the end of ctx. The caller calls end afterwards.
func (c *counts) begin(ctx context.Context, owner domain.AccountID) (end func(), err error) {
	for {
		ended, ok := c.try(owner)
		if ok {
			return func() { c.end(owner) }, nil
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *counts) try(owner domain.AccountID) (ended <-chan struct{}, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.in[owner] || len(c.in) >= maxCounts {
		return c.ended, false
	}
	c.in[owner] = true
	return nil, true
}

func (c *counts) end(owner domain.AccountID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.in, owner)
	close(c.ended)
	c.ended = make(chan struct{})
}
