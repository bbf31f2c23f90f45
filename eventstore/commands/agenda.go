package commands

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
	// questionsAtOnce is how many questions of the agenda one processor is asked at once. A processor that does not
	// answer takes no more than these.
	questionsAtOnce = 8
	// agendaRoom is how many operations of one processor the agenda holds, some 1 MB. Package pending finds the others.
	agendaRoom = 4096
)

// question is one operation that a processor is asked about again, or one action that its customer abandoned.
type question struct {
	key       domain.OperationKey
	payment   domain.PaymentID
	account   domain.AccountID
	revision  uint64 // of the operation
	processor processor.Name
	kind      processor.Kind
	state     payment.OperationState
	since     time.Time // of the request
	overdue   bool      // at next the action's time is over, whatever the clock shows (D7)
	asked     int       // questions without an answer
	next      time.Time // of the next question, by the process's own clock: nobody sets it
	place     int       // in the agenda's order; -1: its time has come
}

// nextQuestion is the next question about a flight that ends now without an outcome.
func nextQuestion(f *inFlight, now time.Time) *question {
	e := questionAbout(f.tip.State, f.revision)
	e.asked, e.next = f.asked+1, now.Add(process.NextInterval(f.asked))
	return e
}

func questionAbout(p payment.State, revision uint64) *question {
	op, _ := p.Operation(revision)
	return &question{
		key: p.OperationKey(revision), payment: p.ID, account: p.Account, revision: revision, processor: op.Target.Processor,
		kind: op.Kind, state: op.State, since: op.RequestedAt,
	}
}

// agenda holds what this process asks processors about soon, without a goroutine for each. It holds no operation whose
// questions are LastInterval apart, and agendaRoom at most for each processor: package pending finds those in the views.
type agenda struct {
	mu      sync.Mutex
	by      map[domain.OperationKey]*question
	order   questionHeap
	lanes   map[processor.Name]*lane
	changed chan struct{} // holds one signal: look at the order again
}

// lane is what one processor is asked.
type lane struct {
	held    int         // errands of the processor
	due     []*question // their time has come
	running int         // questions under way
}

func newAgenda() *agenda {
	return &agenda{by: map[domain.OperationKey]*question{}, lanes: map[processor.Name]*lane{}, changed: make(chan struct{}, 1)}
}

// lane returns a processor's lane; the caller holds mu.
func (a *agenda) lane(name processor.Name) *lane {
	l := a.lanes[name]
	if l == nil {
		l = &lane{}
		a.lanes[name] = l
	}
	return l
}

// add takes an errand in, unless the views are to find it.
func (a *agenda) add(e *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.lane(e.processor)
	if a.by[e.key] != nil || l.held >= agendaRoom || process.NextInterval(e.asked) >= process.LastInterval {
		return
	}
	l.held++
	a.by[e.key] = e
	heap.Push(&a.order, e)
	a.signal()
}

// signal has the order looked at again; the caller holds mu.
func (a *agenda) signal() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// drop forgets an operation: a flight looks after it.
func (a *agenda) drop(key domain.OperationKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := a.by[key]
	if e == nil {
		return
	}
	delete(a.by, key)
	a.lane(e.processor).held--
	if e.place >= 0 {
		heap.Remove(&a.order, e.place)
	}
}

// hurry has an operation asked about now.
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

// find returns a copy of an operation's errand.
func (a *agenda) find(key domain.OperationKey) (question, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e := a.by[key]; e != nil {
		return *e, true
	}
	return question{}, false
}

// all returns copies of all errands.
func (a *agenda) all() []question {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]question, 0, len(a.by))
	for _, e := range a.by {
		list = append(list, *e)
	}
	return list
}

// turn hands the errands whose time has come to their lanes. It returns the lanes that need one more goroutine, each as
// often as it needs one, and the time of the next errand; zero: there is none.
func (a *agenda) turn(now time.Time) (start []*lane, next time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.order) > 0 && !a.order[0].next.After(now) {
		e := heap.Pop(&a.order).(*question)
		e.place = -1
		l := a.lane(e.processor)
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

// take returns the next errand of a lane that still stands; nil: there is none, and the caller's goroutine ends.
func (a *agenda) take(l *lane) *question {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(l.due) > 0 {
		e := l.due[0]
		l.due[0] = nil
		if l.due = l.due[1:]; len(l.due) == 0 {
			l.due = nil // its array goes
		}
		if a.by[e.key] == e {
			return e
		}
	}
	l.running--
	return nil
}

// keepAgenda asks what is due, until the service ends.
func (s *Service) keepAgenda() {
	a := s.inFlight.agenda
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-a.changed:
		case <-timer.C:
		}
		start, next := a.turn(time.Now())
		for _, l := range start {
			s.workers.do(func() { s.askDue(a, l) })
		}
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}

func (s *Service) askDue(a *agenda, l *lane) {
	for e := a.take(l); e != nil; e = a.take(l) {
		s.askScheduled(s.ctx, e)
	}
}

// run asks about one operation. It goes back into the agenda unless it has its outcome, or a flight of its own.
func (s *Service) askScheduled(ctx context.Context, e *question) {
	tip, err := s.log.Payments.Load(ctx, e.account, e.payment, eventstore.AllowStale)
	if err != nil || tip.Recorded == nil || tip.Recorded.Revision < e.revision { // the store is in trouble, or a replica behind
		s.retry(e)
		return
	}
	op, _ := tip.State.Operation(e.revision)
	switch {
	case op.State.Open():
		s.ask(ctx, tip, e.revision, e.asked)
	case s.abandonedBy(tip.State, e.overdue) && tip.State.RequiredAction().Revision == e.revision:
		if err := s.abandon(ctx, tip, e.overdue); err != nil {
			s.Logger.Debug().Err(err).Str("payment", string(e.payment)).Msg("an abandoned action has no end yet")
		}
		s.retry(e) // the next turn finds how it ended
	default:
		s.inFlight.agenda.drop(e.key)
	}
}

// retry puts an errand back.
func (s *Service) retry(e *question) {
	again := *e
	again.next, again.asked = time.Now().Add(process.NextInterval(e.asked)), e.asked+1
	s.inFlight.agenda.drop(e.key)
	s.inFlight.agenda.add(&again)
}

// ask asks once about an open operation, after so many questions without an answer, unless a flight looks after it.
func (s *Service) ask(ctx context.Context, tip eventstore.Tip[payment.State], revision uint64, asked int) {
	op, _ := tip.State.Operation(revision)
	f := newInFlight(tip, revision, s.timeoutOf(op), false)
	f.asked = asked
	if _, fresh := s.inFlight.join(f); !fresh {
		return
	}
	defer s.inFlight.leave(f)
	s.drive(ctx, f, askFirst)
}

// questionHeap are ordered by their next question: a heap.
type questionHeap []*question

// Len, Less, Swap, Push and Pop are heap.Interface.
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
