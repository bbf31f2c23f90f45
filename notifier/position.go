package notifier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore"
)

const (
	positionName   = "position" // of the record, beside the deliveries
	positionSchema = 1
	// positionEvery is how often the position is written at most. After a crash this much is planned
	// again, which the deliveries' names make harmless.
	positionEvery = 250 * time.Millisecond
	// deliveryPattern matches the names of deliveries, and not the position's.
	deliveryPattern = "*.*.*.*"
)

// position is all that a notifier needs to go on: every event up to Log is planned; every delivery up to
// Through is over, or stands at or after its lane's place in Open; those after Through are looked for at
// start.
type position struct {
	Schema  int        `json:"schema"`
	Log     []uint64   `json:"log"`            // per shard: the last sequence planned
	Through uint64     `json:"through"`        // in the stream of deliveries
	Open    []openLane `json:"open,omitempty"` // sorted by lane: the same position is the same bytes
}

// openLane is a lane with open deliveries.
type openLane struct {
	Lane  string `json:"lane"`
	First uint64 `json:"first"` // place of the first of them
}

// readPosition reads the newest position; a new one has planned nothing.
func readPosition(ctx context.Context, s stream, shards int) (position, error) {
	p := position{Schema: positionSchema, Log: make([]uint64, shards)}
	stored, err := s.Last(ctx, positionName)
	if errors.Is(err, eventstore.ErrNotFound) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	var found position
	err = eventstore.Unmarshal(stored.Body, &found)
	switch {
	case err != nil:
	case found.Schema > positionSchema:
		err = fmt.Errorf("%w: schema %d, known is %d", ErrNewerRecord, found.Schema, positionSchema)
	case len(found.Log) != shards:
		err = fmt.Errorf("it is of a log with %d shards, not %d", len(found.Log), shards)
	}
	if err != nil {
		return p, fmt.Errorf("notifier: position: %w", err)
	}
	return found, nil
}

// progress is how far the planner has come.
type progress struct {
	mu      sync.Mutex
	log     []uint64
	through uint64
	// shared says that other processes make deliveries as well: through is what was seen of all.
	shared bool
	// planning says that deliveries are being made durable of which no lane knows.
	planning bool
}

// begin says that deliveries are about to be planned, until advance.
func (p *progress) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.planning = true
}

// passed says that a lane's record at place is durable and known to the lane. While nothing is being planned,
// nothing before it is unknown, so that the next start need not look there.
func (p *progress) passed(place uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.planning && !p.shared {
		p.through = max(p.through, place)
	}
}

// advance moves the place behind events whose deliveries are all durable and handed to their lanes.
func (p *progress) advance(events []*eventstore.Recorded, through uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range events {
		p.log[r.Shard] = max(p.log[r.Shard], r.Seq)
	}
	if p.planning = false; !p.shared {
		p.through = max(p.through, through)
	}
}

// reached says that every record up to place, of whichever process, is known to its lane, or this process's own.
func (p *progress) reached(place uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.through = max(p.through, place)
}

func (p *progress) at() ([]uint64, uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log), p.through
}

// keeper writes the position.
type keeper struct {
	stream   stream
	progress *progress
	lanes    *lanes
	health   *health
	log      zerolog.Logger
	written  []byte
}

// run writes the position as it changes, until ctx ends.
func (k *keeper) run(ctx context.Context) {
	tick := time.NewTicker(positionEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			k.save(ctx)
		}
	}
}

// save writes the position if it changed. A failure costs nothing but work after a crash, so it is told
// and the next tick tries again.
func (k *keeper) save(ctx context.Context) {
	p := position{Schema: positionSchema}
	// The planner's place first, the lanes after: a delivery is in its lane before the place moves past it.
	p.Log, p.Through = k.progress.at()
	p.Open = k.lanes.open()
	body, err := eventstore.Marshal(p)
	if err == nil && string(body) == string(k.written) {
		return
	}
	if err == nil {
		err = k.stream.Replace(ctx, positionName, body)
	}
	if err != nil {
		if ctx.Err() == nil && k.health.set(positionName, err) {
			k.log.Error().Err(err).Msg("the notifier's position is not written")
		}
		return
	}
	k.health.clear(positionName)
	k.written = body
}
