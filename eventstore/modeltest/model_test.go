package modeltest

import (
	"errors"
	"fmt"
	"slices"

	"payledger/eventstore/format"
)

// model is every answer to callers and every event for subscribers.
type model struct {
	id      format.LogID // zero: no log was opened yet
	clock   int          // orders calls and answers
	calls   map[int64]*call
	sights  []sight
	readers map[int]*reader
	faults  []error
}

// call is one operation. Its result is final once a look after a crash has shown it.
type call struct {
	operation
	began, ended int // ended is 0 without an answer
	answer       answer
	final        bool
	stands       bool
}

// reader is one subscription: it must see every event from its start on.
type reader struct {
	shard  int
	after  uint64
	number uint64 // of the event that it saw last; 0: none yet
	last   uint64
}

func newModel() *model {
	return &model{calls: map[int64]*call{}, readers: map[int]*reader{}}
}

func (m *model) fault(format string, args ...any) {
	m.faults = append(m.faults, fmt.Errorf(format, args...))
}

// opened notes that the log was opened.
func (m *model) opened(id format.LogID) {
	if m.id != (format.LogID{}) && m.id != id {
		m.fault("the log has id %x and had %x", id, m.id)
	}
	m.id = id
}

// noteCalls notes calls that are about to be made.
func (m *model) noteCalls(operations []operation) {
	m.clock++
	for _, o := range operations {
		m.calls[o.Op] = &call{operation: o, began: m.clock}
	}
}

// answered notes an answer.
func (m *model) answered(a answer) {
	m.clock++
	c := m.calls[a.Op]
	if c == nil || c.ended > 0 {
		m.fault("operation %d was answered without a call: %+v", a.Op, a)
		return
	}
	c.ended, c.answer = m.clock, a
}

// undisturbed checks that all calls of a burst without a fault succeeded, except calls whose
// context ended early.
func (m *model) undisturbed(operations []operation) error {
	for _, o := range operations {
		if a := m.calls[o.Op].answer; o.Ends < 0 && (a.Fate == refused || a.Fate == unknown || a.Fate == "") {
			return fmt.Errorf("%+v, undisturbed: %+v", o, a)
		}
	}
	return nil
}

// saw notes an event that a subscriber was given.
func (m *model) saw(s sight) {
	m.sights = append(m.sights, s)
	r := m.readers[s.Reader]
	switch {
	case r == nil || s.Place.Shard != r.shard:
		m.fault("reader %d of %+v saw %+v", s.Reader, r, s)
		return
	case s.Place.Address <= r.after || s.Place.Address <= r.last || r.number > 0 && s.Place.Number != r.number+1:
		m.fault("reader %d came from number %d at %s, after %s, to number %d at %s", s.Reader, r.number, at(r.last), at(r.after),
			s.Place.Number, at(s.Place.Address))
	case r.after == 0 && r.number == 0 && s.Place.Number != 1:
		m.fault("reader %d began with number %d", s.Reader, s.Place.Number)
	}
	r.number, r.last = s.Place.Number, s.Place.Address
}

// check compares the log with every answer. A call without an outcome has one from now on.
func (m *model) check(v *view) error {
	errs := m.faults
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if m.id != (format.LogID{}) && v.ID != m.id {
		fail("the log has id %x and had %x", v.ID, m.id)
	}
	for op := range v.ops {
		if m.calls[op] == nil {
			fail("operation %d stands in the log and was never called", op)
		}
	}
	for _, c := range m.sorted() {
		if err := c.check(v); err != nil {
			fail("operation %d (%s %s, answered %+v): %w", c.Op, c.Kind, c.ID, c.answer, err)
		}
	}
	for _, s := range m.sights {
		if there, stands := v.ops[s.Op]; !stands || there.Place != s.Place {
			fail("reader %d was given operation %d at %+v; there stands %+v", s.Reader, s.Op, s.Place, there)
		}
	}
	m.checkOrder(v, fail)
	return errors.Join(errs...)
}

// sorted returns the calls by their numbers.
func (m *model) sorted() []*call {
	calls := make([]*call, 0, len(m.calls))
	for _, c := range m.calls {
		calls = append(calls, c)
	}
	slices.SortFunc(calls, func(a, b *call) int { return int(a.Op - b.Op) })
	return calls
}

// check compares one call with the log.
func (c *call) check(v *view) error {
	there, stands := v.ops[c.Op]
	if c.final && c.stands != stands {
		return fmt.Errorf("it stood in the log before: %t; now: %t", c.stands, stands)
	}
	if stands && (there.ID != c.ID || c.Kind == load || c.Kind == fresh) {
		return fmt.Errorf("it stands at %+v", there)
	}
	c.final, c.stands = true, stands
	if stands && (c.Kind == claim && there.Place.Revision != 1 || c.Kind == even && there.Saw.Count%2 == 1) {
		return fmt.Errorf("it must not stand at revision %d", there.Place.Revision)
	}
	switch a := c.answer; a.Fate {
	case "", unknown: // at most once: the view has it once
		return nil
	case done:
		if !stands || there.Place != a.Place || there.State != a.State {
			return fmt.Errorf("there stands %+v", there)
		}
		return nil
	case refused, contended:
		if stands {
			return fmt.Errorf("it stands at %+v", there)
		}
		return nil
	default:
		if stands {
			return fmt.Errorf("it stands at %+v", there)
		}
		return c.checkBasis(v)
	}
}

// checkBasis checks that the log has the event that an answer is based on, and that the answer
// follows from it.
func (c *call) checkBasis(v *view) error {
	a, events := c.answer, v.keys[c.ID]
	if a.Place.Revision == 0 {
		if a.Fate != seen || a.State != (tally{}) {
			return errors.New("it rests on nothing")
		}
		return nil
	}
	if a.Place.Revision > uint64(len(events)) {
		return fmt.Errorf("it rests on revision %d of %d", a.Place.Revision, len(events))
	}
	if there := events[a.Place.Revision-1]; there.Place != a.Place || there.State != a.State {
		return fmt.Errorf("it rests on what stands otherwise: %+v", there)
	}
	if a.Fate == nothing && a.State.Count%2 == 0 {
		return errors.New("there was something to do")
	}
	return nil
}

// checkOrder: a call that begins after an answer sees at least the state of that answer.
func (m *model) checkOrder(v *view, fail func(string, ...any)) {
	type shown struct {
		at       int
		revision uint64
	}
	byKey := map[string][]shown{}
	for _, c := range m.calls {
		if c.ended > 0 && c.answer.Place.Revision > 0 {
			byKey[c.ID] = append(byKey[c.ID], shown{c.ended, c.answer.Place.Revision})
		}
	}
	for _, c := range m.sorted() {
		revision, known := c.answer.Place.Revision, c.ended > 0 && c.answer.Fate != unknown && c.answer.Fate != refused && c.answer.Fate != contended
		if there, stands := v.ops[c.Op]; stands {
			revision, known = there.Place.Revision-1, true
		}
		if !known {
			continue
		}
		for _, s := range byKey[c.ID] {
			if s.at < c.began && s.revision > revision {
				fail("operation %d (%s %s) began after revision %d was shown, and rests on revision %d: %+v", c.Op, c.Kind, c.ID, s.revision, revision, c.answer)
				break
			}
		}
	}
}

// tally counts the fates of all calls.
func (m *model) tally() map[fate]int {
	n := map[fate]int{}
	for _, c := range m.calls {
		n[c.answer.Fate]++
	}
	return n
}
