package modeltest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/format"
)

// The tests' own aggregate counts operations.
type (
	// tally folds the operations in their order.
	tally struct {
		Count  int64  `json:"count"`
		Last   int64  `json:"last"`
		Digest uint64 `json:"digest"`
	}
	// counted is an operation that took place.
	counted struct {
		Op  int64  `json:"op"`
		Saw tally  `json:"saw"` // the sums at the decision
		Pad string `json:"pad,omitempty"`
	}
)

func (counted) Type() string { return "tally.counted" }

func fold(s tally, e counted) tally {
	return tally{Count: s.Count + 1, Last: e.Op, Digest: s.Digest*1_000_003 + uint64(e.Op)}
}

var tallies = format.NewAggregate("tally", 1, []counted{{}}, fold)

const owner domain.AccountID = "acct"

func keyOf(id string) eventstore.Key { return tallies.Key(owner, id) }

// kind is the kind of an operation.
type kind string

const (
	claim kind = "claim" // to be the first; refused if the aggregate exists
	add   kind = "add"   // to be counted
	even  kind = "even"  // to be counted after an even number of others; else there is nothing to do
	load  kind = "load"  // to see the aggregate
	fresh kind = "fresh" // to see it with all that was acknowledged
)

var kinds = []kind{claim, add, add, even, load, fresh}

// operation is one call. Ends is after how many answers of its burst the caller stops waiting;
// below 0 it waits.
type operation struct {
	Op   int64  `json:"op"`
	Kind kind   `json:"kind"`
	ID   string `json:"id"`
	Pad  int    `json:"pad"`
	Ends int    `json:"ends"`
}

// fate is the kind of a caller's answer.
type fate string

const (
	done      fate = "done"      // the event is recorded
	taken     fate = "taken"     // refused because of the aggregate's state
	nothing   fate = "nothing"   // there was nothing to do
	seen      fate = "seen"      // the aggregate was read
	refused   fate = "refused"   // nothing was recorded
	contended fate = "contended" // nothing was recorded: others came first, again and again
	unknown   fate = "unknown"   // it may be recorded or not
)

// place is an event as its reader was given it; the zero value is no event.
type place struct {
	Shard    int             `json:"shard"`
	Address  uint64          `json:"address"`
	Number   uint64          `json:"number"`
	Revision uint64          `json:"revision"`
	Hash     eventstore.Hash `json:"hash"`
}

func placeOf(r *eventstore.Recorded) place {
	if r == nil {
		return place{}
	}
	return place{r.Shard, r.Seq, r.Number, r.Revision, r.Hash}
}

// answer is the result of an operation: for done its event; for others, except failures, the event
// that the answer is based on.
type answer struct {
	Op    int64  `json:"op"`
	Fate  fate   `json:"fate"`
	Place place  `json:"place"`
	State tally  `json:"state"`
	Err   string `json:"err,omitempty"`
}

// sight is an event that a subscriber was given.
type sight struct {
	Reader int   `json:"reader"`
	Op     int64 `json:"op"`
	Place  place `json:"place"`
}

var errTaken = errors.New("taken")

// run carries out one operation.
func run(ctx context.Context, s *engine.Store, o operation) answer {
	key := keyOf(o.ID)
	meta, err := s.NewMeta("actor", "model")
	if err != nil {
		return answer{Op: o.Op, Fate: refused, Err: err.Error()}
	}
	event := func(saw tally) counted { return counted{Op: o.Op, Saw: saw, Pad: pad(o)} }
	var tip eventstore.Tip[tally]
	switch o.Kind {
	case claim:
		tip, err = eventstore.ExecuteNew(ctx, s, tallies, key, meta, func(saw tally) (counted, error) {
			if saw.Count > 0 {
				return counted{}, errTaken
			}
			return event(saw), nil
		})
	case add:
		tip, err = eventstore.Execute(ctx, s, tallies, key, meta, func(saw tally) (counted, error) { return event(saw), nil })
	case even:
		tip, err = countEven(ctx, s, key, meta, event)
	case load:
		tip, err = eventstore.Load(ctx, s, tallies, key, eventstore.Applied)
	case fresh:
		tip, err = eventstore.Load(ctx, s, tallies, key, eventstore.Latest)
	}
	a := answer{Op: o.Op, Fate: fateOf(o.Kind, tip.Appended, err), Place: placeOf(tip.Recorded), State: tip.State}
	if err != nil {
		a.Err = err.Error()
		if inner := errors.Unwrap(err); inner != nil {
			a.Err += ": " + inner.Error()
		}
	}
	return a
}

