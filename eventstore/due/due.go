package due

import "time"

// Time is the end of a wait of this process: the time that the clock must show, or the end of the
// wait's length, whichever comes first. The zero value is over.
type Time struct {
	clock time.Time // by the machine's clock, which can be set
	own   time.Time // by the process's own clock
}

// In returns the end of a wait of length d that begins now.
func In(now time.Time, d time.Duration) Time {
	return Time{clock: now.Round(0).Add(d), own: time.Now().Add(d)}
}

// At returns the end of a wait in a record, which was noted at one time and is due at another.
func At(now, noted, due time.Time) Time { return In(now, Left(now, noted, due)) }

// Left returns the rest of a wait in a record, at most the record's own length. Zero or negative:
// the wait is over.
func Left(now, noted, due time.Time) time.Duration {
	return min(due.Sub(now), max(0, due.Sub(noted)))
}

// Left returns the rest of the wait. Zero or negative: the wait is over.
func (t Time) Left(now time.Time) time.Duration {
	return min(t.clock.Sub(now), time.Until(t.own))
}

// Over reports whether the wait has ended.
func (t Time) Over(now time.Time) bool { return t.Left(now) <= 0 }
