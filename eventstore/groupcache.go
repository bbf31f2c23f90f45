package eventstore

import (
	"sync"

	"payledger/eventstore/format"
)

// groupCache keeps groups that were read, for readers who walk through several of their events. It is bounded by its
// size in memory; the older half is dropped at once.
type groupCache struct {
	mu       sync.Mutex
	recent   map[groupPlace]*format.Group
	older    map[groupPlace]*format.Group
	size     int // of recent, in bytes
	capacity int // of both, in bytes
}

type groupPlace struct {
	shard int
	seq   uint64
}

func newGroupCache(capacity int) *groupCache {
	return &groupCache{recent: map[groupPlace]*format.Group{}, capacity: capacity}
}

func (c *groupCache) get(shard int, seq uint64) *format.Group {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := groupPlace{shard, seq}
	if g, ok := c.recent[at]; ok {
		return g
	}
	return c.older[at]
}

func (c *groupCache) put(g *format.Group) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent[groupPlace{g.Shard, g.Seq}] = g
	if c.size += g.Size + format.RecordedSize*(1+len(g.Frames)); c.size > c.capacity/2 {
		c.older, c.recent, c.size = c.recent, map[groupPlace]*format.Group{}, 0
	}
}
