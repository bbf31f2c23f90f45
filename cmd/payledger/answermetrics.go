package main

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// answersDescription is of requests to the API by their status.
var answersDescription = prometheus.NewDesc("payledger_http_requests_total",
	"Requests to the API by status; 499 are those whose caller went away before the answer.", []string{"status"}, nil)

// answerCollector tells how requests ended.
type answerCollector struct {
	byStatus func() map[int]uint64
}

// Describe is of prometheus.Collector.
func (c answerCollector) Describe(out chan<- *prometheus.Desc) { out <- answersDescription }

// Collect is of prometheus.Collector.
func (c answerCollector) Collect(out chan<- prometheus.Metric) {
	for status, n := range c.byStatus() {
		out <- prometheus.MustNewConstMetric(answersDescription, prometheus.CounterValue, float64(n), strconv.Itoa(status))
	}
}
