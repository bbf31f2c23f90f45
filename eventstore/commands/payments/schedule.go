package payments

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/due"
)

const (
	// lookupsAtOnce limits the concurrent look-ups at one processor: a silent one holds no more
	// goroutines.
	lookupsAtOnce = 8
	// scheduleRoom is the most operations of one processor in the schedule, about 1 MB. Package
	// pending finds the others.
	scheduleRoom = 4096
)

// lookup is the next look-up of one operation at its processor, or of an action that its customer
// abandoned.
type lookup struct {
	key       domain.OperationKey
	payment   domain.PaymentID
	account   domain.AccountID
	revision  uint64 // of the operation
	processor processor.Name
	kind      processor.Kind
	state     payment.OperationState
	overdue   bool      // the action has expired at next even if the clock was set back and shows an earlier time (D7)
	next      time.Time // by the process's own clock
	heapIndex int       // -1 once it has left the heap
	tries
}

func lookupOf(p payment.State, revision uint64) *lookup {
	op, _ := p.Operation(revision)
	return &lookup{
		key: p.OperationKey(revision), payment: p.ID, account: p.Account, revision: revision, processor: op.Target.Processor,
		kind: op.Kind, state: op.State,
	}
}

// schedule holds the process's next look-ups without a goroutine for each. It holds no look-up
// whose interval is LastInterval, except after a failure of the log, and at most scheduleRoom for
// each processor. Package pending finds the others in the views.
type schedule struct {
	mu      sync.Mutex
	byKey   map[domain.OperationKey]*lookup
	queues  map[processor.Name]*processorQueue
	changed chan struct{} // holds one signal: another look-up may be the next one
}

type processorQueue struct {
	order   lookupHeap
	held    int // the processor's look-ups in the schedule
	running int // look-ups under way
}

func newSchedule() *schedule {
	return &schedule{byKey: map[domain.OperationKey]*lookup{}, queues: map[processor.Name]*processorQueue{}, changed: make(chan struct{}, 1)}
}

// queue returns a processor's queue. The caller holds mu.
func (s *schedule) queue(name processor.Name) *processorQueue {
	queue := s.queues[name]
	if queue == nil {
		queue = &processorQueue{}
		s.queues[name] = queue
	}
	return queue
}

// After mostFailures log failures in a row (7 to 10 minutes) a look-up at the longest interval
// leaves the schedule. A damaged shard does not heal before a restart, and its look-ups would take
// the room of others.
const mostFailures = 300

// add adds a look-up, unless the schedule is full or the interval is LastInterval: package pending
// then finds it.
func (s *schedule) add(l *lookup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addLocked(l)
}

func (s *schedule) addLocked(l *lookup) {
	queue := s.queue(l.processor)
	rare := (l.failures == 0 || l.failures > mostFailures) && process.NextInterval(l.asked) >= process.LastInterval
	if s.byKey[l.key] != nil || queue.held >= scheduleRoom || rare {
		return
	}
	queue.held++
	s.byKey[l.key] = l
	heap.Push(&queue.order, l)
	due.Signal(s.changed)
}

// replace adds a look-up in the place of an earlier one of the same operation.
func (s *schedule) replace(l *lookup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropLocked(l.key)
	s.addLocked(l)
}

// dropOld removes a look-up unless another one of its operation has replaced it.
func (s *schedule) dropOld(l *lookup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey[l.key] == l {
		s.dropLocked(l.key)
	}
}

func (s *schedule) drop(key domain.OperationKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropLocked(key)
}

func (s *schedule) dropLocked(key domain.OperationKey) {
	l := s.byKey[key]
	if l == nil {
		return
	}
	delete(s.byKey, key)
	queue := s.queue(l.processor)
	queue.held--
	if l.heapIndex >= 0 {
		heap.Remove(&queue.order, l.heapIndex)
	}
}

func (s *schedule) hurry(key domain.OperationKey, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.byKey[key]; l != nil && l.heapIndex >= 0 && l.next.After(now) {
		l.next = now
		heap.Fix(&s.queue(l.processor).order, l.heapIndex)
		due.Signal(s.changed)
	}
}

