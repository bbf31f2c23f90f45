// Package process holds the process managers: given a state, what must be done next with the outside
// world. They are pure; whoever runs them (after a request, after a crash, after a time-out: the same
// code path) performs the step and records its outcome (request first, outcome later; D8).
package process

import (
	"time"

	"payledger/domain/payment"
)

// Step is what a payment needs next.
type Step int

const (
	Nothing Step = iota // no operation waits for an outcome
	Ask                 // an operation was requested and has no outcome: ask the processor by its key
)

// Authorization tells what the payment's newest operation needs, and the revision that requested it.
func Authorization(s payment.State) (Step, uint64) {
	for _, op := range s.Operations {
		if op.State.Open() {
			return Ask, op.Revision
		}
	}
	return Nothing, 0
}

// Intervals between two questions about one unknown outcome: they double from First up to Last and stay
// there, for as long as it takes (D8).
const (
	FirstInterval = 100 * time.Millisecond
	LastInterval  = 5 * time.Minute
)

// NextInterval gives the wait after `asked` questions without an answer.
func NextInterval(asked int) time.Duration {
	if asked >= 20 {
		return LastInterval
	}
	return min(FirstInterval<<asked, LastInterval)
}

// MayResend tells whether an operation that the processor has never seen is sent again under its key, or
// fenced and recorded as failed (D8). It is sent again while the payment timeout of its request runs:
// later, nobody waits for the money to be held any more.
func MayResend(requestedAt, now time.Time, paymentTimeout time.Duration) bool {
	return now.Before(requestedAt.Add(paymentTimeout))
}
