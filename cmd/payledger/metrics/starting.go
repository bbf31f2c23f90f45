package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

var (
	startEvents = prometheus.NewDesc("payledger_start_events", "Events that the current stage of the start has done.", []string{"stage"}, nil)
	startOf     = prometheus.NewDesc("payledger_start_events_wanted", "Events that the current stage of the start must do.", []string{"stage"}, nil)
)

// Starting serves the metrics of a service that starts: its progress.
func Starting(progress func() (stage string, done, of uint64)) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{[]*prometheus.Desc{startEvents, startOf}, func(out chan<- prometheus.Metric) {
		stage, done, of := progress()
		out <- prometheus.MustNewConstMetric(startEvents, prometheus.GaugeValue, float64(done), stage)
		out <- prometheus.MustNewConstMetric(startOf, prometheus.GaugeValue, float64(of), stage)
	}})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}
