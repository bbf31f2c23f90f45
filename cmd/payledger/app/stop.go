package app

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"payledger/cmd/payledger/web"
)

// The parts of an orderly stop's 10 s (I1).
const (
	DrainAfter = 6 * time.Second         // then waiting callers get the answer of a payment timeout
	CutAfter   = 1500 * time.Millisecond // then connections are closed; the rest is for closing the stores
)

const (
	leaveAfter   = time.Second            // for telling the other nodes that this node leaves, and for handing its shards over
	controlGrace = 100 * time.Millisecond // for a running command on the control socket
	WebhookGrace = 500 * time.Millisecond // for a running attempt to send a webhook
	coverAfter   = time.Second            // for the checkpoint of the newest events
)

var errLeaving = errors.New("the service is stopping")

// Leave makes /readyz answer 503. The service still takes requests: a proxy that reads /readyz
// sends the next ones to other nodes. Every answer closes its connection, so that the proxy keeps
// none that Stop would close under a request.
func (a *App) Leave() { a.leaving.Store(true) }

// whileLeaving returns the handler h, whose answers close their connections after leave.
func (a *App) whileLeaving(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.leaving.Load() {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

// ServeUntil returns nil when over is closed, or the error that ends the process. fatal: the disk
// failed, and would hold up an orderly stop.
func (a *App) ServeUntil(over <-chan struct{}) (fatal bool, failure error) {
	select {
	case <-over:
		return false, nil
	case failure = <-a.Failed:
		return false, failure
	case failure = <-a.Ledger.Store.Fatal():
		return true, failure
	}
}

// Stop lets running requests finish, and closes every part in the reverse order of Start. It is
// safe after a Start that failed halfway.
func (a *App) Stop() error {
	var errs []error
	if a.control != nil {
		ctx, cancel := context.WithTimeout(context.Background(), controlGrace)
		errs = append(errs, a.control.Stop(ctx))
		cancel()
	}
	a.stopFeeds()
	var handing sync.WaitGroup
	handing.Go(a.leaveShards)
	if a.API != nil {
		errs = append(errs, a.stopRequests())
	}
	handing.Wait()
	if a.Ledger != nil {
		a.Ledger.Store.Hurry()
	}
	if a.Commands != nil {
		a.Commands.Drain()
	}
	if a.workflows != nil {
		a.workflows.Close() // before commands: its runs call them
	}
	if a.Commands != nil {
		a.Commands.Close()
	}
	a.coverEvents()
	a.stopAPI()
	if a.Recoverer != nil {
		a.Recoverer.Close()
	}
	a.loops.Wait()
	if a.analysts != nil {
		a.analysts.Close()
	}
	if a.simulator != nil {
		errs = append(errs, a.simulator.Close()) // before its server: it cuts the requests that it delays
	}
	for _, w := range []*web.Server{a.Admin, a.Sim} {
		if w != nil {
			errs = append(errs, w.Stop(100*time.Millisecond))
		}
	}
	if a.proofs != nil {
		a.proofs.Close()
	}
	leaving, cancel := context.WithTimeout(context.Background(), leaveAfter)
	a.Nodes.Close(leaving) // after the last webhook, and before the views: its beats report their progress
	cancel()
	if a.Views != nil {
		errs = append(errs, a.Views.Close())
	}
	if a.index != nil {
		errs = append(errs, a.index.Close())
	}
	if a.Ledger != nil {
		errs = append(errs, a.Ledger.Close())
	}
	return errors.Join(errs...)
}

// leaveShards hands the shards of this node over, while it still takes requests. Without an answer
// other nodes take them over after it has ended.
func (a *App) leaveShards() {
	if a.Ledger == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveAfter)
	defer cancel()
	if err := a.Ledger.Store.Leave(ctx); err != nil {
		a.log.Warn().Err(err).Msg("other nodes take the shards of this node over")
	}
}

// stopFeeds ends the open streams of events: their clients continue elsewhere, or after the
// restart.
func (a *App) stopFeeds() { a.closeOnce.Do(func() { close(a.closing) }) }

// stopRequests lets requests finish; after drainAfter it answers those that wait for a processor.
func (a *App) stopRequests() error {
	if a.Commands != nil {
		defer time.AfterFunc(DrainAfter, a.Commands.Drain).Stop()
	}
	var calls sync.WaitGroup
	defer calls.Wait()
	if a.endCalls != nil {
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), DrainAfter+CutAfter)
			defer cancel()
			a.endCalls(ctx)
		})
	}
	return a.API.Stop(DrainAfter + CutAfter)
}

// coverEvents waits until a checkpoint covers the newest events, so that each event in the folder
// of a stopped service has its position. In a cluster another node covers them.
func (a *App) coverEvents() {
	if a.watch == nil || !a.keepsViews() || !a.Ledger.Store.Sole() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), coverAfter)
	defer cancel()
	if err := a.Ledger.Store.Checkpoints().Cover(ctx, a.Ledger.Store.Events); err != nil {
		a.log.Warn().Err(err).Msg("the newest events get their positions at the next start")
	}
}
