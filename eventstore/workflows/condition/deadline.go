package condition

import (
	"errors"
	"sync/atomic"
	"time"
)

const (
	// evaluateMost is the time limit of an evaluation: thousands of times what its cost allows. It covers work that CEL
	// does not charge.
	evaluateMost = 2 * time.Second
	// blockedFor is how long a condition that exceeded evaluateMost is not evaluated.
	blockedFor = time.Minute
)

// errTooLong counts as too costly: the expression did not end in time.
var errTooLong = errors.New("cost limit exceeded: it takes too long")

// guard limits how long an evaluation holds up its caller.
type guard struct {
	most    time.Duration
	blocked atomic.Int64 // until then, in Unix nanoseconds
}

// outcome is the result of an evaluation.
type outcome struct {
	holds bool
	cost  uint64
	err   error
}

// run evaluates beside the caller, which waits no longer than the guard's time. An evaluation that continues after that
// is abandoned; its results must not be read.
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
