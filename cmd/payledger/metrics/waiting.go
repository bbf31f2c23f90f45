package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"payledger/projections"
)

// waiting exports the operations without an outcome (D8). The views list all of them; the queries
// that are planned here are in memory.
func (c Config) waiting() prometheus.Collector {
	w := &waitingOperations{Config: c}
	return collector{[]*prometheus.Desc{waitingCount, waitingSince, waitingNext}, w.collect}
}

type waitingOperations struct {
	Config

	mu    sync.Mutex
	read  []projections.PendingOperations
	until time.Time // read serves until then
}

// A count of the views is used for some time, because counting a million operations takes 3 s on a
// busy machine.
const (
	countTimeout = 10 * time.Second
	countWorth   = 20 // times the duration of the count
)

var (
	waitingCount = prometheus.NewDesc("payledger_operations_waiting",
		"Operations at processors without an outcome, by operation, processor and state.", []string{"operation", "processor", "state"}, nil)
	waitingSince = prometheus.NewDesc("payledger_operations_waiting_since_seconds",
		"Unix time of the request that has waited longest, by operation, processor and state.", []string{"operation", "processor", "state"}, nil)
	waitingNext = prometheus.NewDesc("payledger_operations_next_lookup_seconds",
		"Unix time at which a processor is asked next, by operation, processor and state.", []string{"operation", "processor", "state"}, nil)
)

func (c *waitingOperations) collect(out chan<- prometheus.Metric) {
	type label struct{ operation, processor, state string }
	soon := map[label]time.Time{}
	for _, w := range c.Lookups() {
		at := label{string(w.Kind), string(w.Processor), string(w.State)}
		soon[at] = earlier(soon[at], w.NextLookup)
	}
	for _, g := range c.counted() {
		next := earlier(soon[label{string(g.Kind), string(g.Processor), string(g.State)}], g.Next)
		metric := func(of *prometheus.Desc, value float64) {
			out <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, string(g.Kind), string(g.Processor), string(g.State))
		}
		metric(waitingCount, float64(g.Count))
		metric(waitingSince, unixSeconds(g.Since))
		metric(waitingNext, unixSeconds(next))
	}
}

func (c *waitingOperations) counted() []projections.PendingOperations {
	c.mu.Lock()
	defer c.mu.Unlock()
	began := c.Now()
	if began.Before(c.until) {
		return c.read
	}
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
	defer cancel()
	list, err := c.Operations(ctx, began.Add(-c.Patience))
	if err != nil {
		return nil
	}
	for i := range list {
		list[i].Next = list[i].Next.Add(c.Patience)
	}
	done := c.Now()
	c.read, c.until = list, done.Add(countWorth*done.Sub(began))
	return list
}

// earlier returns the earlier of two times; the zero time means unknown.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
