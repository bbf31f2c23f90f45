package pending

import (
	"time"

	"payledger/domain/process"
)

// Round is the interval of the questions about an operation without an outcome.
const Round = process.LastInterval

const round = int64(Round / time.Microsecond)

// Turn returns the place on the wheel of an operation, given the time of its request: microseconds, below Round.
func Turn(requested time.Time) int64 { return turnOf(requested.UnixMicro()) }

func turnOf(micros int64) int64 { return (micros%round + round) % round }

// turnsOf returns the turns in (from, to], at most one Round long: two ranges if the beginning of the wheel lies between.
func turnsOf(from, to time.Time) (runs []Turns) {
	for at, end := from.UnixMicro()+1, to.UnixMicro(); at <= end; {
		last := min(end, at+round-1-turnOf(at))
		runs = append(runs, Turns{From: turnOf(at), Through: turnOf(last)})
		at = last + 1
	}
	return runs
}

// Next returns the first time after now at which the wheel asks about an operation, with a patience as in Keeper. A request
// further ahead than Round and patience shows that the clock was set back: Next then takes the operation's turn in a Round near now.
func Next(requested time.Time, patience time.Duration, now time.Time) time.Time {
	at := requested.Add(patience)
	if ahead := at.Sub(now); ahead > Round+2*patience {
		at = at.Add(-ahead.Truncate(Round))
	}
	if late := now.Sub(at); late >= 0 {
		at = at.Add(late.Truncate(Round) + Round)
	}
	return at
}
