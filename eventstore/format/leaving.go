package format

import "payledger/domain"

// Leaving describes an aggregate whose events move parts out of its state, so that states stay
// small. An event carries the parts that it moved out, once, beside the state. The tip store keeps
// them as rows. A loaded state has all of them.
type Leaving[S any] struct {
	Newest  func(S) (left any, some bool) // the part that the state's newest event moved out
	Whole   func(S) bool                  // the state has all parts moved out of it
	Join    func(S, []LeftRow) (S, error) // the state with the parts moved out of it; rows oldest first
	Earlier func(s, newer S) S            // the state with the parts moved out of it, taken from a newer state
}

// LeftRow is the part that one event moved out of an aggregate's state.
type LeftRow struct {
	Revision uint64
	Data     []byte // as Unmarshal reads it
}

// leaving is a Leaving without its type.
type leaving struct {
	newest  func(state any) (left any, some bool)
	whole   func(state any) bool
	join    func(state any, rows []LeftRow) (any, error)
	earlier func(state, newer any) any
}

// Letting adds rules to an aggregate for the parts moved out of its state, and returns it.
func Letting[S any, E domain.Event](a *Aggregate[S, E], l Leaving[S]) *Aggregate[S, E] {
	a.Core.leaving = &leaving{
		newest:  func(s any) (any, bool) { return l.Newest(s.(S)) },
		whole:   func(s any) bool { return l.Whole(s.(S)) },
		join:    func(s any, rows []LeftRow) (any, error) { return l.Join(s.(S), rows) },
		earlier: func(s, newer any) any { return l.Earlier(s.(S), newer.(S)) },
	}
	return a
}

// Whole reports whether state has all parts moved out of it.
func (c *Core) Whole(state any) bool { return c.leaving == nil || c.leaving.whole(state) }

// Join returns the state with the parts moved out of it; rows are the oldest first.
func (c *Core) Join(state any, rows []LeftRow) (any, error) {
	if c.leaving == nil {
		return state, nil
	}
	return c.leaving.join(state, rows)
}

// Earlier returns the state with the parts moved out of it, taken from a newer state. A newer state
// of none takes them away.
func (c *Core) Earlier(state, newer any) any {
	if c.leaving == nil {
		return state
	}
	return c.leaving.earlier(state, newer)
}
