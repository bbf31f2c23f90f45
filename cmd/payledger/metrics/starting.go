package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

var (
	startEvents = prometheus.NewDesc("payledger_start_events", "Events that the current stage of the start has done.", []string{"stage"}, nil)
	startOf     = prometheus.NewDesc("payledger_start_events_wanted", "Events that the current stage of the start must do.", []string{"stage"}, nil)
)

// Start is the progress of a start.
type Start struct {
	Stage    string
	Done, Of uint64 // events
}

// Starting serves the metrics of a service that starts: its progress, and those of its process. The
// time of the process's start shows a service that never gets ready and starts again and again.
func Starting(progress func() Start) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(collector{[]*prometheus.Desc{startEvents, startOf}, func(out chan<- prometheus.Metric) {
		now := progress()
		out <- prometheus.MustNewConstMetric(startEvents, prometheus.GaugeValue, float64(now.Done), now.Stage)
		out <- prometheus.MustNewConstMetric(startOf, prometheus.GaugeValue, float64(now.Of), now.Stage)
	}})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}
