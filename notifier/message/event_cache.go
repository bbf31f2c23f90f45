package message

import (
	"context"
	"encoding/json"
	"reflect"
	"sync"

	"payledger/domain"
	"payledger/domain/webhook"
	"payledger/eventstore"
)

const (
	// cachedEvents is the number of cached events: enough for the events whose webhooks are being
	// sent.
	cachedEvents = 2048
	// cachedBytes bounds the size of the cached events' bodies in the log. Their renderings are
	// about as large.
	cachedBytes = 16 << 20
)

type logPosition struct {
	shard int
	seq   uint64
}

// eventCache holds the newest planned events and their renderings.
type eventCache struct {
	store eventstore.Store

	mu         sync.Mutex
	byPosition map[logPosition]*cachedEvent
	ring       []logPosition // in the order of put; a new event replaces the oldest one
	next       int           // index in ring of the oldest event
	bytes      int           // of the events' bodies
}

func newEventCache(s eventstore.Store) *eventCache {
	return &eventCache{store: s, byPosition: map[logPosition]*cachedEvent{}, ring: make([]logPosition, cachedEvents)}
}

func (c *eventCache) put(r *eventstore.Recorded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := logPosition{r.Shard, r.Seq}
	if c.byPosition[at] != nil {
		return
	}
	c.drop(c.next)
	c.byPosition[at], c.ring[c.next] = &cachedEvent{recorded: r}, at
	c.bytes += len(r.Body)
	c.next = (c.next + 1) % len(c.ring)
	for oldest := c.next; c.bytes > cachedBytes && len(c.byPosition) > 1; oldest = (oldest + 1) % len(c.ring) {
		c.drop(oldest)
	}
}

// drop removes the event in a place of the ring. The caller holds the lock.
func (c *eventCache) drop(place int) {
	if old := c.byPosition[c.ring[place]]; old != nil {
		c.bytes -= len(old.recorded.Body)
		delete(c.byPosition, c.ring[place])
	}
	c.ring[place] = logPosition{}
}

// read returns the event at an address of the log. It adds none to the cache: retries and replays
// would displace newer events.
func (c *eventCache) read(ctx context.Context, shard int, seq uint64) (*eventstore.Recorded, error) {
	c.mu.Lock()
	known := c.byPosition[logPosition{shard, seq}]
	c.mu.Unlock()
	if known != nil {
		return known.recorded, nil
	}
	return c.store.Read(ctx, shard, seq)
}

// variant identifies a rendering of an event, besides the personal data in it.
type variant struct {
	kind   webhook.Kind
	first6 bool
}

// render returns the JSON of an event's variant. It calls build unless the cache has the JSON with
// the same personal data.
func (c *eventCache) render(r *eventstore.Recorded, what variant, personal domain.Personal, build func() (any, error)) ([]byte, error) {
	c.mu.Lock()
	known := c.byPosition[logPosition{r.Shard, r.Seq}]
	c.mu.Unlock()
	if known == nil {
		known = &cachedEvent{recorded: r}
	}
	return known.rendered(what, personal, build)
}

type cachedEvent struct {
	recorded *eventstore.Recorded

	mu     sync.Mutex
	bodies map[variant]body
}

type body struct {
	personal domain.Personal
	json     []byte
}

func (c *cachedEvent) rendered(what variant, personal domain.Personal, render func() (any, error)) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, there := c.bodies[what]; there && reflect.DeepEqual(known.personal, personal) {
		return known.json, nil
	}
	v, err := render()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if c.bodies == nil {
		c.bodies = map[variant]body{}
	}
	c.bodies[what] = body{personal, text}
	return text, nil
}
