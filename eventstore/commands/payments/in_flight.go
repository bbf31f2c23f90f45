package payments

import (
	"context"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/due"
)

// The first call to the processor about an operation.
const (
	sendFirst = true  // it was just recorded
	askFirst  = false // it was found without an outcome: the processor may have received it
)

// operationInFlight is an operation on which this process works until its outcome is recorded or no caller waits. Without an
// outcome, its next question is then in the agenda. An operation is in flight at most once in a process. Between
// processes, the operation's key at the processor and the compare-and-swap on the outcome prevent a second effect.
type operationInFlight struct {
	key      domain.OperationKey
	revision uint64
	deadline due.Time                      // end of the operation's payment timeout
	tip      eventstore.Tip[payment.State] // owned by the operation's goroutine
	awaited  bool                          // callers may wait until the deadline; guarded by inFlightOperations.mu
	tries
	logFailed bool // the newest try failed at the log, or was left out because the log takes no events

	answered chan struct{} // closed when callers can be answered
	ended    chan struct{} // closed when the operation is no longer in flight
	wake     chan struct{} // holds one signal: ask again now
	once     sync.Once
	mu       sync.Mutex
	state    payment.State // the answer to callers
	next     time.Time     // of the next question, by the process's own clock; zero during a question
}

// publish sets the state for callers. answered releases them.
func (f *operationInFlight) publish(state payment.State, answered bool) {
	f.mu.Lock()
	f.state = state
	f.mu.Unlock()
	if answered {
		f.once.Do(func() { close(f.answered) })
	}
}

// giveUpWaiting releases callers at the payment timeout if the answer could not be recorded.
func (f *operationInFlight) giveUpWaiting() {
	select {
	case <-f.answered:
	default:
		f.publish(f.tip.State.Unanswered(), true)
	}
}

func (f *operationInFlight) newest() payment.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// asksNext returns the time of the next question; zero: a question is under way.
func (f *operationInFlight) asksNext() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next
}

func (f *operationInFlight) setNext(t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = t
}

// inFlightOperations are the operations in flight in this process, and its agenda.
type inFlightOperations struct {
	mu          sync.Mutex
	by          map[domain.OperationKey]*operationInFlight
	agenda      *agenda // mu is locked before agenda.mu
	logFailures logFailures
}

func newInFlightOperations() inFlightOperations {
	return inFlightOperations{
		by: map[domain.OperationKey]*operationInFlight{}, agenda: newAgenda(), logFailures: logFailures{at: map[logPlace]domain.OperationKey{}},
	}
}

// join returns the operation in flight. fresh reports that the caller must start it.
func (fs *inFlightOperations) join(f *operationInFlight) (joined *operationInFlight, fresh bool) {
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

func (fs *inFlightOperations) find(key domain.OperationKey) *operationInFlight {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.by[key]
}

// leave ends an operation's flight. A repeated call does nothing.
func (fs *inFlightOperations) leave(f *operationInFlight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.remove(f)
}

// remove is leave for a caller that holds mu.
func (fs *inFlightOperations) remove(f *operationInFlight) {
	if fs.by[f.key] == f {
		delete(fs.by, f.key)
		close(f.ended)
	}
}

// park ends the flight of an operation for which no caller waits, and adds its next question, after a wait, to the agenda. It
// returns false if a caller waits.
func (fs *inFlightOperations) park(f *operationInFlight, now time.Time, wait time.Duration) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	select {
	case <-f.answered:
	default:
		if f.awaited && !f.deadline.Over(now) {
			return false
		}
	}
	e := questionAbout(f.tip.State, f.revision)
	e.tries, e.next = f.tries, time.Now().Add(wait)
	select {
	case <-f.wake:
		e.next = time.Now()
	default:
	}
	fs.agenda.add(e)
	fs.remove(f)
	return true
}

// askNow makes the next question about an operation due now.
func (fs *inFlightOperations) askNow(key domain.OperationKey) {
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

// awaits reports whether callers may wait for f.
func (fs *inFlightOperations) awaits(f *operationInFlight) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return f.awaited
}

func (fs *inFlightOperations) all() []*operationInFlight {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	list := make([]*operationInFlight, 0, len(fs.by))
	for _, f := range fs.by {
		list = append(list, f)
	}
	return list
}

// launch starts an open operation, or joins it if it is in flight. The operation's payment timeout begins with its
// request. A clock that is set back does not extend it.
func (s *Payments) launch(tip eventstore.Tip[payment.State], revision uint64, send bool) *operationInFlight {
	op, _ := tip.State.Operation(revision)
	return s.launchUntil(tip, revision, send, s.timeoutOf(op))
}

// timeoutOf returns the end of an operation's payment timeout.
func (s *Payments) timeoutOf(op payment.Operation) due.Time {
	return due.At(s.Store.Now(), op.RequestedAt, op.RequestedAt.Add(s.PaymentTimeout))
}

