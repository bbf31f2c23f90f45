package eventstore

import "time"

// Window selects events by their times; a zero time does not limit.
type Window struct{ From, To time.Time } // both included

// NewWindow returns the window between two times; nil does not limit. The zero time is a valid
// date, and as a limit it stands for the microsecond before it: no event is that old.
func NewWindow(from, to *time.Time) (w Window) {
	limit := func(at *time.Time) time.Time {
		switch {
		case at == nil:
			return time.Time{}
		case at.IsZero():
			return at.Add(-time.Microsecond)
		}
		return *at
	}
	return Window{limit(from), limit(to)}
}

// Holds reports whether a time is in the window.
func (w Window) Holds(at time.Time) bool {
	return (w.From.IsZero() || !at.Before(w.From)) && (w.To.IsZero() || !at.After(w.To))
}
