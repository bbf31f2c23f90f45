package main

import (
	"context"
	"crypto/rand"
	"errors"
	"runtime/debug"
	"time"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/nodes"
	"payledger/eventstore/pending"
	"payledger/httpapi"
	"payledger/notifier/listener"
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
	build, _ := debug.ReadBuildInfo() // without it the version is "unknown"
	version, commit := buildOf(build)
	a.nodes, err = a.ledger.Store.OpenNodes(ctx, nodes.Config{
		Self: nodes.Record{Node: id, Address: a.api.URL, Build: nodes.Build{Version: version, Commit: commit, Schemas: eventstore.Schemas()}},
		// The account directory, the erasures and the log's own tips have an event when the views have it.
		Applied: a.views.Positions, Settle: a.settle, WaitFor: a.applied, CatchUp: a.views.CaughtUp, Healthy: a.views.Healthy,
		Clock: a.leaseClock, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.ledger.Store.WriteFor(a.nodes.Reads)
	return nil
}

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

// enterService returns when the other nodes include this node, and this node has everything that they acknowledged before.
func (a *App) enterService(ctx context.Context) error { return a.nodes.Serve(ctx) }

// settle returns when this node sends no request that was composed before a change which it has applied.
func (a *App) settle() {
	if n := a.sending.Load(); n != nil { // it opens after this node has joined
		n.Settle()
	}
}

// everywhere returns when all nodes have applied a position, and send nothing that was composed before.
func (a *App) everywhere(ctx context.Context, position []uint64) error {
	if a.nodes != nil { // else the log's only writer has its own events at once
		if err := a.nodes.Await(ctx, position); err != nil {
			return err
		}
	}
	a.settle()
	return nil
}

// leftBy returns a function that reports whether another node that is gone wrote the last event of an aggregate.
func (a *App) leftBy(aggregate string) func(context.Context, pending.Item) bool {
	return func(ctx context.Context, i pending.Item) bool {
		last, err := a.ledger.Store.Load(ctx, eventstore.Key{Aggregate: aggregate, Account: i.Account, ID: i.ID}, eventstore.AllowStale)
		if err != nil { // the wheel finds it later
			a.log.Warn().Err(err).Str("id", i.ID).Msg("cannot tell which node last worked on it")
			return false
		}
		return a.nodes.Left(last.CommandID) && last.CommandID != a.nodes.Mark(last.CommandID)
	}
}

// openListeners makes the hub of webhooks that programs read as a stream. In a cluster the nodes hand them to each other.
func (a *App) openListeners() {
	a.listeners = &listener.Hub{Key: a.ledger.Derive("webhook listeners")}
	if a.nodes != nil {
		a.listeners.Peers = peers{a.nodes}
	}
}

type peers struct{ *nodes.Registry }

// Ask is Registry.Ask with the error of package listener.
func (p peers) Ask(ctx context.Context, topic string, data []byte, sent func()) ([]byte, error) {
	answer, err := p.Registry.Ask(ctx, topic, data, sent)
	if errors.Is(err, nodes.ErrNobody) {
		return nil, listener.ErrNobody
	}
	return answer, err
}

// sweeper deletes the listeners that nobody reads.
func (a *App) sweeper() *listener.Sweeper {
	return &listener.Sweeper{Hub: a.listeners, Endpoints: a.allListeners, Logger: a.log, Delete: func(ctx context.Context, e listener.Endpoint) error {
		if a.commands == nil || a.nodes.Valid() != nil { // it starts, or another node does it
			return nil
		}
		by := commands.Caller{Account: e.Account, Actor: "process:listeners", RequestID: "listener:" + string(e.ID)}
		_, err := a.commands.DeleteEndpoint(ctx, by, e.ID)
		if domain.ReasonOf(err) == domain.ReasonEntityNotFound { // another node was faster
			return nil
		}
		return err
	}}
}

func (a *App) allListeners() (all []listener.Endpoint) {
	for _, merchant := range a.views.Accounts() {
		for _, e := range merchant.Endpoints {
			if e.Listener() {
				all = append(all, listener.Endpoint{Account: merchant.ID, ID: e.ID})
			}
		}
	}
	return all
}

const shareEvery = 100 * time.Millisecond // between two messages with the number of requests that this node allowed

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
