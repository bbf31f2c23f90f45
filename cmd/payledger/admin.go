package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"payledger/eventstore"
)

// errDamagedLog is what the API says of a log that is damaged, or whose disk failed. Where, the admin address says.
var errDamagedLog = errors.New("the log is damaged, or cannot be written")

// publicReason is healthy without what only operators may know.
func (a *App) publicReason(context.Context) error {
	err := a.healthy()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, eventstore.ErrFull):
		return eventstore.ErrFull
	case errors.Is(err, eventstore.ErrUnhealthy):
		return errDamagedLog
	default:
		a.log.Debug().Err(err).Msg("not ready")
		return errors.New("a part of the service has stopped, or is behind")
	}
}

// adminScrub makes one pass over the data folder at once, and answers as /readyz does.
func (a *App) adminScrub(w http.ResponseWriter, r *http.Request) {
	if err := a.ledger.store.Scrub(r.Context()); err != nil && !errors.Is(err, eventstore.ErrUnhealthy) {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	a.adminReady(w, r)
}

// adminReady serves /readyz with the reason as it is: stream, sequence and shards.
func (a *App) adminReady(w http.ResponseWriter, r *http.Request) {
	answer := struct {
		Ready  bool   `json:"ready"`
		Reason string `json:"reason,omitempty"`
		Shards []int  `json:"damagedShards,omitempty"`
	}{Ready: true, Shards: a.ledger.store.Damaged()}
	if err := a.healthy(); err != nil {
		answer.Ready, answer.Reason = false, err.Error()
	}
	w.Header().Set("Content-Type", "application/json")
	if !answer.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(answer) // the client may be gone
}

// adminHandler serves what operators look at: /metrics, /readyz and with --pprof /debug/pprof, on an address of their own.
func (a *App) adminHandler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&waitingCollector{memory: a.commands.Waiting, views: a.views.PendingOperations, now: a.clock, patience: a.patience()},
		intakeCollector{a.intake.Tally},
		webhookCollector{a.notifier.Tally, a.index.Backlog},
		answerCollector{a.answers},
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "payledger_log_healthy", Help: "1 while the log takes appends.",
		}, func() float64 {
			if a.ledger.store.Healthy() != nil {
				return 0
			}
			return 1
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "payledger_log_damaged_shards", Help: "Shards of the log that take no appends because they are damaged.",
		}, func() float64 { return float64(len(a.ledger.store.Damaged())) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "payledger_disk_full", Help: "1 while the disk has no room for new requests.",
		}, func() float64 {
			if a.ledger.store.Full() != nil {
				return 1
			}
			return 0
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "payledger_scrub_age_seconds", Help: "Time since the last whole scrub of the data folder began; -1 before the first.",
		}, func() float64 {
			if age, scrubbed := a.ledger.store.ScrubAge(); scrubbed {
				return age.Seconds()
			}
			return -1
		}),
	)
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/readyz", a.adminReady)
	mux.HandleFunc("POST /scrub", a.adminScrub)
	if a.options.Pprof { // without cmdline: arguments may hold secrets
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}
