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
)

const (
	// questionsAtOnce limits the agenda's concurrent questions to one processor. A processor that does not answer holds
	// no more goroutines.
	questionsAtOnce = 8
	// agendaRoom is the number of operations of one processor that the agenda holds, about 1 MB. Package pending finds
	// the others.
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
	since     time.Time // of the request
	overdue   bool      // the action has expired at next even if the clock, set back, shows an earlier time (D7)
	next      time.Time // by the process's own clock
	place     int       // in the heap; -1 once it is due
	tries
}

func questionAbout(p payment.State, revision uint64) *question {
	op, _ := p.Operation(revision)
	return &question{
		key: p.OperationKey(revision), payment: p.ID, account: p.Account, revision: revision, processor: op.Target.Processor,
		kind: op.Kind, state: op.State, since: op.RequestedAt,
	}
}

// agenda holds the process's next questions without a goroutine for each. It holds no question whose interval is
// LastInterval, except after a failure of the log, and at most agendaRoom for each processor. Package pending finds the others in the views.
type agenda struct {
	mu      sync.Mutex
	by      map[domain.OperationKey]*question
	order   questionHeap
	queues  map[processor.Name]*processorQueue
	changed chan struct{} // holds one signal: the first question has changed
}

// processorQueue holds the due questions to one processor.
type processorQueue struct {
	held    int // the processor's questions in the agenda
	due     []*question
	running int // questions under way
}

func newAgenda() *agenda {
	return &agenda{by: map[domain.OperationKey]*question{}, queues: map[processor.Name]*processorQueue{}, changed: make(chan struct{}, 1)}
}

// queue returns a processor's queue. The caller holds mu.
func (a *agenda) queue(name processor.Name) *processorQueue {
	l := a.queues[name]
	if l == nil {
		l = &processorQueue{}
		a.queues[name] = l
	}
	return l
}

// mostFailures is how often in a row the log may fail a question that is rare anyway: about ten minutes. A damaged shard does not heal
// before a restart, and its questions would take the room of others.
const mostFailures = 300

// add adds a question, unless package pending finds it in the views.
func (a *agenda) add(e *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.addLocked(e)
}

// addLocked is add for a caller that holds mu.
func (a *agenda) addLocked(e *question) {
	l := a.queue(e.processor)
	rare := (e.failures == 0 || e.failures > mostFailures) && process.NextInterval(e.asked) >= process.LastInterval
	if a.by[e.key] != nil || l.held >= agendaRoom || rare {
		return
	}
	l.held++
	a.by[e.key] = e
	heap.Push(&a.order, e)
	a.signal()
}

// signal wakes keepAgenda. The caller holds mu.
func (a *agenda) signal() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// replace adds a question in the place of an earlier one about the same operation.
func (a *agenda) replace(e *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dropLocked(e.key)
	a.addLocked(e)
}

// dropOld removes a question unless another one about its operation has replaced it.
func (a *agenda) dropOld(e *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by[e.key] == e {
		a.dropLocked(e.key)
	}
}

// drop removes an operation's question.
func (a *agenda) drop(key domain.OperationKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dropLocked(key)
}

// dropLocked is drop for a caller that holds mu.
func (a *agenda) dropLocked(key domain.OperationKey) {
	e := a.by[key]
	if e == nil {
		return
	}
	delete(a.by, key)
	a.queue(e.processor).held--
	if e.place >= 0 {
		heap.Remove(&a.order, e.place)
	}
}

// hurry makes an operation's question due now.
func (a *agenda) hurry(key domain.OperationKey, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e := a.by[key]; e != nil && e.place >= 0 {
		e.next = now
		heap.Fix(&a.order, e.place)
		a.signal()
	}
}

func (a *agenda) has(key domain.OperationKey) bool {
	_, known := a.find(key)
	return known
}

// find returns a copy of an operation's question.
func (a *agenda) find(key domain.OperationKey) (question, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e := a.by[key]; e != nil {
		return *e, true
	}
	return question{}, false
}

