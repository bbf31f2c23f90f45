package eventstore

import "time"

// Window selects events by their times; a zero time does not limit.
type Window struct{ From, To time.Time } // both included

// Holds reports whether a time is in the window.
func (w Window) Holds(at time.Time) bool {
	return (w.From.IsZero() || !at.Before(w.From)) && (w.To.IsZero() || !at.After(w.To))
}
