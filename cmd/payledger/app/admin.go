package app

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
	"payledger/domain/processor"
	"payledger/eventstore"
)

// errDamagedLog is the API's reason for a log that is damaged or whose disk failed. The operators'
// address names the place.
var errDamagedLog = errors.New("the log is damaged, or cannot be written")

// publicReason returns the result of healthy without the details for operators.
func (a *App) publicReason(context.Context) error {
	err := a.Healthy()
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
	if err := a.Ledger.Store.Scrub(r.Context()); err != nil && !errors.Is(err, eventstore.ErrUnhealthy) {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	a.adminReady(w, r)
}

// adminReady serves /readyz with the whole reason: stream, sequence and shards. A fault of the
// stream for analysts is named, and so is a processor that does not answer: the service stays
// ready.
func (a *App) adminReady(w http.ResponseWriter, r *http.Request) {
	answer := struct {
		Ready    bool   `json:"ready"`
		Role     string `json:"role"`
		Reason   string `json:"reason,omitempty"`
		Shards   []int  `json:"damagedShards,omitempty"`
		Analysts string `json:"analysts,omitempty"`

		Processors map[processor.Name]processorState `json:"processors"`
	}{Ready: true, Processors: a.processorStates(), Role: string(a.role()), Shards: a.Ledger.Store.Damaged()}
	if a.Feed != nil {
		answer.Analysts = a.Feed.Fault()
	}
	if err := a.Healthy(); err != nil {
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
	config := metrics.Config{
		Store: a.Ledger.Store, Lookups: a.Commands.Waiting, Now: a.clock, Patience: a.Recoverer.Patience(),
		Processors: a.Processors.Names(), Connection: a.Processors.Connection,
		Intake: a.Intake.Tally, Answers: a.answers, Durations: a.durations, Events: a.Feed, Role: string(a.role()), Ahead: a.Nodes.Ahead,
	}
	if a.keepsViews() {
		config.Operations, config.Webhooks, config.Backlog = a.Views.PendingOperations, a.notifier.Tally, a.index.Backlog
	}
	mux.Handle("/metrics", metrics.Handler(config))
	mux.HandleFunc("/readyz", a.adminReady)
	mux.HandleFunc("POST /scrub", a.adminScrub)
	if a.Options.Pprof { // without cmdline: arguments may hold secrets
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// openControl listens on the socket in the data folder, for the commands that reach a running
// service (I1).
func (a *App) openControl(ctx context.Context) (err error) {
	mux := http.NewServeMux()
	views := a.Views
	if !a.keepsViews() {
		views = nil
	}
	mux.Handle("/verify", control.Command(audit.VerifyHandler(a.Ledger.Store, a.Ledger.Secrets, views, a.index)))
	mux.Handle("/account-create", control.Command(a.createAccount))
	mux.Handle("/account-list", control.Command(a.listAccounts))
	mux.Handle("/credentials-reset", control.Command(a.resetCredentials))
	mux.Handle("/erase-customer", control.Command(a.eraseCustomer))
	mux.Handle("/analytics-user", control.Command(a.changeAnalyticsUser))
	mux.Handle("/rebuild", control.Command(audit.RebuildHandler(a.Ledger.Store, views, a.index)))
	mux.Handle("/backup-moment", control.Command(func(ctx context.Context, _ struct{}, _ func(any) error) (any, error) { return a.Ledger.Store.Cut(ctx) }))
	a.control, err = control.Listen(ctx, a.Options.Data, mux)
	return err
}

const (
	// ReadyWithin is the longest lag of the views behind the log at which the service is ready.
	ReadyWithin = 2 * time.Second
	// WatchEvery is the time between two measurements.
	WatchEvery = 250 * time.Millisecond
)

var errBehind = errors.New("the views are behind the log")

// ViewsWatch measures the lag of the views. A probe must not wait for the views: it reads the last
// measurement (I1).
type ViewsWatch struct {
	KeepUp   func(context.Context) (age time.Duration, err error) // see projections.KeepUp
	Progress func() (done, of uint64)
	Shown    atomic.Int64 // the views have all events up to this time: Unix nanoseconds
}

// Run measures until ctx ends.
func (v *ViewsWatch) Run(ctx context.Context) {
	tick := time.NewTicker(WatchEvery)
	defer tick.Stop()
	for {
		if age, err := v.KeepUp(ctx); err == nil {
			v.Shown.Store(time.Now().Add(-age).UnixNano())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Behind returns an error if the views lag more than ReadyWithin.
func (v *ViewsWatch) Behind() error {
	if time.Since(time.Unix(0, v.Shown.Load())) > ReadyWithin+WatchEvery {
		done, of := v.Progress()
		return fmt.Errorf("%w: they have %d of %d events", errBehind, done, of)
	}
	return nil
}