func (s *schedule) has(key domain.OperationKey) bool {
	_, known := s.find(key)
	return known
}

func (s *schedule) find(key domain.OperationKey) (lookup, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.byKey[key]; l != nil {
		return *l, true
	}
	return lookup{}, false
}

func (s *schedule) all() []lookup {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]lookup, 0, len(s.byKey))
	for _, l := range s.byKey {
		list = append(list, *l)
	}
	return list
}

// start returns the due look-ups to ask now, and the time of the next look-up; zero: there is none,
// or its processor is busy. Each look-up must be ended with done.
func (s *schedule) start(now time.Time) (ready []*lookup, next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, queue := range s.queues {
		for len(queue.order) > 0 && queue.running < lookupsAtOnce {
			if first := queue.order[0].next; first.After(now) {
				if next.IsZero() || first.Before(next) {
					next = first
				}
				break
			}
			l := heap.Pop(&queue.order).(*lookup)
			l.heapIndex = -1
			queue.running++
			ready = append(ready, l)
		}
	}
	return ready, next
}

// done makes room for another look-up at the processor.
func (s *schedule) done(l *lookup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue(l.processor).running--
	due.Signal(s.changed)
}

func (s *Payments) runSchedule() {
	scheduled := s.inFlight.scheduled
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.Life.Done():
			return
		case <-scheduled.changed:
		case <-timer.C:
		}
		ready, next := scheduled.start(time.Now())
		for _, l := range ready {
			s.Go(func() {
				defer scheduled.done(l)
				s.lookUpScheduled(s.Life, l)
			})
		}
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}

func (s *Payments) lookUpScheduled(ctx context.Context, l *lookup) {
	if s.Store.Accepts(eventstore.Payments.Key(l.account, string(l.payment))) != nil {
		s.retry(l, true)
		return
	}
	tip, err := s.Log.Payments.Load(ctx, l.account, l.payment, eventstore.Applied)
	if err != nil || tip.Recorded == nil || tip.Recorded.Revision < l.revision { // the log fails, or a replica lags
		s.retry(l, err == nil || logFailed(err))
		return
	}
	op, _ := tip.State.Operation(l.revision)
	switch {
	case op.State.Open():
		s.ask(ctx, tip, l.revision, l.tries)
	case s.isAbandoned(tip.State, l.overdue) && tip.State.RequiredAction().Revision == l.revision:
		err := s.failExpiredAction(ctx, tip, l.overdue)
		if err != nil {
			s.Logger.Debug().Err(err).Str("payment", string(l.payment)).Msg("an abandoned action has no end yet")
		}
		s.retry(l, logFailed(err)) // the next look-up drops an ended action
	default:
		s.inFlight.scheduled.dropOld(l)
	}
}

// retry schedules a look-up again. logFailed reports that the log failed, and not the processor.
func (s *Payments) retry(l *lookup, logFailed bool) {
	again := *l
	again.next = time.Now().Add(again.wait(logFailed))
	s.inFlight.schedule(&again)
}

// ask asks once about an open operation, unless it is in flight. soFar counts the tries before this
// one.
func (s *Payments) ask(ctx context.Context, tip eventstore.Tip[payment.State], revision uint64, soFar tries) {
	op, _ := tip.State.Operation(revision)
	f := newInFlight(tip, revision, s.timeoutOf(op), false)
	f.tries = soFar
	if _, fresh := s.inFlight.join(f); !fresh {
		return
	}
	defer s.inFlight.endFlight(f)
	s.callUntilDone(ctx, f, lookUpFirst)
}

type lookupHeap []*lookup

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (o lookupHeap) Len() int           { return len(o) }
func (o lookupHeap) Less(i, j int) bool { return o[i].next.Before(o[j].next) }
func (o lookupHeap) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].heapIndex, o[j].heapIndex = i, j
}
func (o *lookupHeap) Push(x any) {
	l := x.(*lookup)
	l.heapIndex = len(*o)
	*o = append(*o, l)
}
func (o *lookupHeap) Pop() any {
	last := len(*o) - 1
	l := (*o)[last]
	(*o)[last] = nil
	*o = (*o)[:last]
	return l
}
