package commands

import (
	"context"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/eventstore"
	"payledger/eventstore/due"
)

// How an operation is taken up.
const (
	sendFirst = true  // it was recorded just now
	askFirst  = false // it was found without an outcome: the processor may have it
)

// inFlight is one operation while this process works on it: until its outcome is recorded, or, without one, until no
// caller waits for it any more. Then the agenda asks about it, each question being a flight of its own. Within a
// process an operation flies once at a time; between processes the processor's key and the compare-and-swap on the
// outcome see to it.
type inFlight struct {
	key      domain.OperationKey
	revision uint64
	deadline due.Time                      // when the payment timeout of the operation ends
	tip      eventstore.Tip[payment.State] // owned by the flight's goroutine
	asked    int                           // questions without an answer
	awaited  bool                          // callers may wait until the deadline; guarded by flights.mu

	answered chan struct{} // closed when callers need wait no longer
	ended    chan struct{} // closed when the flight has ended
	wake     chan struct{} // holds one signal: look again now
	once     sync.Once
	mu       sync.Mutex
	state    payment.State // what callers are answered
	next     time.Time     // when the processor is asked next, by the process's own clock; zero while it is being asked
}

// publish tells the callers the newest state; landed says that they need wait no longer.
func (f *inFlight) publish(state payment.State, answered bool) {
	f.mu.Lock()
	f.state = state
	f.mu.Unlock()
	if answered {
		f.once.Do(func() { close(f.answered) })
	}
}

// giveUpWaiting lets callers go at the payment timeout who still wait, because the answer could not be recorded.
func (f *inFlight) giveUpWaiting() {
	select {
	case <-f.answered:
	default:
		f.publish(f.tip.State.Unanswered(), true)
	}
}

func (f *inFlight) newest() payment.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// asksNext returns the time of the next question; zero: it is being asked now.
func (f *inFlight) asksNext() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next
}

func (f *inFlight) setNext(t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = t
}

// inFlightOperations are the operations under way in this process, and those that it asks about later.
type inFlightOperations struct {
	mu     sync.Mutex
	by     map[domain.OperationKey]*inFlight
	agenda *agenda // locked inside mu
}

func newInFlightOperations() inFlightOperations {
	return inFlightOperations{by: map[domain.OperationKey]*inFlight{}, agenda: newAgenda()}
}

// join returns the operation's flight. fresh reports that it is new: the caller must start it.
func (fs *inFlightOperations) join(f *inFlight) (joined *inFlight, fresh bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if under, ok := fs.by[f.key]; ok {
		under.awaited = under.awaited || f.awaited
		return under, false
	}
	fs.by[f.key] = f
	fs.agenda.drop(f.key)
	return f, true
}

func (fs *inFlightOperations) find(key domain.OperationKey) *inFlight {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.by[key]
}

// leave ends a flight; again, it does nothing.
func (fs *inFlightOperations) leave(f *inFlight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.remove(f)
}

// remove ends a flight; the caller holds mu.
func (fs *inFlightOperations) remove(f *inFlight) {
	if fs.by[f.key] == f {
		delete(fs.by, f.key)
		close(f.ended)
	}
}

// park ends a flight for which nobody waits, and puts its next question into the agenda. False: somebody waits.
func (fs *inFlightOperations) park(f *inFlight, now time.Time) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	select {
	case <-f.answered:
	default:
		if f.awaited && !f.deadline.Over(now) {
			return false
		}
	}
	e := nextQuestion(f, time.Now())
	select {
	case <-f.wake:
		e.next = time.Now()
	default:
	}
	fs.agenda.add(e)
	fs.remove(f)
	return true
}

// lookAgain asks about an operation of this process now: it may have its outcome.
func (fs *inFlightOperations) lookAgain(key domain.OperationKey) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.by[key]; f != nil {
		select {
		case f.wake <- struct{}{}:
		default:
		}
		return
	}
	fs.agenda.hurry(key, time.Now())
}

// awaits reports whether callers may wait for a flight.
func (fs *inFlightOperations) awaits(f *inFlight) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return f.awaited
}

// all lists the operations under way.
func (fs *inFlightOperations) all() []*inFlight {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	list := make([]*inFlight, 0, len(fs.by))
	for _, f := range fs.by {
		list = append(list, f)
	}
	return list
}

// launch starts an open operation of a payment, or joins it when it is under way here. Its payment timeout begins
// when it was requested; a clock that was set back since does not make it longer.
func (s *Service) launch(tip eventstore.Tip[payment.State], revision uint64, send bool) *inFlight {
	op, _ := tip.State.Operation(revision)
	return s.launchUntil(tip, revision, send, s.timeoutOf(op))
}

