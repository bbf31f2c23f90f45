package condition

import (
	"errors"
	"sync/atomic"
	"time"
)

const (
	// evaluateMost bounds work that CEL does not charge: thousands of times the duration of an
	// evaluation that costs maxCost.
	evaluateMost = 2 * time.Second
	// blockedFor is the time for which a condition that exceeded evaluateMost is not evaluated.
	blockedFor = time.Minute
)

// errTooLong means that an evaluation exceeded its time limit. It counts as too costly.
var errTooLong = errors.New("cost limit exceeded: it takes too long")

// guard limits the time for which an evaluation holds up its caller.
type guard struct {
	most    time.Duration
	blocked atomic.Int64 // end of the time without evaluations, in Unix nanoseconds
}

type outcome struct {
	holds bool
	cost  uint64
	err   error
}

// run waits for an evaluation, no longer than the guard's time. Then the evaluation is abandoned:
// its results must not be read.
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
