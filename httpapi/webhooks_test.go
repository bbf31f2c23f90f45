package httpapi_test

import (
	"context"
	"crypto/rand"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore"
	"payledger/eventstore/secrets"
	"payledger/notifier"
	"payledger/projections/deliveries"
)

// webhooks are the notifier and its attempt log behind a rig's API: the real ones, so that what the management
// answers is what was sent.
type webhooks struct {
	retries []time.Duration // delays between automatic attempts; none: a failed delivery is exhausted at once
	rate    float64         // of replays, per second; 0: the default

	notifier *notifier.Notifier
	index    *deliveries.Index
	log      *notifier.Log
}

// open makes them for a rig that has a store and views, before its fan-out runs.
func (w *webhooks) open(ctx context.Context, r *rig, fanout *eventstore.Fanout, vault *secrets.Vault, logger zerolog.Logger) {
	r.t.Helper()
	var err error
	w.notifier, err = notifier.New(ctx, notifier.Config{
		Store: r.store, Fanout: fanout, Vault: vault, Views: r.views, Now: r.now, Random: rand.Reader, Logger: logger,
		RetryDelays: append([]time.Duration{}, w.retries...), AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	must(r.t, err)
	w.index, err = deliveries.Open(ctx, filepath.Join(r.dir, "views"), logger)
	must(r.t, err)
	w.log, err = notifier.OpenLog(ctx, notifier.LogConfig{
		Notifier: w.notifier, Store: r.store, Index: w.index, Now: r.now, Random: rand.Reader, Logger: logger, ReplayRate: w.rate,
	})
	must(r.t, err)
}
