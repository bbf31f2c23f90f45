package payments

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/due"
)

// The first call to the processor about an operation.
const (
	sendFirst   = true  // the request was just recorded
	lookUpFirst = false // the request was found without an outcome: the processor may have received it
)

// operationInFlight is an operation on which this process works until its outcome is recorded or no
// caller waits. If it ends without an outcome, its next look-up is in the schedule. An operation is
// in flight at most once in a process. Between processes, the operation's key at the processor and
// the compare-and-swap on the outcome prevent a second effect.
type operationInFlight struct {
	key        domain.OperationKey
	revision   uint64
	deadline   due.Time                      // when callers stop waiting
	tip        eventstore.Tip[payment.State] // owned by the operation's goroutine
	hasCallers bool                          // callers may wait until the deadline; guarded by inFlightOperations.mu
	tries
	lookedUp  bool // the newest answer is that of a look-up
	logFailed bool // the newest try failed because of the log, or was skipped after such failures

	answered chan struct{} // closed when callers can be answered
	ended    chan struct{} // closed when the operation is no longer in flight
	wake     chan struct{} // holds one signal: ask again now
	once     sync.Once
	mu       sync.Mutex
	state    payment.State // the answer to callers
	next     time.Time     // of the next look-up, by the process's own clock; zero during a look-up
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

// processor returns the processor of the operation, which never changes.
func (f *operationInFlight) processor() processor.Name {
	op, _ := f.newest().Operation(f.revision)
	return op.Target.Processor
}

// nextLookup returns the time of the next look-up; zero: a look-up is under way.
func (f *operationInFlight) nextLookup() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next
}

func (f *operationInFlight) setNext(t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = t
}

// inFlightOperations are the operations in flight in this process, and its schedule.
type inFlightOperations struct {
	mu          sync.Mutex
	byKey       map[domain.OperationKey]*operationInFlight
	scheduled   *schedule // mu is locked before schedule.mu
	logFailures logFailures
}

func newInFlightOperations() inFlightOperations {
	return inFlightOperations{
		byKey: map[domain.OperationKey]*operationInFlight{}, scheduled: newSchedule(), logFailures: logFailures{tried: map[logPlace]domain.OperationKey{}},
	}
}

// join returns the operation in flight. fresh reports that the caller must start it. The schedule
// has no look-up of an operation in flight, also none that has become due: moveToSchedule adds the
// next one.
func (fs *inFlightOperations) join(f *operationInFlight) (joined *operationInFlight, fresh bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.scheduled.drop(f.key)
	if existing, ok := fs.byKey[f.key]; ok {
		existing.hasCallers = existing.hasCallers || f.hasCallers
		return existing, false
	}
	fs.byKey[f.key] = f
	return f, true
}

func (fs *inFlightOperations) find(key domain.OperationKey) *operationInFlight {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.byKey[key]
}

// endFlight ends an operation's flight. A repeated call does nothing.
func (fs *inFlightOperations) endFlight(f *operationInFlight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.endFlightLocked(f)
}

func (fs *inFlightOperations) endFlightLocked(f *operationInFlight) {
	if fs.byKey[f.key] == f {
		delete(fs.byKey, f.key)
		close(f.ended)
	}
}

// moveToSchedule schedules the next look-up, wait from now, and ends the flight. If a caller waits,
// it does neither and returns false.
func (fs *inFlightOperations) moveToSchedule(f *operationInFlight, now time.Time, wait time.Duration) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	select {
	case <-f.answered:
	default:
		if f.hasCallers && !f.deadline.Over(now) {
			return false
		}
	}
	l := lookupOf(f.tip.State, f.revision)
	l.tries, l.next = f.tries, time.Now().Add(wait)
	select {
	case <-f.wake:
		l.next = time.Now()
	default:
	}
	fs.scheduled.add(l)
	fs.endFlightLocked(f)
	return true
}

// schedule adds a look-up to the schedule, in the place of an earlier one of the same operation. It
// adds none about an operation in flight: moveToSchedule adds the next one, and would not replace a
// look-up that has become due meanwhile.
func (fs *inFlightOperations) schedule(l *lookup) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.byKey[l.key] == nil {
		fs.scheduled.replace(l)
	}
}

func (fs *inFlightOperations) lookUpNow(key domain.OperationKey) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.byKey[key]; f != nil {
		due.Signal(f.wake)
		return
	}
	fs.scheduled.hurry(key, time.Now())
}

func (fs *inFlightOperations) hasCallers(f *operationInFlight) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return f.hasCallers
}

func (fs *inFlightOperations) all() []*operationInFlight {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return slices.Collect(maps.Values(fs.byKey))
}

// launch starts an open operation, or joins it if it is in flight. Its callers stop waiting one
// payment timeout after its request. A clock that is set back does not extend that time.
func (s *Payments) launch(tip eventstore.Tip[payment.State], revision uint64, send bool) *operationInFlight {
	op, _ := tip.State.Operation(revision)
	return s.launchUntil(tip, revision, send, s.timeoutOf(op))
}