// fromNow returns the end of a payment timeout that begins now.
func (s *Payments) fromNow() due.Time { return due.In(s.Store.Now(), s.PaymentTimeout) }

func (s *Payments) launchUntil(tip eventstore.Tip[payment.State], revision uint64, send bool, deadline due.Time) *operationInFlight {
	f, fresh := s.inFlight.join(newInFlight(tip, revision, deadline, true))
	if fresh {
		s.Go(func() {
			defer s.inFlight.leave(f)
			s.callUntilDone(s.Life, f, send)
		})
	}
	return f
}

func newInFlight(tip eventstore.Tip[payment.State], revision uint64, deadline due.Time, awaited bool) *operationInFlight {
	return &operationInFlight{
		key: tip.State.OperationKey(revision), revision: revision, tip: tip, state: tip.State, deadline: deadline, awaited: awaited,
		answered: make(chan struct{}), ended: make(chan struct{}), wake: make(chan struct{}, 1),
	}
}

// launchRequested starts the operation that the newest event requested; nil: it requested none. Its payment timeout
// ends at deadline; if deadline is over, one payment timeout after its request.
func (s *Payments) launchRequested(tip eventstore.Tip[payment.State], deadline due.Time) *operationInFlight {
	op, requested := process.Requested(tip.State)
	switch {
	case !requested:
		return nil
	case !deadline.Over(s.Store.Now()):
		return s.launchUntil(tip, op.Revision, sendFirst, deadline)
	}
	return s.launch(tip, op.Revision, sendFirst)
}

// timeOutGrace is how long callers wait past their deadline for the time-out to be recorded, so that their answer
// equals a later read.
const timeOutGrace = time.Second

// await returns the payment when the operation has an answer, its time-out is recorded, or the service drains. It
// ignores the end of ctx: the caller may be gone, the work continues.
func (s *Payments) await(ctx context.Context, f *operationInFlight, deadline due.Time) payment.State {
	defer commands.AsideLater(ctx)()
	late := time.NewTimer(deadline.Left(s.Store.Now()) + timeOutGrace)
	defer late.Stop()
	select {
	case <-f.answered:
		return f.newest()
	case <-late.C:
	case <-s.Draining:
	case <-s.Life.Done():
	}
	return f.newest().Unanswered()
}

// callUntilDone calls the processor until the operation has an outcome or no caller waits; then it parks the operation. An
// operation that the answer requests (at another processor, a capture, a void) is in flight by itself, and callers wait
// for it, too.
func (s *Payments) callUntilDone(ctx context.Context, f *operationInFlight, send bool) {
	for ; ; send = askFirst {
		f.setNext(time.Time{})
		ended, known := s.try(ctx, f, send)
		if ended {
			s.release(f)
			return
		}
		if ctx.Err() != nil {
			return
		}
		now := s.Store.Now()
		if !known && !f.logFailed && f.deadline.Over(now) {
			s.timedOut(ctx, f)
		}
		wait := f.tries.wait(f.logFailed)
		if s.inFlight.park(f, now, wait) {
			f.giveUpWaiting()
			return
		}
		wait = min(wait, max(0, f.deadline.Left(now)))
		f.setNext(time.Now().Add(wait))
		if due.Rest(ctx, wait, f.wake) != nil {
			return
		}
	}
}

// try calls the processor once and records its answer. ended reports that the operation has its outcome; known, that the processor's
// answer is known. While the log takes no events, try looks nothing up. It sets f.logFailed.
func (s *Payments) try(ctx context.Context, f *operationInFlight, send bool) (ended, known bool) {
	op, _ := f.tip.State.Operation(f.revision)
	at := logPlace{f.tip.Recorded.Shard, op.Target.Processor}
	if !send {
		f.logFailed = s.Store.Accepts(f.tip.Recorded.Key) != nil ||
			!s.inFlight.awaits(f) && !s.inFlight.logFailures.begin(at, f.key)
		if f.logFailed {
			return false, false
		}
	}
	f.logFailed = false
	defer func() { s.inFlight.logFailures.end(at, f.key, f.logFailed) }()
	attempt, cancel := context.WithTimeout(ctx, s.patience(f))
	answer, known := s.callProcessor(attempt, f, send)
	cancel()
	if !known {
		return false, false
	}
	ended, unknown := s.record(ctx, f, answer)
	return ended, !unknown
}

// release answers the waiting callers. If the answer requested another operation, release first waits for it. Both
// share one payment timeout (D8).
func (s *Payments) release(f *operationInFlight) {
	f.publish(f.tip.State, false)
	if next := s.launchRequested(f.tip, f.deadline); next != nil && next != f {
		select {
		case <-next.answered:
			f.publish(next.newest(), true)
		case <-s.Life.Done():
		}
		return
	}
	f.publish(f.tip.State, true)
}
