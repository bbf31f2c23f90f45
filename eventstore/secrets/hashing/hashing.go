package hashing

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// Patience is the longest time that a caller waits for a permit.
	Patience = 2 * time.Second
	// Room is the number of known callers, and of strangers, that may wait at the same time.
	Room = 64

	restTimes   = 3 // the rest after a permit was left, in the time that its hashes took
	longestRest = 300 * time.Millisecond
	mostAsked   = 8 << 10 // remembered callers; older ones are forgotten
)

// ErrBusy is the error for a caller that found no permit in time.
var ErrBusy = errors.New("hashing: too many passwords are being checked")

// By says who asks for a permit.
type By struct {
	Who   string // callers with the same Who count as one: a network, a device, an account
	Known bool   // not a stranger
}

// The lanes.
const (
	kept   = iota // for known callers
	shared        // for all
	lanes
)

// Bound is the bound of a process. It is safe for concurrent use. The zero value is ready.
type Bound struct {
	mu      sync.Mutex
	busy    [lanes]bool
	waiting []*waiter         // in the order of their arrival
	asked   map[string]uint64 // the newest request of each Who
	request uint64
}

type waiter struct {
	known  bool
	before uint64   // the request of the same Who before this one; 0: none
	answer chan int // a lane, or refused
}

const refused = -1

// Permit is the right to hash passwords, one after the other.
type Permit struct {
	bound  *Bound
	lane   int
	hashes int
	spent  time.Duration
}

// Enter waits for a permit. The caller must leave it. The error is ErrBusy, or that of ctx.
func (b *Bound) Enter(ctx context.Context, by By) (*Permit, error) {
	b.mu.Lock()
	before := b.ask(by.Who)
	for lane := range lanes {
		if !b.busy[lane] && (by.Known || lane == shared) {
			b.busy[lane] = true
			b.mu.Unlock()
			return &Permit{bound: b, lane: lane}, nil
		}
	}
	w := &waiter{known: by.Known, before: before, answer: make(chan int, 1)}
	admitted := b.queue(w)
	b.mu.Unlock()
	if !admitted {
		return nil, ErrBusy
	}
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	var err error
	select {
	case lane := <-w.answer:
		return permitOf(b, lane)
	case <-timer.C:
		err = ErrBusy
	case <-ctx.Done():
		err = ctx.Err()
	}
	b.mu.Lock()
	index := slices.Index(b.waiting, w)
	if index >= 0 {
		b.waiting = slices.Delete(b.waiting, index, index+1)
	}
	b.mu.Unlock()
	if index < 0 { // answered at the same moment
		return permitOf(b, <-w.answer)
	}
	return nil, err
}

func permitOf(b *Bound, lane int) (*Permit, error) {
	if lane == refused {
		return nil, ErrBusy
	}
	return &Permit{bound: b, lane: lane}, nil
}

// ask notes a request, and returns the number of the one before it of the same caller.
func (b *Bound) ask(who string) (before uint64) {
	if b.asked == nil {
		b.asked = map[string]uint64{}
	}
	before = b.asked[who]
	b.request++
	b.asked[who] = b.request
	if len(b.asked) > mostAsked {
		maps.DeleteFunc(b.asked, func(_ string, request uint64) bool { return request+mostAsked/2 < b.request })
	}
	return before
}

// queue adds a waiter. If there is no room, the last one in line of its kind is refused, which may
// be the new one.
func (b *Bound) queue(w *waiter) bool {
	same, last := 0, -1
	for i, o := range b.waiting {
		if o.known != w.known {
			continue
		}
		if same++; last < 0 || o.before >= b.waiting[last].before {
			last = i
		}
	}
	if same >= Room {
		if w.before >= b.waiting[last].before {
			return false
		}
		b.waiting[last].answer <- refused
		b.waiting = slices.Delete(b.waiting, last, last+1)
	}
	b.waiting = append(b.waiting, w)
	return true
}

// free passes the lane on to the next waiting caller.
func (b *Bound) free(lane int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy[lane] = false
	next := -1
	for i, w := range b.waiting {
		if lane == kept && !w.known {
			continue
		}
		if next < 0 || w.precedes(b.waiting[next]) {
			next = i
		}
	}
	if next < 0 {
		return
	}
	w := b.waiting[next]
	b.waiting = slices.Delete(b.waiting, next, next+1)
	b.busy[lane] = true
	w.answer <- lane
}

func (w *waiter) precedes(o *waiter) bool {
	if w.known != o.known { // only in the shared lane
		return !w.known
	}
	return w.before < o.before
}

// Hash runs a function that hashes one password.
func (t *Permit) Hash(hash func()) {
	began := time.Now()
	hash()
	t.hashes++
	t.spent += time.Since(began)
}

// Leave ends the permit. The lane is free after its rest.
func (t *Permit) Leave() {
	rest := min(restTimes*t.spent, time.Duration(t.hashes)*longestRest)
	if rest <= 0 {
		t.bound.free(t.lane)
		return
	}
	time.AfterFunc(rest, func() { t.bound.free(t.lane) })
}
