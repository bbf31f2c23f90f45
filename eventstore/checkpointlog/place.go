package checkpointlog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/streams"
)

// A checkpoint is found by its number, although groups without a checkpoint stand in between: each
// group counts the records before it, and has one record at most. So a checkpoint stands not before
// the place that an earlier one's would give it without such groups, nor behind that of a later
// one. Where no such group stands between the two, both are the same place.

// placesKept is the number of places that are remembered, of 16 bytes each.
const placesKept = 4096

// place is the group of a checkpoint.
type place struct{ number, seq uint64 }

// places are some places, by number.
type places struct {
	mu  sync.Mutex
	all []place
}

func byNumber(p place, number uint64) int { return cmp.Compare(p.number, number) }

// note remembers a place. If there are too many, every second one is forgotten.
func (p *places) note(number, seq uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, known := slices.BinarySearchFunc(p.all, number, byNumber)
	if known {
		return
	}
	if p.all = slices.Insert(p.all, i, place{number, seq}); len(p.all) > placesKept {
		kept := p.all[:0]
		for i, one := range p.all {
			if i%2 == 0 {
				kept = append(kept, one)
			}
		}
		p.all = kept
	}
}

// between returns the first and the last group in which a checkpoint can be, given the newest one.
func (p *places) between(number uint64, newest place) (low, high uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, _ := slices.BinarySearchFunc(p.all, number+1, byNumber)
	before, after := place{}, newest
	if i > 0 {
		before = p.all[i-1]
	}
	if i < len(p.all) {
		after = p.all[i]
	}
	if before.number == number {
		after = before
	}
	return before.seq + (number - before.number), after.seq - (after.number - number)
}

// find returns the record of a checkpoint. ErrNotFound: the log has no such checkpoint.
func (l *Log) find(ctx context.Context, number uint64) (*format.Recorded, error) {
	newest, _, _ := l.Shard.Newest()
	if number > newest.Events { // another node may have written it
		if err := l.Shard.CatchUp(ctx); err != nil {
			return nil, err
		}
		newest, _, _ = l.Shard.Newest()
	}
	if number == 0 || number > newest.Events {
		return nil, fault.ErrNotFound
	}
	low, high := l.places.between(number, place{newest.Events, format.GroupOf(newest.Last)})
	for low <= high {
		g, err := l.Shard.Group(ctx, low+(high-low)/2)
		if err != nil {
			return nil, err
		}
		through := g.Events + uint64(len(g.Frames))
		switch {
		case through < number:
			low = g.Seq + number - through
		case g.Events >= number:
			high = g.Seq - 1 - (g.Events - number)
		default:
			l.places.note(number, g.Seq)
			return g.Frames[number-1-g.Events], nil
		}
	}
	return nil, fault.Damage(streams.Shard(streams.CheckpointShard), low, errors.New("the counts of the groups do not fit each other"))
}
