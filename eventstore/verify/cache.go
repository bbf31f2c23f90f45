package verify

import "payledger/eventstore/format"

// entrySize is roughly what an aggregate takes in memory without its state, in bytes.
const entrySize = 600

// aggregates holds aggregates in memory, up to a size. It has two generations: the older one leaves
// as a whole.
type aggregates struct {
	recent, older map[format.Key]*aggregate
	size, limit   int // of recent, in bytes
}

type cached struct {
	key       format.Key
	aggregate *aggregate
}

// get removes an aggregate and returns it; nil if the cache does not have it.
func (c *aggregates) get(key format.Key) *aggregate {
	if a := c.recent[key]; a != nil {
		c.size -= a.size
		delete(c.recent, key)
		return a
	}
	a := c.older[key]
	delete(c.older, key)
	return a
}

func (c *aggregates) put(key format.Key, a *aggregate) (gone []cached) {
	if c.recent == nil {
		c.recent = map[format.Key]*aggregate{}
	}
	c.recent[key] = a
	if c.size += a.size; c.size <= c.limit/2 {
		return nil
	}
	for key, a := range c.older {
		gone = append(gone, cached{key, a})
	}
	c.older, c.recent, c.size = c.recent, map[format.Key]*aggregate{}, 0
	return gone
}

// all empties the cache.
func (c *aggregates) all() (gone []cached) {
	for _, generation := range []map[format.Key]*aggregate{c.older, c.recent} {
		for key, a := range generation {
			gone = append(gone, cached{key, a})
		}
	}
	*c = aggregates{limit: c.limit}
	return gone
}
