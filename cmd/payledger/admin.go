package main

import (
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// adminHandler serves what operators look at: /metrics and /debug/pprof, on an address of their own.
func (a *App) adminHandler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		waitingCollector{a.commands.Waiting},
		webhookCollector{a.notifier.Tally, a.index.Backlog},
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "payledger_log_healthy", Help: "1 while the log takes appends.",
		}, func() float64 {
			if a.ledger.store.Healthy() != nil {
				return 0
			}
			return 1
		}),
	)
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
