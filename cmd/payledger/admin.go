package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"payledger/cmd/payledger/audit"
	"payledger/cmd/payledger/control"
	"payledger/cmd/payledger/metrics"
	"payledger/eventstore"
)

// errDamagedLog is the API's reason for a log that is damaged or whose disk failed. The operators' address names the place.
var errDamagedLog = errors.New("the log is damaged, or cannot be written")

// publicReason returns the result of healthy without the details for operators.
func (a *App) publicReason(context.Context) error {
	err := a.healthy()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, eventstore.ErrFull):
		return eventstore.ErrFull
	case errors.Is(err, errLeaving):
		return errLeaving
	case errors.Is(err, eventstore.ErrUnhealthy):
		return errDamagedLog
	default:
		a.log.Debug().Err(err).Msg("not ready")
		return errors.New("a part of the service has stopped, or is behind")
	}
}

// adminScrub scrubs the data folder once, and answers as /readyz does.
func (a *App) adminScrub(w http.ResponseWriter, r *http.Request) {
	if err := a.ledger.Store.Scrub(r.Context()); err != nil && !errors.Is(err, eventstore.ErrUnhealthy) {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	a.adminReady(w, r)
}

// adminReady serves /readyz with the whole reason: stream, sequence and shards.
func (a *App) adminReady(w http.ResponseWriter, r *http.Request) {
	answer := struct {
		Ready  bool   `json:"ready"`
		Reason string `json:"reason,omitempty"`
		Shards []int  `json:"damagedShards,omitempty"`
	}{Ready: true, Shards: a.ledger.Store.Damaged()}
	if err := a.healthy(); err != nil {
		answer.Ready, answer.Reason = false, err.Error()
	}
	w.Header().Set("Content-Type", "application/json")
	if !answer.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(answer) // the client may be gone
}

func (a *App) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", metrics.Handler(metrics.Config{
		Store: a.ledger.Store, Questions: a.commands.Waiting, Operations: a.views.PendingOperations, Now: a.clock, Patience: a.recoverer.Patience(),
		Intake: a.intake.Tally, Answers: a.answers, Webhooks: a.notifier.Tally, Backlog: a.index.Backlog, Events: a.feed,
	}))
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

// openControl listens on the socket in the data folder, for the commands that reach a running service (I1).
func (a *App) openControl(ctx context.Context) (err error) {
	mux := http.NewServeMux()
	mux.Handle("/verify", control.Command(audit.VerifyHandler(a.ledger.Store, a.ledger.Secrets, a.views, a.index)))
	mux.Handle("/account-create", control.Command(a.createAccount))
	mux.Handle("/erase-customer", control.Command(a.eraseCustomer))
	mux.Handle("/analytics-user", control.Command(a.changeAnalyticsUser))
	mux.Handle("/rebuild", control.Command(audit.RebuildHandler(a.ledger.Store, a.views, a.index)))
	mux.Handle("/backup-cut", control.Command(func(ctx context.Context, _ struct{}, _ func(any) error) (any, error) { return a.ledger.Store.Cut(ctx) }))
	a.control, err = control.Listen(ctx, a.options.Data, mux)
	return err
}

const (
	// readyWithin is the longest lag of the views behind the log at which the service is ready.
	readyWithin = 2 * time.Second
	watchEvery  = 250 * time.Millisecond
)

var errBehind = errors.New("the views are behind the log")

// viewsWatch measures the lag of the views. A probe must not wait for the views: it reads the last measurement (I1).
type viewsWatch struct {
	caughtUp func(context.Context) error
	progress func() (done, of uint64)
	shown    atomic.Int64 // the views have all events up to this time: Unix nanoseconds
}

func (v *viewsWatch) run(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		began := time.Now()
		if err := v.caughtUp(ctx); err == nil {
			v.shown.Store(began.UnixNano())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (v *viewsWatch) behind() error {
	if time.Since(time.Unix(0, v.shown.Load())) > readyWithin+watchEvery {
		done, of := v.progress()
		return fmt.Errorf("%w: they have %d of %d events", errBehind, done, of)
	}
	return nil
}