// timeoutOf returns when the payment timeout of an operation ends.
func (s *Service) timeoutOf(op payment.Operation) due.Time {
	return due.At(s.Store.Now(), op.RequestedAt, op.RequestedAt.Add(s.PaymentTimeout))
}

// fromNow returns when a payment timeout ends that begins now.
func (s *Service) fromNow() due.Time { return due.In(s.Store.Now(), s.PaymentTimeout) }

func (s *Service) launchUntil(tip eventstore.Tip[payment.State], revision uint64, send bool, deadline due.Time) *inFlight {
	f, fresh := s.inFlight.join(newInFlight(tip, revision, deadline, true))
	if fresh {
		s.workers.do(func() {
			defer s.inFlight.leave(f)
			s.drive(s.ctx, f, send)
		})
	}
	return f
}

func newInFlight(tip eventstore.Tip[payment.State], revision uint64, deadline due.Time, awaited bool) *inFlight {
	return &inFlight{
		key: tip.State.OperationKey(revision), revision: revision, tip: tip, state: tip.State, deadline: deadline, awaited: awaited,
		answered: make(chan struct{}), ended: make(chan struct{}), wake: make(chan struct{}, 1),
	}
}

// launchRequested starts the operation that the newest event requested, if it did. Its payment timeout ends at the
// deadline of those who wait for it; nobody does after that, and then it is the operation's own.
func (s *Service) launchRequested(tip eventstore.Tip[payment.State], deadline due.Time) *inFlight {
	op, requested := process.Requested(tip.State)
	switch {
	case !requested:
		return nil
	case !deadline.Over(s.Store.Now()):
		return s.launchUntil(tip, op.Revision, sendFirst, deadline)
	}
	return s.launch(tip, op.Revision, sendFirst)
}

// timeOutGrace is how long callers wait at their deadline until the time-out is recorded, so that they are answered
// what a read then shows. Only a store in trouble takes as long.
const timeOutGrace = time.Second

// await gives the payment as it stands when the operation has an answer or its time-out is recorded, or when the
// service drains. It does not end with the caller's context: the caller may be gone, the work is not.
func (s *Service) await(ctx context.Context, f *inFlight, deadline due.Time) payment.State {
	defer asideLater(ctx)()
	late := time.NewTimer(deadline.Left(s.Store.Now()) + timeOutGrace)
	defer late.Stop()
	select {
	case <-f.answered:
		return f.newest()
	case <-late.C:
	case <-s.drain:
	case <-s.ctx.Done():
	}
	return f.newest().Unanswered()
}

// drive takes one operation to its outcome, or as far as it gets while callers wait; then it parks the operation. What
// its answer requested in turn (another processor, a capture, a void) flies on its own; callers wait for that too.
func (s *Service) drive(ctx context.Context, f *inFlight, send bool) {
	for ; ; f.asked++ {
		f.setNext(time.Time{})
		attempt, cancel := context.WithTimeout(ctx, s.patience(f))
		answer, known := s.callProcessor(attempt, f, send)
		cancel()
		if known {
			ended, unknown := s.record(ctx, f, answer)
			if ended {
				s.release(f)
				return
			}
			known = !unknown
		}
		if ctx.Err() != nil {
			return
		}
		now := s.Store.Now()
		if !known && f.deadline.Over(now) {
			s.timedOut(ctx, f)
		}
		if s.inFlight.park(f, now) {
			f.giveUpWaiting()
			return
		}
		if s.rest(ctx, f, min(process.NextInterval(f.asked), max(0, f.deadline.Left(now)))) != nil {
			return
		}
		send = askFirst
	}
}

// release lets the callers go, after what the outcome requested in turn has landed. Callers wait for both no longer than
// for one: while they do, the second's payment timeout is the first's (D8).
func (s *Service) release(f *inFlight) {
	f.publish(f.tip.State, false)
	if next := s.launchRequested(f.tip, f.deadline); next != nil && next != f {
		select {
		case <-next.answered:
			f.publish(next.newest(), true)
		case <-s.ctx.Done():
		}
		return
	}
	f.publish(f.tip.State, true)
}

// rest waits for the next question; a wake-up or the end of ctx ends it.
func (s *Service) rest(ctx context.Context, f *inFlight, d time.Duration) error {
	f.setNext(time.Now().Add(d))
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-f.wake:
	case <-t.C:
	}
	return nil
}
