package position

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/codec"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/format"
)

const (
	// look is the time between two looks whether a record is due.
	look = 250 * time.Millisecond
	// defaultEvents and defaultAfter are the values of Position.Events and Position.After.
	defaultEvents = 1024
	defaultAfter  = time.Minute
	// tries bounds the records that one Save tries to write: each conflict is a record of another
	// node.
	tries = 4

	schema = 1
)

// Stream is the part of deliverylog.Stream that stores positions.
type Stream interface {
	Put(ctx context.Context, name string, expected uint64, body []byte, open bool) (uint64, error)
	Last(ctx context.Context, name string) (deliverylog.Record, error)
	Known(name string) (deliverylog.Record, error)
}

type record struct {
	Schema int      `json:"schema"`
	Log    []uint64 `json:"log"` // per shard: the address of the last event that the reader is done with
}

// Position is the position of one reader.
type Position struct {
	Places
	// Events and After bound how far the stored position is behind, in events that were advanced
	// past, and in time. Set them before Run.
	Events int
	After  time.Duration

	name   string
	stream Stream

	saving sync.Mutex // held during a save
	stored stored
	mine   uint64    // place of the newest record that this process wrote
	since  time.Time // when this process's position was first seen to be ahead of the stored one; zero: it is not
}

// stored is the newest record that this process knows.
type stored struct {
	place uint64 // 0: there is none
	log   []uint64
}

// Open returns the position of a reader. If no record has it, its addresses are 0.
func Open(ctx context.Context, s Stream, reader string, shards int) (*Position, error) {
	p := &Position{Events: defaultEvents, After: defaultAfter, name: deliverylog.PositionName(reader), stream: s}
	p.addresses = make([]uint64, shards)
	err := p.note(s.Last(ctx, p.name))
	if err == nil {
		p.addresses = slices.Clone(p.stored.log)
	}
	return p, err
}

// Parse returns the addresses in the record of a position.
func Parse(r deliverylog.Record) ([]uint64, error) {
	var found record
	if err := codec.Unmarshal(r.Body, &found); err != nil {
		return nil, err
	}
	if found.Schema > schema {
		return nil, fmt.Errorf("%w: schema %d, known is %d", format.ErrNewerSchema, found.Schema, schema)
	}
	return found.Log, nil
}

// note takes the result of a look-up of the newest record.
func (p *Position) note(r deliverylog.Record, err error) error {
	log := make([]uint64, len(p.addresses))
	if errors.Is(err, eventstore.ErrNotFound) {
		r, err = deliverylog.Record{}, nil
	}
	if err == nil && r.Seq == p.stored.place && p.stored.log != nil {
		return nil
	}
	if err == nil && r.Seq > 0 {
		if log, err = Parse(r); err == nil && len(log) != len(p.addresses) {
			err = fmt.Errorf("it is of a log with %d shards, not %d", len(log), len(p.addresses))
		}
	}
	if err != nil {
		return fmt.Errorf("eventstore: %s: %w", p.name, err)
	}
	p.stored, p.since = stored{r.Seq, log}, time.Time{}
	p.restart()
	return nil
}

// Save writes the position if it is ahead of the newest record, and returns the stored position.
// That one may be ahead of this process's own in some shards: another node has written it. A
// failure does no harm: the next call tries again.
func (p *Position) Save(ctx context.Context) ([]uint64, error) {
	p.saving.Lock()
	defer p.saving.Unlock()
	return p.save(ctx)
}

func (p *Position) save(ctx context.Context) ([]uint64, error) {
	for range tries {
		if err := p.note(p.stream.Known(p.name)); err != nil {
			return p.stored.log, err
		}
		log, ahead := p.ahead()
		if !ahead {
			break
		}
		body, err := codec.Marshal(record{Schema: schema, Log: log})
		if err != nil {
			return p.stored.log, err
		}
		place, err := p.stream.Put(ctx, p.name, p.stored.place, body, true)
		if errors.Is(err, eventstore.ErrConflict) {
			continue
		}
		if err != nil {
			return p.stored.log, fmt.Errorf("eventstore: %s: %w", p.name, err)
		}
		p.mine = place
		p.stored, p.since = stored{place, log}, time.Time{}
		p.restart()
		break
	}
	return p.stored.log, nil
}

// ahead returns this process's addresses, and whether they may follow the stored ones: none is
// earlier, and they are not the same.
func (p *Position) ahead() (log []uint64, ahead bool) {
	log = p.At()
	for shard, stored := range p.stored.log {
		if log[shard] < stored {
			return log, false
		}
		ahead = ahead || log[shard] > stored
	}
	return log, ahead
}

// saveIfDue saves the position if a record is due.
func (p *Position) saveIfDue(ctx context.Context) error {
	p.saving.Lock()
	defer p.saving.Unlock()
	if err := p.note(p.stream.Known(p.name)); err != nil {
		return err
	}
	if _, ahead := p.ahead(); !ahead {
		p.since = time.Time{}
		return nil
	}
	if p.since.IsZero() {
		p.since = time.Now()
	}
	factor := 1
	if p.mine != p.stored.place {
		factor = 2
	}
	if p.events() < factor*p.Events && time.Since(p.since) < time.Duration(factor)*p.After {
		return nil
	}
	_, err := p.save(ctx)
	return err
}

// Run saves the position when a record is due, until ctx ends. It calls looked after each look.
func (p *Position) Run(ctx context.Context, looked func(error)) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			looked(p.saveIfDue(ctx))
		}
	}
}