// all returns copies of all questions.
func (a *agenda) all() []question {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]question, 0, len(a.by))
	for _, e := range a.by {
		list = append(list, *e)
	}
	return list
}

// moveDue moves the due questions to their queues. It returns each queue once for every further goroutine that it needs, and
// the time of the next question; zero: there is none.
func (a *agenda) moveDue(now time.Time) (start []*processorQueue, next time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.order) > 0 && !a.order[0].next.After(now) {
		e := heap.Pop(&a.order).(*question)
		e.place = -1
		l := a.queue(e.processor)
		l.due = append(l.due, e)
		if l.running < questionsAtOnce {
			l.running++
			start = append(start, l)
		}
	}
	if len(a.order) > 0 {
		next = a.order[0].next
	}
	return start, next
}

// next returns the next question of a queue; nil if there is none. The caller's goroutine must then end.
func (a *agenda) next(l *processorQueue) *question {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(l.due) > 0 {
		e := l.due[0]
		l.due[0] = nil
		if l.due = l.due[1:]; len(l.due) == 0 {
			l.due = nil // frees its array
		}
		if a.by[e.key] == e {
			return e
		}
	}
	l.running--
	return nil
}

// keepAgenda asks due questions until the service closes.
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
		start, next := a.moveDue(time.Now())
		for _, l := range start {
			s.Go(func() { s.askDue(a, l) })
		}
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}

func (s *Payments) askDue(a *agenda, l *processorQueue) {
	for e := a.next(l); e != nil; e = a.next(l) {
		s.askScheduled(s.Life, e)
	}
}

// askScheduled asks one question. The operation stays in the agenda until it has an outcome.
func (s *Payments) askScheduled(ctx context.Context, e *question) {
	if s.Store.Accepts(eventstore.Payments.Key(e.account, string(e.payment))) != nil {
		s.retry(e, true)
		return
	}
	tip, err := s.Log.Payments.Load(ctx, e.account, e.payment, eventstore.AllowStale)
	if err != nil || tip.Recorded == nil || tip.Recorded.Revision < e.revision { // the log fails, or a replica lags
		s.retry(e, err == nil || logFailed(err))
		return
	}
	op, _ := tip.State.Operation(e.revision)
	switch {
	case op.State.Open():
		s.ask(ctx, tip, e.revision, e.tries)
	case s.abandonedBy(tip.State, e.overdue) && tip.State.RequiredAction().Revision == e.revision:
		err := s.abandon(ctx, tip, e.overdue)
		if err != nil {
			s.Logger.Debug().Err(err).Str("payment", string(e.payment)).Msg("an abandoned action has no end yet")
		}
		s.retry(e, logFailed(err)) // the next question finds its end
	default:
		s.inFlight.agenda.dropOld(e)
	}
}

// retry schedules a question again. logFailed reports that the log failed, and not the processor.
func (s *Payments) retry(e *question, logFailed bool) {
	again := *e
	again.next = time.Now().Add(again.wait(logFailed))
	s.inFlight.agenda.replace(&again)
}

// ask asks once about an open operation, unless it is in flight. so are the tries so far.
func (s *Payments) ask(ctx context.Context, tip eventstore.Tip[payment.State], revision uint64, so tries) {
	op, _ := tip.State.Operation(revision)
	f := newInFlight(tip, revision, s.timeoutOf(op), false)
	f.tries = so
	if _, fresh := s.inFlight.join(f); !fresh {
		return
	}
	defer s.inFlight.leave(f)
	s.callUntilDone(ctx, f, askFirst)
}

// questionHeap orders questions by time.
type questionHeap []*question

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (o questionHeap) Len() int           { return len(o) }
func (o questionHeap) Less(i, j int) bool { return o[i].next.Before(o[j].next) }
func (o questionHeap) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].place, o[j].place = i, j
}
func (o *questionHeap) Push(x any) {
	e := x.(*question)
	e.place = len(*o)
	*o = append(*o, e)
}
func (o *questionHeap) Pop() any {
	last := len(*o) - 1
	e := (*o)[last]
	(*o)[last] = nil
	*o = (*o)[:last]
	return e
}
