package payment

import (
	"cmp"
	"fmt"
	"slices"

	"payledger/domain"
	"payledger/domain/processor"
)

// Tail is how many settled operations, and how many idempotency keys, stay in a state beside what an event may still
// change. Only tests set it.
var Tail = 3

// Totals are what the operations that left the state add up to.
type Totals struct {
	Operations int           `json:"operations,omitempty"` // how many left
	KeyHashes  int           `json:"keyHashes,omitempty"`  // how many idempotency keys left
	Details    bool          `json:"details,omitempty"`    // the details left
	Captured   domain.Amount `json:"captured,omitempty"`
	Refunded   domain.Amount `json:"refunded,omitempty"`
	Failures   int           `json:"failures,omitempty"` // that count for the limit (D3)
	Taken      bool          `json:"taken,omitempty"`    // a capture succeeded
	Final      bool          `json:"final,omitempty"`    // a final capture succeeded
	Released   bool          `json:"released,omitempty"` // a void succeeded
}

// with adds an operation that leaves.
func (t Totals) with(op Operation) Totals {
	t.Operations++
	switch {
	case op.State == StateFailed && counted(op):
		t.Failures++
	case op.State != StateSucceeded:
	case op.Kind == processor.Capture:
		t.Captured, t.Taken, t.Final = t.Captured+op.Amount, true, t.Final || op.Final
	case op.Kind == processor.Refund:
		t.Refunded += op.Amount
	case op.Kind == processor.Void:
		t.Released = true
	}
	return t
}

// Details are the data that payment.created brings, that never change, and that no rule reads. They leave the state with
// that event. All states of a payment share them, so nobody may change them.
type Details struct {
	Order       *domain.Order       `json:"order,omitempty"`
	Personal    *domain.Sealed      `json:"personal,omitempty"`
	Preferences *domain.Preferences `json:"preferences,omitempty"`
}

// Finished is what left the state with one event: settled operations and idempotency keys, oldest first, and with the first
// event the details.
type Finished struct {
	Operations []Operation `json:"operations,omitempty"`
	KeyHashes  []string    `json:"keyHashes,omitempty"`
	Details    *Details    `json:"details,omitempty"`
}

// Past is everything that left a state, the newest first. It is shared and never changed.
type Past struct {
	Revision uint64 // of the event with which Left left
	Finished Finished
	Before   *Past // what left earlier; nil: nothing

	Operations, KeyHashes int      // how many are in Left and before
	Details               *Details // in Left or before
}

// Then returns the past to which the event at revision added left.
func (p *Past) Then(revision uint64, left Finished) *Past {
	next := &Past{revision, left, p, len(left.Operations), len(left.KeyHashes), left.Details}
	if p != nil {
		next.Operations, next.KeyHashes = next.Operations+p.Operations, next.KeyHashes+p.KeyHashes
		next.Details = cmp.Or(left.Details, p.Details)
	}
	return next
}

// Details returns the payment's details, from its past: see HasPast.
func (s State) Details() Details {
	if s.Past == nil || s.Past.Details == nil {
		return Details{}
	}
	return *s.Past.Details
}

// NewestFinished returns what left with the newest event; false when nothing did.
func (s State) NewestFinished() (Finished, bool) {
	if s.Past == nil || s.Past.Revision != s.Revision {
		return Finished{}, false
	}
	return s.Past.Finished, true
}

// HasPast reports whether Past is all that left the state. A state that was decoded has none of it; only Evolve, and what
// looks at no operation that is over, works without.
func (s State) HasPast() bool {
	if s.Past == nil {
		return s.Totals == Totals{}
	}
	return s.Past.Operations == s.Totals.Operations && s.Past.KeyHashes == s.Totals.KeyHashes && (s.Past.Details != nil) == s.Totals.Details
}

// WithPastOf returns the state with its past, given a newer state of the same payment that has its own.
func (s State) WithPastOf(newer State) State {
	s.Past = newer.Past
	for s.Past != nil && s.Past.Revision > s.Revision {
		s.Past = s.Past.Before
	}
	return s
}