func (s *Payments) timeoutOf(op payment.Operation) due.Time {
	return due.At(s.Store.Now(), op.RequestedAt, op.RequestedAt.Add(s.PaymentTimeout))
}

// fromNow returns the end of a payment timeout that begins now.
func (s *Payments) fromNow() due.Time { return due.In(s.Store.Now(), s.PaymentTimeout) }

func (s *Payments) launchUntil(tip eventstore.Tip[payment.State], revision uint64, send bool, deadline due.Time) *operationInFlight {
	f, fresh := s.inFlight.join(newInFlight(tip, revision, deadline, true))
	if fresh {
		s.Go(func() {
			defer s.inFlight.endFlight(f)
			s.callUntilDone(s.Life, f, send)
		})
	}
	return f
}

func newInFlight(tip eventstore.Tip[payment.State], revision uint64, deadline due.Time, hasCallers bool) *operationInFlight {
	return &operationInFlight{
		key: tip.State.OperationKey(revision), revision: revision, tip: tip, state: tip.State, deadline: deadline, hasCallers: hasCallers,
		answered: make(chan struct{}), ended: make(chan struct{}), wake: make(chan struct{}, 1),
	}
}

// launchRequested starts the operation that the newest event requested; nil: it requested none.
// Callers wait for it until deadline. If deadline is over, they wait until one payment timeout
// after its request.
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

// timeOutGrace is how long callers wait past their deadline for the time-out to be recorded: their
// answer equals a later read.
const timeOutGrace = time.Second

// await returns the payment when the operation has an answer, the deadline is timeOutGrace ago, or
// the service drains. It ignores the end of ctx: the caller may be gone, the work continues.
func (s *Payments) await(ctx context.Context, f *operationInFlight, deadline due.Time) payment.State {
	defer commands.AsideLater(ctx)()
	select {
	case <-f.answered:
		return f.newest()
	case <-time.After(deadline.Left(s.Store.Now()) + timeOutGrace):
	case <-s.Draining:
	case <-s.Life.Done():
	}
	return f.newest().Unanswered()
}

// callUntilDone calls the processor until the operation has an outcome or no caller waits; then it
// moves the operation to the schedule. An operation that the answer requests has a goroutine of its
// own, and callers wait for it, too.
func (s *Payments) callUntilDone(ctx context.Context, f *operationInFlight, send bool) {
	for ; ; send = lookUpFirst {
		f.setNext(time.Time{})
		tried := s.try(ctx, f, send)
		if tried == hasOutcome {
			s.answer(f)
			return
		}
		if ctx.Err() != nil {
			return
		}
		now := s.Store.Now()
		if tried == noAnswer && !f.logFailed && f.deadline.Over(now) {
			s.timedOut(ctx, f)
		}
		wait := f.tries.wait(f.logFailed)
		if s.inFlight.moveToSchedule(f, now, wait) {
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

// tried is the result of one call to a processor.
type tried int

const (
	noAnswer   tried = iota // or its answer counts as none
	noOutcome               // the answer is known, and the operation is still open, or the answer was not recorded
	hasOutcome              // of the operation; it is recorded
)

// try calls the processor once and records its answer. While the log takes no events, a try without
// send calls no processor and sets f.logFailed.
func (s *Payments) try(ctx context.Context, f *operationInFlight, send bool) tried {
	op, _ := f.tip.State.Operation(f.revision)
	place := logPlace{f.tip.Recorded.Shard, op.Target.Processor}
	if !send {
		f.logFailed = s.Store.Accepts(f.tip.Recorded.Key) != nil ||
			!s.inFlight.hasCallers(f) && !s.inFlight.logFailures.startTry(place, f.key)
		if f.logFailed {
			return noAnswer
		}
	}
	f.logFailed = false
	defer func() { s.inFlight.logFailures.finishTry(place, f.key, f.logFailed) }()
	attempt, cancel := context.WithTimeout(ctx, s.callTimeout(f))
	answer, known := s.callProcessor(attempt, f, send)
	cancel()
	if !known {
		return noAnswer
	}
	return s.record(ctx, f, answer)
}

// answer starts the operation that the processor's answer requested, waits for it, and then answers
// the callers. The two operations share one payment timeout (D8). Without callers, answer waits
// only for an operation at the same processor, which bounds the calls to it: an operation at
// another processor may hang, and would occupy a look-up here.
func (s *Payments) answer(f *operationInFlight) {
	f.publish(f.tip.State, false)
	next := s.launchRequested(f.tip, f.deadline)
	if next == nil || next == f || !s.inFlight.hasCallers(f) && next.processor() != f.processor() {
		f.publish(f.tip.State, true)
		return
	}
	select {
	case <-next.answered:
		f.publish(next.newest(), true)
	case <-s.Life.Done():
	}
}
