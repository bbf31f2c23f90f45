package app

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/pending"
	"payledger/eventstore/format"
	"payledger/eventstore/nodes"
	"payledger/httpapi"
	"payledger/notifier/listener"
)

// joinNodes announces this node to the other nodes of the cluster. It serves only after
// enterService.
func (a *App) joinNodes(ctx context.Context) error {
	if a.Options.NatsURL == "" {
		return nil
	}
	build, _ := debug.ReadBuildInfo() // without it the version is "unknown"
	version, commit := BuildOf(build)
	var err error
	a.Nodes, err = a.Ledger.Store.OpenNodes(ctx, nodes.Config{
		Self: nodes.Record{Address: a.API.URL, Role: a.role(), Build: nodes.Build{Version: version, Commit: commit, Schemas: eventstore.Schemas(), Header: format.HeaderLevel}},
		// The account directory, the erasures and the log's own tips have an event when the views
		// have it.
		Applied: a.Views.Positions, Settle: a.settle, WaitFor: a.Views.Reach, Healthy: a.Views.Healthy,
		// Membership rests on the log itself, and on no lease of a shard's owner.
		CatchUp: func(ctx context.Context) error { return a.Views.Barrier(eventstore.Reading(ctx, eventstore.Majority)) },
		Now:     a.clock, Clock: a.leaseClock, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.Views.AskNodes(func(ctx context.Context, hurry bool) ([]uint64, time.Duration, error) {
		position, asOf, err := a.Nodes.Ends(ctx, hurry)
		return position, a.Nodes.Clock() - asOf, err
	})
	return nil
}

// over returns a time of day that is over here and at the NATS servers. A destroyed secret is gone
// for all nodes, so a clock that is ahead must destroy nothing early. over reports false in a
// cluster whose time is not known yet.
func (a *App) over() (time.Time, bool) {
	now := a.clock()
	if a.Nodes == nil {
		return now, true
	}
	there, known := a.Nodes.ServerTime()
	if there.Before(now) {
		now = there
	}
	return now, known
}

// enterService returns when the other nodes include this node, and this node has everything that
// they acknowledged before.
func (a *App) enterService(ctx context.Context) error { return a.Nodes.Serve(ctx) }

// settle returns when this node sends no request that was composed before a change which it has
// applied.
func (a *App) settle() {
	if n := a.sending.Load(); n != nil { // it opens after this node has joined
		n.Settle()
	}
}

// everywhere returns when all nodes have applied a position, and send nothing that was composed
// before.
func (a *App) everywhere(ctx context.Context, position []uint64) error {
	if a.Nodes != nil { // else the log's only writer has its own events at once
		if err := a.Nodes.Await(ctx, position); err != nil {
			return err
		}
	}
	a.settle()
	return nil
}

// leftBy returns a function that reports whether another node that is gone wrote the last event of
// an aggregate.
func (a *App) leftBy(aggregate string) func(context.Context, pending.Item) bool {
	return func(ctx context.Context, i pending.Item) bool {
		last, err := a.Ledger.Store.Load(ctx, eventstore.Key{Aggregate: aggregate, Account: i.Account, ID: i.ID}, eventstore.Applied)
		if err != nil { // the wheel finds it later
			a.log.Warn().Err(err).Str("id", i.ID).Msg("cannot tell which node last worked on it")
			return false
		}
		return a.Nodes.Left(last.CommandID) && last.CommandID != a.Nodes.Mark(last.CommandID)
	}
}

// openListeners makes the hub of webhooks that programs read as a stream. In a cluster the nodes
// hand them to each other.
func (a *App) openListeners() {
	a.Listeners = &listener.Hub{Key: a.Ledger.Derive("webhook listeners")}
	if a.Nodes != nil {
		a.Listeners.Peers = peers{a.Nodes}
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
	return &listener.Sweeper{Hub: a.Listeners, Endpoints: a.AllListeners, Logger: a.log, Delete: func(ctx context.Context, e listener.Endpoint) error {
		if a.Commands == nil || a.Nodes.Valid() != nil { // it starts, or another node does it
			return nil
		}
		by := commands.Caller{Account: e.Account, Actor: "process:listeners", RequestID: "listener:" + string(e.ID)}
		_, err := a.Commands.DeleteEndpoint(ctx, by, e.ID)
		if domain.ReasonOf(err) == domain.ReasonEntityNotFound { // another node was faster
			return nil
		}
		return err
	}}
}

// AllListeners returns the listening endpoints of all accounts.
func (a *App) AllListeners() (all []listener.Endpoint) {
	for _, merchant := range a.Views.Accounts() {
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
	if a.Nodes == nil || a.Options.RateLimit == 0 {
		return nil
	}
	err := a.Nodes.Hear(func(data []byte) {
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
				err = a.Nodes.Tell(data)
			}
			if err != nil { // without a connection this node soon answers no requests
				a.log.Debug().Err(err).Msg("the other nodes do not know the rates of this node")
			}
		}
	})
	return nil
}
