package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"payledger/eventstore/commands"
)

// waitingCollector shows operators the operations at processors whose outcome this process waits for (D8):
// how many, since when, and when the processor is asked next.
type waitingCollector struct{ list func() []commands.Waiting }

var (
	waitingCount = prometheus.NewDesc("payledger_operations_waiting",
		"Operations at processors without an outcome, by operation and state.", []string{"operation", "state"}, nil)
	waitingSince = prometheus.NewDesc("payledger_operations_waiting_since_seconds",
		"Unix time of the request that has waited longest, by operation and state.", []string{"operation", "state"}, nil)
	waitingNext = prometheus.NewDesc("payledger_operations_next_question_seconds",
		"Unix time at which a processor is asked next, by operation and state.", []string{"operation", "state"}, nil)
)

// Describe names the metrics.
func (waitingCollector) Describe(out chan<- *prometheus.Desc) {
	out <- waitingCount
	out <- waitingSince
	out <- waitingNext
}

// Collect reads the operations under way.
func (c waitingCollector) Collect(out chan<- prometheus.Metric) {
	type label struct{ operation, state string }
	type group struct {
		count       int
		since, next time.Time
	}
	groups := map[label]group{}
	for _, w := range c.list() {
		at := label{string(w.Kind), string(w.State)}
		g := groups[at]
		g.count++
		g.since, g.next = earlier(g.since, w.Since), earlier(g.next, w.AskNext)
		groups[at] = g
	}
	for at, g := range groups {
		out <- prometheus.MustNewConstMetric(waitingCount, prometheus.GaugeValue, float64(g.count), at.operation, at.state)
		out <- prometheus.MustNewConstMetric(waitingSince, prometheus.GaugeValue, unixSeconds(g.since), at.operation, at.state)
		if !g.next.IsZero() {
			out <- prometheus.MustNewConstMetric(waitingNext, prometheus.GaugeValue, unixSeconds(g.next), at.operation, at.state)
		}
	}
}

// earlier is the earlier of two times that are known.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
