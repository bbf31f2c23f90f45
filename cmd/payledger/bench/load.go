package bench

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// request is one request of a scenario, number n of the run, over a connection of its own goroutine.
type request func(w *wire, n int64) error

// tally is what a load measured.
type tally struct {
	took   []time.Duration // of the requests that succeeded
	errors int
	first  error
	lasted time.Duration
}

// add adds another round.
func (t *tally) add(other tally) {
	t.took, t.errors, t.lasted = append(t.took, other.took...), t.errors+other.errors, t.lasted+other.lasted
	if t.first == nil {
		t.first = other.first
	}
}

// sorted sorts the latencies for percentile.
func (t *tally) sorted() { slices.Sort(t.took) }

// percentile returns the latency that a share of the requests did not exceed, in milliseconds.
func (t *tally) percentile(share float64) float64 {
	if len(t.took) == 0 {
		return 0
	}
	return milliseconds(t.took[min(len(t.took)-1, int(share*float64(len(t.took))))])
}

// perSecond returns the successful requests per second.
func (t *tally) perSecond() float64 { return float64(len(t.took)) / max(t.lasted.Seconds(), 1e-9) }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// load sends requests over kept connections for a while.
type load struct {
	wires []*wire
	next  *atomic.Int64 // number of the next request, over all rounds
	rate  float64       // requests per second; 0: each connection sends as soon as it has its answer
}

// run loads for a time, then waits until the requests that are under way have their answers.
func (l *load) run(ctx context.Context, lasting time.Duration, do request) tally {
	parts := make([]tally, len(l.wires))
	began := time.Now()
	var slot atomic.Int64
	var running sync.WaitGroup
	for i, w := range l.wires {
		running.Go(func() {
			part := &parts[i]
			for ctx.Err() == nil {
				start := time.Now()
				if l.rate > 0 {
					start = began.Add(time.Duration(float64(slot.Add(1)-1) / l.rate * float64(time.Second)))
					pauseUntil(ctx, start)
				}
				if start.Sub(began) >= lasting {
					return
				}
				if err := do(w, l.next.Add(1)-1); err != nil {
					part.errors++
					if part.first == nil {
						part.first = err
					}
					var wrong answerError
					if !errors.As(err, &wrong) { // the connection is broken
						return
					}
					continue
				}
				part.took = append(part.took, time.Since(start))
			}
		})
	}
	running.Wait()
	var all tally
	for _, part := range parts {
		all.add(part)
	}
	all.lasted = time.Since(began)
	return all
}

func pauseUntil(ctx context.Context, at time.Time) {
	wait := time.Until(at)
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
