package due

import "time"

// Time is when a wait of this process ends: at a time by the clock, or when the wait's length has gone by, whichever comes
// first. The zero value is over.
type Time struct {
	clock time.Time // by the clock that is set by others
	own   time.Time // by the process's own
}

// In returns the end of a wait of length d that begins now.
func In(now time.Time, d time.Duration) Time {
	return Time{clock: now.Round(0).Add(d), own: time.Now().Add(d)}
}

// At returns the end of a wait that a record names. It was noted at a time, and is due at another one.
func At(now, noted, due time.Time) Time { return In(now, Left(now, noted, due)) }

// Left returns how long the wait that a record names has to go on: never longer than the record's own length, by
// whichever clock it was noted. It is not positive when the wait is over.
func Left(now, noted, due time.Time) time.Duration {
	return min(due.Sub(now), max(0, due.Sub(noted)))
}

// Left returns how long the wait goes on. It is not positive when the wait is over.
func (t Time) Left(now time.Time) time.Duration {
	return min(t.clock.Sub(now), time.Until(t.own))
}

// Over reports whether the wait has ended.
func (t Time) Over(now time.Time) bool { return t.Left(now) <= 0 }
