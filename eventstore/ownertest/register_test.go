package ownertest

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore"
	"payledger/eventstore/nodes"
)

// register lets a node join the registry of the nodes that serve, as the service does, and share
// the shards with them.
func (n *node) register() *nodes.Registry {
	n.w.t.Helper()
	began := time.Now()
	registry, err := n.store.OpenNodes(n.w.t.Context(), nodes.Config{
		Self:    nodes.Record{Address: "http://" + n.w.named(n.name), Build: nodes.Build{Version: "v1", Schemas: map[string]int{"sum": 1}}},
		Applied: n.store.Appended, Settle: func() {}, Healthy: func() error { return nil }, Now: time.Now,
		WaitFor: func(context.Context, []uint64) error { return nil }, // a store shows what it has applied
		CatchUp: func(ctx context.Context) error {
			for shard := range n.w.shards {
				if _, err := n.store.LastSeq(eventstore.Reading(ctx, eventstore.Majority), shard); err != nil {
					return err
				}
			}
			return nil
		},
		Clock: func() time.Duration { return time.Since(began) + time.Hour }, Logger: zerolog.Nop(),
	})
	if err != nil {
		n.w.t.Fatal(err)
	}
	n.w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		registry.Close(ctx)
	})
	if err := registry.Serve(n.w.t.Context()); err != nil {
		n.w.t.Fatal(err)
	}
	return registry
}
