package pending

import (
	"time"

	"payledger/domain/process"
)

// Round is the time in which every operation without an outcome is asked about once.
const Round = process.LastInterval

const round = int64(Round / time.Microsecond)

// Turn is the place on the wheel of an operation that was requested at a time, in microseconds below Round.
func Turn(requested time.Time) int64 { return turnOf(requested.UnixMicro()) }

func turnOf(micros int64) int64 { return (micros%round + round) % round }

// turnsOf gives the turns that a hand passes from a time, which is not included, to another one: at most a Round. Turns
// that begin anew in between are two runs of them.
func turnsOf(from, to time.Time) (runs []Turns) {
	for at, end := from.UnixMicro()+1, to.UnixMicro(); at <= end; {
		last := min(end, at+round-1-turnOf(at))
		runs = append(runs, Turns{From: turnOf(at), Through: turnOf(last)})
		at = last + 1
	}
	return runs
}

// Next is when the wheel comes to an operation after now, with a patience as in Config. It does not wait for a time that is
// further ahead than that: the clock was set back since.
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