// maybe is an event, or none.
type maybe interface{ domain.Event }

var evens = format.NewAggregate("tally", 1, []maybe{counted{}}, func(s tally, e maybe) tally { return fold(s, e.(counted)) })

func countEven(ctx context.Context, s *engine.Store, key eventstore.Key, meta eventstore.Meta, event func(tally) counted) (eventstore.Tip[tally], error) {
	return eventstore.Execute(ctx, s, evens, key, meta, func(saw tally) (maybe, error) {
		if saw.Count%2 == 1 {
			return nil, nil
		}
		return event(saw), nil
	})
}

func fateOf(k kind, appended bool, err error) fate {
	var known *domain.Error
	switch {
	case errors.Is(err, errTaken):
		return taken
	case errors.Is(err, eventstore.ErrUnknown):
		return unknown
	case errors.As(err, &known) && known.Reason == domain.ReasonConcurrentModification:
		return contended
	case err != nil:
		return refused
	case k == load || k == fresh:
		return seen
	case appended:
		return done
	default:
		return nothing
	}
}

// pad is text that does not compress well, the same for the same operation.
func pad(o operation) string {
	random := rand.New(rand.NewPCG(uint64(o.Op), 1))
	b := make([]byte, o.Pad)
	for i := range b {
		b[i] = byte(' ' + random.IntN(95))
	}
	return string(b)
}

// burst carries out operations side by side, and reports each answer as it comes.
func burst(ctx context.Context, s *engine.Store, operations []operation, report func(answer)) {
	var mu sync.Mutex
	answers := 0
	ends := map[int][]context.CancelFunc{}
	var running sync.WaitGroup
	for _, o := range operations {
		own, cancel := context.WithCancel(ctx)
		defer cancel()
		if o.Ends == 0 {
			cancel()
		}
		mu.Lock()
		ends[o.Ends] = append(ends[o.Ends], cancel)
		mu.Unlock()
		running.Go(func() {
			a := run(own, s, o)
			mu.Lock()
			defer mu.Unlock()
			report(a)
			answers++
			for _, end := range ends[answers] {
				end()
			}
		})
	}
	running.Wait()
}

// follower reads one shard, and reports its events.
type follower struct {
	shard  int
	cancel context.CancelFunc
	ended  chan error

	mu    sync.Mutex
	last  uint64
	moved chan struct{}
}

func follow(ctx context.Context, s *engine.Store, shard int, after uint64, reader int, report func(sight)) *follower {
	own, cancel := context.WithCancel(ctx)
	f := &follower{shard: shard, cancel: cancel, ended: make(chan error, 1), last: after, moved: make(chan struct{})}
	go func() {
		f.ended <- s.Subscribe(own, shard, after, func(r *eventstore.Recorded) error {
			e, err := tallies.Event(r)
			if err != nil {
				return err
			}
			report(sight{Reader: reader, Op: e.Op, Place: placeOf(r)})
			f.mu.Lock()
			defer f.mu.Unlock()
			f.last = r.Seq
			close(f.moved)
			f.moved = make(chan struct{})
			return nil
		})
	}()
	return f
}

// finish waits until the follower has read up to the address, and ends it.
func (f *follower) finish(through uint64) error {
	defer f.cancel()
	for {
		f.mu.Lock()
		last, moved := f.last, f.moved
		f.mu.Unlock()
		if last >= through {
			return nil
		}
		select {
		case <-moved:
		case err := <-f.ended:
			return fmt.Errorf("a subscription to shard %d ended at %s before %s: %w", f.shard, at(last), at(through), err)
		}
	}
}

func at(address uint64) string {
	return fmt.Sprintf("%d.%d", format.GroupOf(address), format.FrameOf(address))
}
