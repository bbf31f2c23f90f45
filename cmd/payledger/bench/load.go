package bench

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// connection is one of the connections of a load, with its place in the scenario. One goroutine at
// a time uses it.
type connection struct {
	*wire
	order order  // in lifecycle
	after string // in replay: the query that continues after the last page
	read  int    // events read in this round
}

type request func(c *connection, n int64) error

type tally struct {
	took   []time.Duration // of the requests that succeeded
	errors int
	first  error // the first of the errors
	read   int   // events that were read
	lasted time.Duration
}

func (t *tally) add(other tally) {
	t.took, t.errors, t.read, t.lasted = append(t.took, other.took...), t.errors+other.errors, t.read+other.read, t.lasted+other.lasted
	t.first = cmp.Or(t.first, other.first)
}

func (t *tally) fail(err error) {
	t.errors++
	t.first = cmp.Or(t.first, err)
}

func (t *tally) sorted() { slices.Sort(t.took) }

// percentile returns the latency that a share of the requests did not exceed, in milliseconds.
func (t *tally) percentile(share float64) float64 {
	if len(t.took) == 0 {
		return 0
	}
	rank := int(math.Ceil(share * float64(len(t.took))))
	return milliseconds(t.took[min(max(rank, 1), len(t.took))-1])
}

func (t *tally) perSecond() float64 { return ratio(float64(len(t.took)), t.lasted.Seconds()) }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

type load struct {
	connections []*connection
	next        atomic.Int64 // number of the next request, over all rounds
	rate        float64      // requests per second; 0: each connection sends as soon as it has its answer
}

// connect opens the connections for a round, dealt out over the nodes. A server closes connections
// that are idle, as they are while others are measured.
func (l *load) connect(ctx context.Context, s *service) (err error) {
	for i, c := range l.connections {
		if c.wire, err = dialNode(ctx, s, i); err != nil {
			return err
		}
	}
	return nil
}

func (l *load) disconnect() {
	for _, c := range l.connections {
		if c.wire != nil {
			c.close()
			c.wire = nil
		}
	}
}

// run loads for a time, then waits for the answers under way. A connection that breaks is one
// error, and sends nothing more.
func (l *load) run(ctx context.Context, lasting time.Duration, do request) tally {
	parts := make([]tally, len(l.connections))
	began := time.Now()
	var slot atomic.Int64
	var running sync.WaitGroup
	for i, c := range l.connections {
		running.Go(func() {
			part := &parts[i]
			c.read = 0
			for {
				start := time.Now()
				if l.rate > 0 { // the latency counts from the time at which the request is due
					start = began.Add(time.Duration(float64(slot.Add(1)-1) / l.rate * float64(time.Second)))
				}
				if start.Sub(began) >= lasting || !pauseUntil(ctx, start) {
					break
				}
				if err := do(c, l.next.Add(1)-1); err != nil {
					part.fail(err)
					if _, wrong := errors.AsType[answerError](err); !wrong {
						break
					}
					continue
				}
				part.took = append(part.took, time.Since(start))
			}
			part.read = c.read
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

// pauseUntil waits for a time, and reports whether ctx goes on.
func pauseUntil(ctx context.Context, at time.Time) bool {
	if wait := time.Until(at); wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}
