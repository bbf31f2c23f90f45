package metrics

import (
	"cmp"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"payledger/domain/processor"
)

// Durations has the histograms of durations, in seconds. Each bucket has the trace id of its newest observation as an exemplar.
type Durations struct {
	requests, processors *prometheus.HistogramVec
}

// buckets are the upper limits in seconds. A payment waits for its processor, at most for the payment timeout (§8: 90 s).
var buckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 100}

// NewDurations returns empty histograms.
func NewDurations() *Durations {
	return &Durations{requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "payledger_http_request_duration_seconds", Buckets: buckets,
		Help: "Time from a request's header to the end of its answer, by route and class of status; route is none for an unknown path.",
	}, []string{"route", "status"}), processors: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "payledger_processor_call_duration_seconds", Buckets: buckets,
		Help: "Time of a call of a processor, by processor, call and result: answered, or unknown.",
	}, []string{"processor", "call", "result"})}
}

// Processor counts a call of a processor (adapter.Adapter.Timed).
func (d *Durations) Processor(name processor.Name, call string, took time.Duration, unknown bool) {
	result := "answered"
	if unknown {
		result = "unknown"
	}
	d.processors.WithLabelValues(string(name), call, result).Observe(took.Seconds())
}

// Request counts a request (httpapi.Config.Timed).
func (d *Durations) Request(route string, status int, took time.Duration, trace string) {
	observed := d.requests.WithLabelValues(cmp.Or(route, "none"), strconv.Itoa(status/100)+"xx")
	if with, is := observed.(prometheus.ExemplarObserver); is && trace != "" {
		with.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": trace})
		return
	}
	observed.Observe(took.Seconds())
}
