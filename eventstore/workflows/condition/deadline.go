package condition

import (
	"errors"
	"sync/atomic"
	"time"
)

const (
	// evaluateMost is how long an evaluation may take by the clock: thousands of times of what its cost allows. It is
	// there for what the cost does not see.
	evaluateMost = 2 * time.Second
	// blockedFor is how long a condition that took longer is not evaluated again.
	blockedFor = time.Minute
)

// errTooLong counts as too costly: the expression did not end in its time.
var errTooLong = errors.New("cost limit exceeded: it takes too long")

// guard keeps an evaluation that does not end from holding up its caller.
type guard struct {
	most    time.Duration
	blocked atomic.Int64 // until then, in Unix nanoseconds
}

// outcome is what an evaluation came to.
type outcome struct {
	holds bool
	cost  uint64
	err   error
}

// run evaluates beside the caller, who waits no longer than the guard's time. What goes on afterwards is given up; its
// results must not be looked at.
func (g *guard) run(evaluate func() outcome) outcome {
	if time.Now().UnixNano() < g.blocked.Load() {
		return outcome{cost: maxCost, err: errTooLong}
	}
	done := make(chan outcome, 1)
	go func() { done <- evaluate() }()
	late := time.NewTimer(g.most)
	defer late.Stop()
	select {
	case o := <-done:
		return o
	case <-late.C:
		g.blocked.Store(time.Now().Add(blockedFor).UnixNano())
		return outcome{cost: maxCost, err: errTooLong}
	}
}
