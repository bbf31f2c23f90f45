package cache

import "sync"

// Cache keeps values by their keys. All methods may be called from many goroutines.
type Cache[K comparable, V any] struct {
	mu          sync.Mutex
	newer       map[K]V
	older       map[K]V
	generations int // dropped so far
	size        int // of newer
	capacity    int // of both generations
	sizeOf      func(V) int
	before      func(a, b V) bool // reports whether a is an older value of a key than b
}

// New returns a cache. sizeOf returns the size of a value, in the unit of capacity. before is nil
// if values never change.
func New[K comparable, V any](capacity int, sizeOf func(V) int, before func(a, b V) bool) *Cache[K, V] {
	return &Cache[K, V]{newer: map[K]V{}, capacity: capacity, sizeOf: sizeOf, before: before}
}

// Get returns the value of a key, and whether the cache has it.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.newer[key]
	if !ok {
		if v, ok = c.older[key]; ok {
			c.keep(key, v)
		}
	}
	return v, ok
}

// Put caches a value, unless the cache has a newer one.
func (c *Cache[K, V]) Put(key K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(key, v)
}

// Generation returns the number to pass to PutSince; take it before the look-up.
func (c *Cache[K, V]) Generation() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.generations
}

// PutSince is Put for a value that was looked up since a generation. It does nothing if a
// generation was dropped since.
func (c *Cache[K, V]) PutSince(key K, v V, generation int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation == c.generations {
		c.keep(key, v)
	}
}

func (c *Cache[K, V]) keep(key K, v V) {
	old, newer := c.newer[key]
	older := false
	if !newer {
		old, older = c.older[key]
	}
	if (newer || older) && c.before != nil && c.before(v, old) {
		return
	}
	if newer {
		c.size -= c.sizeOf(old)
	}
	c.size += c.sizeOf(v)
	c.newer[key] = v
	if c.size > c.capacity/2 {
		c.older, c.newer, c.size = c.newer, map[K]V{}, 0
		c.generations++
	}
}
