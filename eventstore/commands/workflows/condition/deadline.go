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
	// periods is how often evaluateMost must pass before an evaluation is given up. A stall of the
	// process ends one period at most, however long it is.
	periods = 3
	// blockedFor is the time for which a condition that was given up is not evaluated.
	blockedFor = time.Minute
)

// errTooLong means that an evaluation exceeded its time limit. It counts as too costly.
var errTooLong = errors.New("cost limit exceeded: it takes too long")

// guard limits the time for which an evaluation holds up its caller.
type guard struct {
	most    time.Duration             // of a period
	blocked atomic.Pointer[time.Time] // until then it is not evaluated, monotonic; nil: it is
}

type outcome struct {
	holds bool
	cost  uint64
	err   error
}

// run waits for an evaluation, no longer than the guard's periods. Then the evaluation is
// abandoned: its results must not be read.
func (g *guard) run(evaluate func() outcome) outcome {
	if until := g.blocked.Load(); until != nil && time.Now().Before(*until) {
		return outcome{cost: maxCost, err: errTooLong}
	}
	done := make(chan outcome, 1)
	go func() { done <- evaluate() }()
	for range periods {
		late := time.NewTimer(g.most)
		select {
		case o := <-done:
			late.Stop()
			return o
		case <-late.C:
		}
	}
	select {
	case o := <-done:
		return o
	default:
	}
	until := time.Now().Add(blockedFor)
	g.blocked.Store(&until)
	return outcome{cost: maxCost, err: errTooLong}
}
