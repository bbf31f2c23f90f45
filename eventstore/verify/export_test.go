package verify

import "payledger/eventstore/format"

// Recorded returns the recorded state of an event.
func Recorded(r *format.Recorded) (any, error) { return known[r.Aggregate].recorded(r) }