// Whole returns the state as if no operation and no key had ever left it: Operations are all, in the order of their
// revisions. It is for readers; no event is folded into it.
func (s State) Whole() State {
	if s.Past == nil {
		return s
	}
	whole, keys := slices.Clone(s.Operations), [][]string{s.KeyHashes}
	for p := s.Past; p != nil; p = p.Before {
		whole, keys = append(whole, p.Finished.Operations...), append(keys, p.Finished.KeyHashes)
	}
	slices.SortFunc(whole, func(a, b Operation) int { return int(a.Revision) - int(b.Revision) })
	slices.Reverse(keys)
	s.Operations, s.KeyHashes = whole, slices.Concat(keys...)
	details := s.Past.Details
	s.Past, s.Totals = nil, Totals{}
	if details != nil {
		s.Past, s.Totals.Details = s.Past.Then(1, Finished{Details: details}), true
	}
	return s
}

// Each yields every operation, those that left the state included, in no order. They must not be changed.
func (s State) Each(yield func(*Operation) bool) {
	for i := range s.Operations {
		if !yield(&s.Operations[i]) {
			return
		}
	}
	for p := s.Past; p != nil; p = p.Before {
		for i := range p.Finished.Operations {
			if !yield(&p.Finished.Operations[i]) {
				return
			}
		}
	}
}

// Used reports whether an idempotency key was used on the payment (D9), given its hash.
func (s State) Used(hash string) bool {
	if slices.Contains(s.KeyHashes, hash) {
		return true
	}
	for p := s.Past; p != nil; p = p.Before {
		if slices.Contains(p.Finished.KeyHashes, hash) {
			return true
		}
	}
	return false
}

// mayLeave reports whether no later event can change the operation, and none is folded by looking at it: what is over
// leaves, but for authorizations, for what was fenced and may have happened all the same, and for a completion that may
// still be found to have happened (Late).
func (s State) mayLeave(op *Operation) bool {
	switch {
	case op.State.Open() || op.Kind == processor.Authorize:
		return false
	case op.State != StateFailed:
		return true
	case op.Kind == processor.Complete:
		held := s.held()
		return op.Parent != held.Revision || held.State != StateAction
	default:
		return op.Answer().Code != processor.CodeFenced
	}
}

// moveFinished lets the oldest operations that are over, and the oldest idempotency keys, leave the state, down to Tail of each,
// and the details of e.
func (s State) moveFinished(e Event) State {
	over := -Tail
	for i := range s.Operations {
		if s.mayLeave(&s.Operations[i]) {
			over++
		}
	}
	keys := max(0, len(s.KeyHashes)-Tail)
	var left Finished
	if c, first := e.(Created); first && (c.Order != nil || c.Personal != nil || c.Preferences != nil) {
		left.Details, s.Totals.Details = &Details{c.Order, c.Personal, c.Preferences}, true
	}
	if over <= 0 && keys == 0 && left.Details == nil {
		return s
	}
	if over > 0 {
		kept := make([]Operation, 0, len(s.Operations))
		for i := range s.Operations {
			if op := &s.Operations[i]; len(left.Operations) < over && s.mayLeave(op) {
				left.Operations = append(left.Operations, *op)
				s.Totals = s.Totals.with(*op)
			} else {
				kept = append(kept, *op)
			}
		}
		s.Operations = kept
	}
	if keys > 0 {
		left.KeyHashes, s.KeyHashes = s.KeyHashes[:keys:keys], s.KeyHashes[keys:]
		s.Totals.KeyHashes += keys
	}
	s.Past = s.Past.Then(s.Revision, left)
	return s
}

// checkFinished checks that what left adds up to Totals, and that what stays is short.
func (s State) checkFinished() error {
	if !s.HasPast() {
		return fmt.Errorf("payment %s: %d operations left, and some of them are not at hand", s.ID, s.Totals.Operations)
	}
	var sum Totals
	for p := s.Past; p != nil; p = p.Before {
		for _, op := range p.Finished.Operations {
			if !s.mayLeave(&op) {
				return fmt.Errorf("payment %s: operation %d left and is not over", s.ID, op.Revision)
			}
			sum = sum.with(op)
		}
		sum.KeyHashes += len(p.Finished.KeyHashes)
		sum.Details = sum.Details || p.Finished.Details != nil
	}
	if sum != s.Totals {
		return fmt.Errorf("payment %s: what left adds up to %+v, not %+v", s.ID, sum, s.Totals)
	}
	if after := s.moveFinished(nil); len(after.Operations) != len(s.Operations) || len(after.KeyHashes) != len(s.KeyHashes) {
		return fmt.Errorf("payment %s: %d operations and %d keys stay", s.ID, len(s.Operations), len(s.KeyHashes))
	}
	return nil
}
