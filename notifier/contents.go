package notifier

import (
	"context"
	"encoding/json"
	"reflect"
	"sync"

	"payledger/domain"
	"payledger/eventstore"
)

const (
	// contentsKept is how many events are remembered: enough for those that are being sent.
	contentsKept = 2048
	// contentsBytes bounds the size of their bodies in the log. What is rendered of an event is about as large.
	contentsBytes = 16 << 20
)

// spot is an event's place in the log.
type spot struct {
	shard int
	seq   uint64
}

// contents remembers the newest events that were planned, and what was rendered of them: an event is not read from
// the log again, and its body is made once for all endpoints. What is not remembered is read.
type contents struct {
	store *eventstore.Store

	mu     sync.Mutex
	bySpot map[spot]*content
	ring   []spot // in the order in which they came; a place is used again
	next   int    // the oldest, and the next to be used
	bytes  int    // of the events' bodies
}

func newContents(s *eventstore.Store) *contents {
	return &contents{store: s, bySpot: map[spot]*content{}, ring: make([]spot, contentsKept)}
}

// put remembers an event.
func (c *contents) put(r *eventstore.Recorded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(&content{recorded: r})
}

// keep remembers in place of the oldest; the caller holds the lock.
func (c *contents) keep(fresh *content) {
	at := spot{fresh.recorded.Shard, fresh.recorded.Seq}
	if c.bySpot[at] != nil {
		return
	}
	c.drop(c.next)
	c.bySpot[at], c.ring[c.next] = fresh, at
	c.bytes += len(fresh.recorded.Body)
	c.next = (c.next + 1) % len(c.ring)
	for oldest := c.next; c.bytes > contentsBytes && len(c.bySpot) > 1; oldest = (oldest + 1) % len(c.ring) {
		c.drop(oldest)
	}
}

// drop forgets what a place of the ring holds; the caller holds the lock.
func (c *contents) drop(place int) {
	if old := c.bySpot[c.ring[place]]; old != nil {
		c.bytes -= len(old.recorded.Body)
		delete(c.bySpot, c.ring[place])
	}
	c.ring[place] = spot{}
}

// of gives the event at a place in the log.
func (c *contents) of(ctx context.Context, shard int, seq uint64) (*content, error) {
	c.mu.Lock()
	known := c.bySpot[spot{shard, seq}]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	r, err := c.store.Read(ctx, shard, seq)
	if err != nil {
		return nil, err
	}
	return &content{recorded: r}, nil // not kept: retries and replays come once each, and would push out what is new
}

// rendering is what a body depends on besides the event and the personal data.
type rendering struct {
	kind   Kind
	first6 bool
}

// content is one event with the bodies that were made of it.
type content struct {
	recorded *eventstore.Recorded

	mu     sync.Mutex
	bodies map[rendering]body
}

// body is what was rendered, with the personal data in it.
type body struct {
	personal domain.Personal
	json     []byte
}

// rendered gives the JSON of a rendering, and makes it when it is not there or was made of other personal data.
func (c *content) rendered(what rendering, personal domain.Personal, render func() (any, error)) ([]byte, error) {
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
		c.bodies = map[rendering]body{}
	}
	c.bodies[what] = body{personal, text}
	return text, nil
}
