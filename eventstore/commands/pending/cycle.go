package pending

import (
	"time"

	"payledger/domain/process"
)

// Cycle is the interval of the look-ups of an operation without an outcome.
const Cycle = process.LastInterval

const cycle = int64(Cycle / time.Microsecond)

// Slot returns the place in the Cycle of an operation, given the time of its request: microseconds,
// below Cycle.
func Slot(requested time.Time) int64 { return slotOf(requested.UnixMicro()) }

func slotOf(micros int64) int64 { return (micros%cycle + cycle) % cycle }

// slotsOf returns the slots in (from, to], at most one Cycle long: two ranges if the beginning of a
// Cycle lies between.
func slotsOf(from, to time.Time) (runs []Slots) {
	for at, end := from.UnixMicro()+1, to.UnixMicro(); at <= end; {
		last := min(end, at+cycle-1-slotOf(at))
		runs = append(runs, Slots{From: slotOf(at), Through: slotOf(last)})
		at = last + 1
	}
	return runs
}

// Next returns the first time after now at which a Scanner with the patience looks an operation up.
// A request further ahead than Cycle and patience shows that the clock was set back: Next then
// takes the operation's slot in a Cycle near now.
func Next(requested time.Time, patience time.Duration, now time.Time) time.Time {
	at := requested.Add(patience)
	if ahead := at.Sub(now); ahead > Cycle+2*patience {
		at = at.Add(-ahead.Truncate(Cycle))
	}
	if late := now.Sub(at); late >= 0 {
		at = at.Add(late.Truncate(Cycle) + Cycle)
	}
	return at
}
