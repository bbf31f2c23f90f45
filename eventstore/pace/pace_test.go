package pace

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// TestWait: drafts wait only behind groups that took longer than a group needs, only for others
// that were there before, and not for long.
func TestWait(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	// rounds notes groups, each acknowledged when the one before it was, and returns that time.
	rounds := func(p *Pace, at time.Time, writers int, rounds ...time.Duration) time.Time {
		for _, round := range rounds {
			at = at.Add(round)
			p.Acknowledged(at, round, writers)
		}
		return at
	}
	many := func(round time.Duration) (all []time.Duration) {
		for range 100 {
			all = append(all, round)
		}
		return all
	}
	is := func(what string, p *Pace, now time.Time, waiting int, want time.Duration) {
		t.Helper()
		if got := max(0, p.Wait(now, waiting)); got.Round(ms) != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}

	var p Pace
	is("no group yet", &p, start, 1, 0)
	at := rounds(&p, start, 5, 3*ms)
	is("the first group", &p, at, 1, 0)
	at = rounds(&p, at, 5, many(3*ms)...)
	is("servers that keep up", &p, at, 1, 0)
	at = rounds(&p, at, 5, 19*ms)
	is("one slow group", &p, at, 1, 2*ms)
	at = rounds(&p, at, 5, many(13*ms)...)
	is("servers that do not keep up", &p, at, 1, 10*ms)
	is("all but one are back", &p, at, 4, 10*ms)
	is("all are back", &p, at, 5, 0)
	is("more than before", &p, at, 9, 0)
	is("a draft that comes later", &p, at.Add(4*ms), 1, 6*ms)
	is("a draft that comes much later", &p, at.Add(time.Hour), 1, 0)
	lone := p
	is("a lone writer", &lone, rounds(&lone, at, 1, many(13*ms)...), 1, 0)
	at = rounds(&p, at, 5, many(100*ms)...)
	is("the longest wait", &p, at, 1, Longest)

	var far Pace // the servers moved farther away: after two windows a group needs as long as it takes
	at = rounds(&far, start, 5, 3*ms)
	at = rounds(&far, at, 5, many(13*ms)...)
	is("as if they did not keep up", &far, at, 1, 10*ms)
	for end := at.Add(window); at.Before(end); {
		at = rounds(&far, at, 5, 13*ms)
	}
	is("the window before still counts", &far, at, 1, 10*ms)
	for end := at.Add(window + 14*ms); at.Before(end); {
		at = rounds(&far, at, 5, 13*ms)
	}
	is("it counts no more", &far, at, 1, 0)
}
