package eventstore

import "sync"

// groupCache keeps groups that were read, for readers who walk through several of their events. It is bounded by its
// size in memory; the older half is dropped at once.
type groupCache struct {
	mu       sync.Mutex
	recent   map[groupPlace]*group
	older    map[groupPlace]*group
	size     int // of recent, in bytes
	capacity int // of both, in bytes
}

type groupPlace struct {
	shard int
	seq   uint64
}

func newGroupCache(capacity int) *groupCache {
	return &groupCache{recent: map[groupPlace]*group{}, capacity: capacity}
}

func (c *groupCache) get(shard int, seq uint64) *group {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := groupPlace{shard, seq}
	if g, ok := c.recent[at]; ok {
		return g
	}
	return c.older[at]
}

func (c *groupCache) put(g *group) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent[groupPlace{g.shard, g.seq}] = g
	if c.size += g.size + recordedSize*(1+len(g.frames)); c.size > c.capacity/2 {
		c.older, c.recent, c.size = c.recent, map[groupPlace]*group{}, 0
	}
}
