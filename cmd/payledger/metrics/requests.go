package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"payledger/httpapi/intake"
)

var (
	requestsAnswered = prometheus.NewDesc("payledger_http_requests_total",
		"Requests to the API by status; 499 are those whose caller went away before the answer.", []string{"status"}, nil)
	requestsRefused = prometheus.NewDesc("payledger_refused_total",
		"Connections and requests that were refused or cut since the start, by limit.", []string{"limit"}, nil)
)

func (c Config) requests() prometheus.Collector {
	return collector{[]*prometheus.Desc{requestsAnswered, requestsRefused}, func(out chan<- prometheus.Metric) {
		for status, n := range c.Answers() {
			out <- prometheus.MustNewConstMetric(requestsAnswered, prometheus.CounterValue, float64(n), strconv.Itoa(status))
		}
		c.Intake.All(func(l intake.Limit, n uint64) {
			out <- prometheus.MustNewConstMetric(requestsRefused, prometheus.CounterValue, float64(n), l.String())
		})
	}}
}
