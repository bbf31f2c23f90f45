package metrics

import (
	"cmp"
	"context"
	"time"

	"payledger/notifier/delivery"

	"github.com/prometheus/client_golang/prometheus"
)

const backlogTime = time.Second

var (
	webhooksOpen = prometheus.NewDesc("payledger_webhook_deliveries_open",
		"Webhook deliveries that wait for an attempt, by status: PLANNED for the first one, FAILED for another.", []string{"status"}, nil)
	webhooksOldest = prometheus.NewDesc("payledger_webhook_deliveries_oldest_open_seconds",
		"Unix time at which the open webhook delivery was planned that has waited longest, by status.", []string{"status"}, nil)
	webhookAttempts = prometheus.NewDesc("payledger_webhook_attempts_total",
		"Attempts to send webhooks that were recorded since the start, by result: OK, or why they failed.", []string{"result"}, nil)
	webhooksEnded = prometheus.NewDesc("payledger_webhook_deliveries_ended_total",
		"Webhook deliveries that came to their end since the start, by status.", []string{"status"}, nil)
)

// webhooks exports the state of webhooks (D18): open deliveries and the oldest of them, results of
// attempts, and ended deliveries.
func (c Config) webhooks() prometheus.Collector {
	return collector{[]*prometheus.Desc{webhooksOpen, webhooksOldest, webhookAttempts, webhooksEnded}, c.collectWebhooks}
}

func (c Config) collectWebhooks(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), backlogTime)
	defer cancel()
	if backlog, err := c.Backlog(ctx); err == nil {
		open := map[string]int{string(delivery.Planned): 0, string(delivery.Failed): 0}
		for _, b := range backlog {
			open[b.Status] = b.Count
			out <- prometheus.MustNewConstMetric(webhooksOldest, prometheus.GaugeValue, unixSeconds(b.Oldest), b.Status)
		}
		for status, n := range open {
			out <- prometheus.MustNewConstMetric(webhooksOpen, prometheus.GaugeValue, float64(n), status)
		}
	}
	counts := c.Webhooks()
	for failure, n := range counts.Attempts {
		out <- prometheus.MustNewConstMetric(webhookAttempts, prometheus.CounterValue, float64(n), cmp.Or(string(failure), "OK"))
	}
	for _, status := range []delivery.Status{delivery.Succeeded, delivery.Exhausted, delivery.Cancelled} {
		out <- prometheus.MustNewConstMetric(webhooksEnded, prometheus.CounterValue, float64(counts.Ended[status]), string(status))
	}
}
