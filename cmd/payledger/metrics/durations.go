package metrics

import (
	"cmp"
	"errors"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/notifier/delivery"
)

// Durations has the histograms of durations, in seconds. Each bucket has the trace id of its newest
// observation as an exemplar, if there is one: of what an event caused, the correlation id of the
// event, which is the X-Request-Id of the request.
type Durations struct {
	requests, processors, appends, syncs, attempts, lags *prometheus.HistogramVec
}

// buckets are the upper limits in seconds. A payment waits for its processor, at most for the
// payment timeout (§8: 90 s).
var buckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 100}

// fineBuckets are those of durations in this process and on its disk.
var fineBuckets = append([]float64{.0005, .001, .0025}, buckets...)

// NewDurations returns empty histograms.
func NewDurations() *Durations {
	histogram := func(name string, limits []float64, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Buckets: limits, Help: help}, labels)
	}
	return &Durations{
		requests: histogram("payledger_http_request_duration_seconds", buckets,
			"Time from a request's header to the end of its answer, by route and class of status; route is none for an unknown path.", "route", "status"),
		processors: histogram("payledger_processor_call_duration_seconds", buckets,
			"Time of a call of a processor, by processor, call and result: answered, or unknown.", "processor", "call", "result"),
		appends: histogram("payledger_log_append_duration_seconds", fineBuckets,
			"Time of an append, by records (events, deliveries or checkpoints) and result: stored, conflict, refused or unknown.", "records", "result"),
		syncs: histogram("payledger_log_sync_duration_seconds", fineBuckets,
			"Time from the sending of a group of records to its acknowledgement: written and synced, in a cluster by a majority.", "records"),
		attempts: histogram("payledger_webhook_attempt_duration_seconds", buckets,
			"Time of a recorded attempt to send a webhook, until the status line or the failure, by result: OK, or why it failed.", "result"),
		lags: histogram("payledger_projection_lag_seconds", fineBuckets,
			"Time from the recording of an event, or of the record of a delivery, to its being shown, by projection: views or deliveries.", "projection"),
	}
}

// Collectors returns the histograms.
func (d *Durations) Collectors() []prometheus.Collector {
	return []prometheus.Collector{d.requests, d.processors, d.appends, d.syncs, d.attempts, d.lags}
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
	observe(d.requests.WithLabelValues(cmp.Or(route, "none"), strconv.Itoa(status/100)+"xx"), took, trace)
}

// Append counts an append (eventstore.Timed).
func (d *Durations) Append(records string, took time.Duration, err error, request string) {
	result := "unknown"
	switch {
	case err == nil:
		result = "stored"
	case errors.Is(err, eventstore.ErrConflict):
		result = "conflict"
	case errors.Is(err, eventstore.ErrRefused):
		result = "refused"
	}
	observe(d.appends.WithLabelValues(records, result), took, request)
}

// Sync counts the write of a group (eventstore.Timed).
func (d *Durations) Sync(records string, took time.Duration) {
	observe(d.syncs.WithLabelValues(records), took, "")
}

// Attempt counts an attempt to send a webhook (notifier.Config.Timed).
func (d *Durations) Attempt(failure delivery.Failure, took time.Duration, request string) {
	observe(d.attempts.WithLabelValues(cmp.Or(string(failure), "OK")), took, request)
}

// ViewsLag counts the lag of an event in the views (projections.Config.Lagged).
func (d *Durations) ViewsLag(lag time.Duration, request string) {
	observe(d.lags.WithLabelValues("views"), lag, request)
}

// DeliveriesLag counts the lag of a record in the index of deliveries
// (notifier.AttemptLogConfig.Lagged).
func (d *Durations) DeliveriesLag(lag time.Duration) {
	observe(d.lags.WithLabelValues("deliveries"), lag, "")
}

// exemplarLimit is the greatest number of characters of a trace id in an exemplar: the library
// panics above 128 with the label's name.
const exemplarLimit = 100

// observe counts a duration, with the trace id as exemplar if there is one.
func observe(in prometheus.Observer, took time.Duration, trace string) {
	if with, is := in.(prometheus.ExemplarObserver); is && trace != "" && len(trace) <= exemplarLimit && utf8.ValidString(trace) {
		with.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": trace})
		return
	}
	in.Observe(took.Seconds())
}
