package metrics

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"payledger/domain/processor"
	"payledger/eventstore/commands/payments"
	"payledger/httpapi/intake"
	"payledger/notifier"
	"payledger/projections"
	"payledger/projections/deliveries"
	"payledger/projections/eventfeed"
)

// Log is the part of a store that has metrics.
type Log interface {
	Healthy() error
	Full() error
	Events() uint64
	Damaged() []int
	Owned() int
	ScrubAge() (time.Duration, bool)
	ScrubBytes() int64
}

// Config has the sources of the metrics.
type Config struct {
	Store      Log
	Lookups    func() []payments.Waiting                                                 // look-ups to processors that this process has planned
	Role       string                                                                    // of this node
	Operations func(context.Context, time.Time) ([]projections.PendingOperations, error) // open operations, from the views; nil, as Webhooks and Backlog, on a node without views
	Now        func() time.Time
	Patience   time.Duration         // from an operation's request to the first look-up that follows from the views
	Answers    func() map[int]uint64 // of the API, by status
	Durations  *Durations
	Intake     *intake.Tally
	Webhooks   func() notifier.Tally
	Backlog    func(context.Context) ([]deliveries.Backlog, error)
	Processors []processor.Name // that have an address
	Connection func(processor.Name) processor.Connection
	Events     *eventfeed.Feed // nil without a stream for analysts
	// Ahead returns how far this node's time of day is ahead of that of a cluster's NATS servers.
	Ahead func() (time.Duration, bool)
}

// Handler serves the metrics.
func Handler(c Config) http.Handler {
	return promhttp.HandlerFor(c.Registry(), promhttp.HandlerOpts{EnableOpenMetrics: true}) // exemplars are in OpenMetrics only
}

// Registry returns the metrics of a service that runs.
func (c Config) Registry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(c.Durations.Collectors()...)
	registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		c.requests(),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "payledger_node", Help: "1, with the role of this node (--role).",
			ConstLabels: prometheus.Labels{"role": c.Role}}, func() float64 { return 1 }),
		gauge("payledger_log_healthy", "1 while the log takes appends.", func() float64 { return oneIf(c.Store.Healthy() == nil) }),
		gauge("payledger_shards_owned", "Shards of the log that this node of a cluster appends for; 0 without a cluster.", func() float64 { return float64(c.Store.Owned()) }),
		gauge("payledger_clock_ahead_seconds", "How far this node's time of day is ahead of that of the NATS servers, less than 0 if it is behind; 0 without a cluster.",
			func() float64 {
				ahead, _ := c.Ahead()
				return ahead.Seconds()
			}),
		gauge("payledger_log_events", "Events in the log.", func() float64 { return float64(c.Store.Events()) }),
		gauge("payledger_log_damaged_shards", "Shards of the log that take no appends because they are damaged.",
			func() float64 { return float64(len(c.Store.Damaged())) }),
		gauge("payledger_disk_full", "1 while the disk has no room for new requests.", func() float64 { return oneIf(c.Store.Full() != nil) }),
		gauge("payledger_scrub_age_seconds", "Time since the last whole scrub of the data folder began; -1 before the first.", func() float64 {
			if age, scrubbed := c.Store.ScrubAge(); scrubbed {
				return age.Seconds()
			}
			return -1
		}),
		gauge("payledger_scrub_bytes", "Size of the files that the newest scrub of the data folder reads, at most 16 MiB a second; 0 before the first.",
			func() float64 { return float64(c.Store.ScrubBytes()) }),
	)
	registry.MustRegister(c.connections())
	if c.Operations != nil {
		registry.MustRegister(c.waiting(), c.webhooks())
	}
	if c.Events != nil {
		registry.MustRegister(
			gauge("payledger_events_position", "Position of the newest event in the stream EVENTS for analysts.",
				func() float64 { return float64(c.Events.Position()) }),
			gauge("payledger_events_failing", "1 while the stream EVENTS for analysts is damaged or takes no events.", func() float64 { return oneIf(c.Events.Failing()) }),
			prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "payledger_events_faults_total", Help: "Times that the stream EVENTS was damaged or differed from the log; it was written again then."},
				func() float64 { return float64(c.Events.Faults()) }),
		)
	}
	return registry
}

// connections exports the state of each connection to a processor.
func (c Config) connections() prometheus.Collector {
	answering := prometheus.NewDesc("payledger_processor_answering",
		"1 while the processor answers this node, 0 while it does not, or while the connection is misconfigured; absent before the first call.", []string{"processor"}, nil)
	unfit := prometheus.NewDesc("payledger_processor_unfit_answers_total",
		"Answers of the processor that were garbage, or about another payment, operation, currency or amount: they count as none.", []string{"processor"}, nil)
	return collector{[]*prometheus.Desc{answering, unfit}, func(out chan<- prometheus.Metric) {
		for _, name := range c.Processors {
			connection := c.Connection(name)
			if state := connection.State; state != processor.NotAsked {
				out <- prometheus.MustNewConstMetric(answering, prometheus.GaugeValue, oneIf(state == processor.Answering), string(name))
			}
			out <- prometheus.MustNewConstMetric(unfit, prometheus.CounterValue, float64(connection.Unfit.Total), string(name))
		}
	}}
}

// collector exports the metrics that collect reads. Each has one of the descriptions.
type collector struct {
	descriptions []*prometheus.Desc
	collect      func(chan<- prometheus.Metric)
}

func (c collector) Describe(out chan<- *prometheus.Desc) {
	for _, one := range c.descriptions {
		out <- one
	}
}

func (c collector) Collect(out chan<- prometheus.Metric) { c.collect(out) }

func gauge(name, help string, value func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
}

func oneIf(condition bool) float64 {
	if condition {
		return 1
	}
	return 0
}
