package payment

import (
	"cmp"
	"fmt"
	"slices"

	"payledger/domain"
	"payledger/domain/processor"
)

// Tail is the number of finished operations, and of idempotency keys, that stay in a state. Only
// tests set it.
var Tail = 3

// Totals are the sums over Past.
type Totals struct {
	Operations int           `json:"operations,omitempty"` // number of operations
	KeyHashes  int           `json:"keyHashes,omitempty"`  // number of idempotency keys
	Details    bool          `json:"details,omitempty"`    // there are details
	Captured   domain.Amount `json:"captured,omitempty"`
	Refunded   domain.Amount `json:"refunded,omitempty"`
	Failures   int           `json:"failures,omitempty"` // of captures, voids, refunds and adjustments
	Taken      bool          `json:"taken,omitempty"`    // a capture succeeded
	Final      bool          `json:"final,omitempty"`    // a final capture succeeded
	Released   bool          `json:"released,omitempty"` // a void succeeded
}

func (t Totals) with(op Operation) Totals {
	t.Operations++
	switch {
	case op.State == StateFailed && op.Kind.Modifies():
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

// Details are the data of payment.created that no rule reads, shared by all states of a payment.
// They move to Past with that event.
type Details struct {
	Order       *domain.Order       `json:"order,omitempty"`
	Personal    *domain.Sealed      `json:"personal,omitempty"`
	Preferences *domain.Preferences `json:"preferences,omitempty"`
}

// Finished is what one event moved to Past: finished operations and keys, oldest first, and with
// the first event the details.
type Finished struct {
	Operations []Operation `json:"operations,omitempty"`
	KeyHashes  []string    `json:"keyHashes,omitempty"`
	Details    *Details    `json:"details,omitempty"`
}

// Past is a list of everything that moved out of a state, the newest first. It is shared and must
// not be changed.
type Past struct {
	Revision uint64 // of the event that moved Finished
	Finished Finished
	Before   *Past // earlier; nil at the end

	Operations, KeyHashes int      // number in Finished and Before
	Details               *Details // in Finished or Before
}

// Then returns the past with left added by the event at revision.
func (p *Past) Then(revision uint64, left Finished) *Past {
	next := &Past{revision, left, p, len(left.Operations), len(left.KeyHashes), left.Details}
	if p != nil {
		next.Operations, next.KeyHashes = next.Operations+p.Operations, next.KeyHashes+p.KeyHashes
		next.Details = cmp.Or(left.Details, p.Details)
	}
	return next
}

// Details returns the payment's details. It needs the Past (HasPast).
func (s State) Details() Details {
	if s.Past == nil || s.Past.Details == nil {
		return Details{}
	}
	return *s.Past.Details
}

// NewestFinished returns the part that the newest event moved to Past; false if it moved nothing.
func (s State) NewestFinished() (Finished, bool) {
	if s.Past == nil || s.Past.Revision != s.Revision {
		return Finished{}, false
	}
	return s.Past.Finished, true
}

// HasPast reports whether Past is complete. A decoded state has no Past: only Evolve and rules
// without finished operations work.
func (s State) HasPast() bool {
	if s.Past == nil {
		return s.Totals == Totals{}
	}
	return s.Past.Operations == s.Totals.Operations && s.Past.KeyHashes == s.Totals.KeyHashes && (s.Past.Details != nil) == s.Totals.Details
}

// WithPastOf returns the state with its Past, taken from a newer state of the same payment.
func (s State) WithPastOf(newer State) State {
	s.Past = newer.Past
	for s.Past != nil && s.Past.Revision > s.Revision {
		s.Past = s.Past.Before
	}
	return s
}

// Whole returns the state with all operations, by revision, and all keys. It is for readers and
// must not be passed to Evolve.
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

// Each yields every operation, also those in Past, in no order. The caller must not change them.
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

// some reports whether an operation fits, also one in Past.
func (s State) some(fits func(*Operation) bool) bool {
	for op := range s.Each {
		if fits(op) {
			return true
		}
	}
	return false
}

// Used reports whether the idempotency key with this hash was used on the payment (D9).
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

// mayLeave reports whether the operation is finished: no later event changes it, and Evolve does
// not read it. It returns false for an authorization, an operation with a fenced key, and a
// completion that may still succeed (IsLateSuccess).
func (s State) mayLeave(op *Operation) bool {
	switch {
	case op.State.Open() || op.Kind == processor.Authorize:
		return false
	case op.State != StateFailed:
		return true
	case op.Kind == processor.Complete:
		held := s.newestAuthorization()
		return op.Parent != held.Revision || held.State != StateAction
	default:
		return op.Answer().Code != processor.CodeFenced
	}
}

// moveFinished moves to Past the details of e, and the oldest finished operations and keys, down to
// Tail of each.
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
		staying := make([]Operation, 0, len(s.Operations))
		for i := range s.Operations {
			if op := &s.Operations[i]; len(left.Operations) < over && s.mayLeave(op) {
				left.Operations = append(left.Operations, *op)
				s.Totals = s.Totals.with(*op)
			} else {
				staying = append(staying, *op)
			}
		}
		s.Operations = staying
	}
	if keys > 0 {
		left.KeyHashes, s.KeyHashes = s.KeyHashes[:keys:keys], s.KeyHashes[keys:]
		s.Totals.KeyHashes += keys
	}
	s.Past = s.Past.Then(s.Revision, left)
	return s
}

// checkFinished returns an error if Totals is not the sum over Past, or if more than Tail finished
// operations stay.
func (s State) checkFinished() error {
	if !s.HasPast() {
		return fmt.Errorf("payment %s: the past is incomplete: Totals counts %d operations", s.ID, s.Totals.Operations)
	}
	var sum Totals
	for p := s.Past; p != nil; p = p.Before {
		for _, op := range p.Finished.Operations {
			if !s.mayLeave(&op) {
				return fmt.Errorf("payment %s: operation %d is in the past and not finished", s.ID, op.Revision)
			}
			sum = sum.with(op)
		}
		sum.KeyHashes += len(p.Finished.KeyHashes)
		sum.Details = sum.Details || p.Finished.Details != nil
	}
	if sum != s.Totals {
		return fmt.Errorf("payment %s: the sum over the past is %+v, not %+v", s.ID, sum, s.Totals)
	}
	if after := s.moveFinished(nil); len(after.Operations) != len(s.Operations) || len(after.KeyHashes) != len(s.KeyHashes) {
		return fmt.Errorf("payment %s: %d operations and %d keys stay, more than needed", s.ID, len(s.Operations), len(s.KeyHashes))
	}
	return nil
}
