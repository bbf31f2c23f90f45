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
	// questionsAtOnce limits the concurrent questions to one processor: a silent one holds no more goroutines.
	questionsAtOnce = 8
	// agendaRoom is the most operations of one processor in the agenda, about 1 MB. Package pending finds the others.
	agendaRoom = 4096
)

// question is the next question to a processor about one operation, or about an action that its customer abandoned.
type question struct {
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

func questionAbout(p payment.State, revision uint64) *question {
	op, _ := p.Operation(revision)
	return &question{
		key: p.OperationKey(revision), payment: p.ID, account: p.Account, revision: revision, processor: op.Target.Processor,
		kind: op.Kind, state: op.State,
	}
}

// agenda holds the process's next questions without a goroutine for each. It holds no question whose interval is
// LastInterval, except after a failure of the log, and at most agendaRoom for each processor. Package pending finds the others in the views.
type agenda struct {
	mu      sync.Mutex
	byKey   map[domain.OperationKey]*question
	queues  map[processor.Name]*processorQueue
	changed chan struct{} // holds one signal: another question may be the next one
}

type processorQueue struct {
	order   questionHeap
	held    int // the processor's questions in the agenda
	running int // questions under way
}

func newAgenda() *agenda {
	return &agenda{byKey: map[domain.OperationKey]*question{}, queues: map[processor.Name]*processorQueue{}, changed: make(chan struct{}, 1)}
}

// queue returns a processor's queue. The caller holds mu.
func (a *agenda) queue(name processor.Name) *processorQueue {
	queue := a.queues[name]
	if queue == nil {
		queue = &processorQueue{}
		a.queues[name] = queue
	}
	return queue
}

// After mostFailures log failures in a row (7 to 10 minutes) a question at the longest interval leaves the agenda. A damaged shard does not
// heal before a restart, and its questions would take the room of others.
const mostFailures = 300

// add adds a question, unless the agenda is full or the interval is LastInterval: package pending then finds it.
func (a *agenda) add(q *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.addLocked(q)
}

func (a *agenda) addLocked(q *question) {
	queue := a.queue(q.processor)
	rare := (q.failures == 0 || q.failures > mostFailures) && process.NextInterval(q.asked) >= process.LastInterval
	if a.byKey[q.key] != nil || queue.held >= agendaRoom || rare {
		return
	}
	queue.held++
	a.byKey[q.key] = q
	heap.Push(&queue.order, q)
	due.Signal(a.changed)
}

// replace adds a question in the place of an earlier one about the same operation.
func (a *agenda) replace(q *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dropLocked(q.key)
	a.addLocked(q)
}

// dropOld removes a question unless another one about its operation has replaced it.
func (a *agenda) dropOld(q *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byKey[q.key] == q {
		a.dropLocked(q.key)
	}
}

func (a *agenda) drop(key domain.OperationKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dropLocked(key)
}

func (a *agenda) dropLocked(key domain.OperationKey) {
	q := a.byKey[key]
	if q == nil {
		return
	}
	delete(a.byKey, key)
	queue := a.queue(q.processor)
	queue.held--
	if q.heapIndex >= 0 {
		heap.Remove(&queue.order, q.heapIndex)
	}
}

func (a *agenda) hurry(key domain.OperationKey, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.byKey[key]; q != nil && q.heapIndex >= 0 && q.next.After(now) {
		q.next = now
		heap.Fix(&a.queue(q.processor).order, q.heapIndex)
		due.Signal(a.changed)
	}
}

func (a *agenda) has(key domain.OperationKey) bool {
	_, known := a.find(key)
	return known
}

func (a *agenda) find(key domain.OperationKey) (question, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.byKey[key]; q != nil {
		return *q, true
	}
	return question{}, false
}

func (a *agenda) all() []question {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]question, 0, len(a.byKey))
	for _, q := range a.byKey {
		list = append(list, *q)
	}
	return list
}

// start returns the due questions to ask now, and the time of the next question; zero: there is none, or its processor is busy. Each
// question must be ended with done.
func (a *agenda) start(now time.Time) (ready []*question, next time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, queue := range a.queues {
		for len(queue.order) > 0 && queue.running < questionsAtOnce {
			if first := queue.order[0].next; first.After(now) {
				if next.IsZero() || first.Before(next) {
					next = first
				}
				break
			}
			q := heap.Pop(&queue.order).(*question)
			q.heapIndex = -1
			queue.running++
			ready = append(ready, q)
		}
	}
	return ready, next
}

// done makes room for another question to the processor.
func (a *agenda) done(q *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue(q.processor).running--
	due.Signal(a.changed)
}

func (s *Payments) keepAgenda() {
	a := s.inFlight.agenda
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.Life.Done():
			return
		case <-a.changed:
		case <-timer.C:
		}
		ready, next := a.start(time.Now())
		for _, q := range ready {
			s.Go(func() {
				defer a.done(q)
				s.askScheduled(s.Life, q)
			})
		}
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}

func (s *Payments) askScheduled(ctx context.Context, q *question) {
	if s.Store.Accepts(eventstore.Payments.Key(q.account, string(q.payment))) != nil {
		s.retry(q, true)
		return
	}
	tip, err := s.Log.Payments.Load(ctx, q.account, q.payment, eventstore.AllowStale)
	if err != nil || tip.Recorded == nil || tip.Recorded.Revision < q.revision { // the log fails, or a replica lags
		s.retry(q, err == nil || logFailed(err))
		return
	}
	op, _ := tip.State.Operation(q.revision)
	switch {
	case op.State.Open():
		s.ask(ctx, tip, q.revision, q.tries)
	case s.isAbandoned(tip.State, q.overdue) && tip.State.RequiredAction().Revision == q.revision:
		err := s.failExpiredAction(ctx, tip, q.overdue)
		if err != nil {
			s.Logger.Debug().Err(err).Str("payment", string(q.payment)).Msg("an abandoned action has no end yet")
		}
		s.retry(q, logFailed(err)) // the next question drops an ended action
	default:
		s.inFlight.agenda.dropOld(q)
	}
}

// retry schedules a question again. logFailed reports that the log failed, and not the processor.
func (s *Payments) retry(q *question, logFailed bool) {
	again := *q
	again.next = time.Now().Add(again.wait(logFailed))
	s.inFlight.schedule(&again)
}

// ask asks once about an open operation, unless it is in flight. soFar counts the tries before this one.
func (s *Payments) ask(ctx context.Context, tip eventstore.Tip[payment.State], revision uint64, soFar tries) {
	op, _ := tip.State.Operation(revision)
	f := newInFlight(tip, revision, s.timeoutOf(op), false)
	f.tries = soFar
	if _, fresh := s.inFlight.join(f); !fresh {
		return
	}
	defer s.inFlight.endFlight(f)
	s.callUntilDone(ctx, f, askFirst)
}

type questionHeap []*question

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (o questionHeap) Len() int           { return len(o) }
func (o questionHeap) Less(i, j int) bool { return o[i].next.Before(o[j].next) }
func (o questionHeap) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].heapIndex, o[j].heapIndex = i, j
}
func (o *questionHeap) Push(x any) {
	q := x.(*question)
	q.heapIndex = len(*o)
	*o = append(*o, q)
}
func (o *questionHeap) Pop() any {
	last := len(*o) - 1
	q := (*o)[last]
	(*o)[last] = nil
	*o = (*o)[:last]
	return q
}
