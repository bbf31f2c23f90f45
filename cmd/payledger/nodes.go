package main

import (
	"context"
	"crypto/rand"
	"runtime/debug"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/nodes"
	"payledger/httpapi"
)

// joinNodes announces this node to the other nodes of the cluster. It serves only after enterService.
func (a *App) joinNodes(ctx context.Context) error {
	if a.options.NatsURL == "" {
		return nil
	}
	id, err := eventstore.NewUUID(rand.Reader)
	if err != nil {
		return err
	}
	version, commit := buildOf(debug.ReadBuildInfo())
	a.nodes, err = a.ledger.Store.OpenNodes(ctx, nodes.Config{
		Self: nodes.Record{Node: id, Address: a.api.URL, Build: nodes.Build{Version: version, Commit: commit, Schemas: eventstore.Schemas()}},
		// The account directory, the erasures and the log's own tips have an event when the views have it.
		Applied: a.views.Positions, WaitFor: a.applied, CatchUp: a.views.CaughtUp, Healthy: a.views.Healthy, Clock: a.leaseClock, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.ledger.Store.WriteFor(a.nodes.Reads)
	return nil
}

// applied returns when this node has applied a position.
func (a *App) applied(ctx context.Context, position []uint64) error {
	for shard, address := range position {
		if address == 0 {
			continue
		}
		if err := a.views.WaitFor(ctx, shard, address); err != nil {
			return err
		}
	}
	return nil
}

// enterService returns when the other nodes count with this one, and it has everything that they acknowledged before.
func (a *App) enterService(ctx context.Context) error { return a.nodes.Serve(ctx) }

// everywhere returns the wait for all nodes; nil if this node is alone.
func (a *App) everywhere() func(context.Context, []uint64) error {
	if a.nodes == nil {
		return nil
	}
	return a.nodes.Await
}

// shareEvery is the time between two messages that tell the other nodes how many requests this node allowed.
const shareEvery = 100 * time.Millisecond

// shareRates makes rate limits hold in sum over all nodes.
func (a *App) shareRates(api *httpapi.API) error {
	if a.nodes == nil || a.options.RateLimit == 0 {
		return nil
	}
	err := a.nodes.Hear(func(data []byte) {
		if err := api.AllowedElsewhere(data); err != nil {
			a.log.Warn().Err(err).Msg("the rates of another node are unreadable")
		}
	})
	if err != nil {
		return err
	}
	a.loops.Go(func() {
		tick := time.NewTicker(shareEvery)
		defer tick.Stop()
		for {
			select {
			case <-a.closing:
				return
			case <-tick.C:
			}
			data, err := api.Allowed()
			if err == nil && data != nil {
				err = a.nodes.Tell(data)
			}
			if err != nil { // without a connection this node soon answers no requests
				a.log.Debug().Err(err).Msg("the other nodes do not know the rates of this node")
			}
		}
	})
	return nil
}
