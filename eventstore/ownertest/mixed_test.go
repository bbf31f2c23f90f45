package ownertest

import (
	"context"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/nodes"
	"payledger/eventstore/ownership"
)

// owners stands among the schemas in the record of a node whose build knows owners of shards.
const owners = "shard owners"

// register lets a node join the registry of the nodes that serve, as the service does, and share
// the shards with them. Of an older build, it does not know owners.
func (n *node) register(older bool) *nodes.Registry {
	n.w.t.Helper()
	schemas := map[string]int{owners: 1}
	if older {
		schemas = nil
	}
	began := time.Now()
	registry, err := n.store.OpenNodes(n.w.t.Context(), nodes.Config{
		Self:    nodes.Record{Node: n.name, Address: "http://" + n.w.named(n.name), Build: nodes.Build{Version: "v1", Schemas: schemas}},
		Applied: n.position, Acknowledged: n.position,
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
	n.store.ShareWith(engine.OtherNodes{
		Serving: func() (names []string) {
			for _, record := range registry.Live() {
				if record.State == nodes.Serving && record.Build.Schemas[owners] > 0 {
					names = append(names, record.Node)
				}
			}
			return names
		},
		Mixed: func() bool { return registry.Reads(owners) == 0 },
	})
	return registry
}

func (n *node) position() []uint64 {
	position := make([]uint64, n.w.shards)
	for shard := range position {
		position[shard] = n.store.Appended(shard)
	}
	return position
}

// TestOlderBuild: while a node of an older build is in the cluster, which appends without asking
// the owner, no read rests on a lease: each waits for a group that is sent after it. Reads rest on
// the lease again when that node has left, and when it is dead for so long that the others end its
// record.
func TestOlderBuild(t *testing.T) {
	const reads = 5
	for how, end := range map[string]func(*node, *nodes.Registry) (until time.Duration){
		"leaves": func(n *node, r *nodes.Registry) time.Duration { r.Close(n.w.t.Context()); return 3 * nodes.DefaultBeat },
		"is dead": func(n *node, _ *nodes.Registry) time.Duration {
			n.freeze()
			return nodes.DefaultSilence + 3*nodes.DefaultBeat
		},
	} {
		t.Run(how, func(t *testing.T) {
			play(t, 3, 1, func(w *world) {
				a, b, c := w.nodes[0], w.nodes[1], w.nodes[2]
				a.register(false)
				b.register(false)
				key := w.newKey(0)
				a.add(key).must()
				w.pass(3 * nodes.DefaultBeat)
				appended := func() int {
					a.add(key).must() // a lease
					before := len(w.groups(0))
					for range reads {
						a.read(key).must()
						b.read(key).must()
					}
					return len(w.groups(0)) - before
				}
				if n := appended(); n > 0 {
					w.t.Errorf("without an older build, %d reads append %d groups", 2*reads, n)
				}
				registry := c.register(true)
				w.pass(3 * nodes.DefaultBeat)
				if n := appended(); n < 2*reads {
					w.t.Errorf("beside an older build, %d reads append %d groups", 2*reads, n)
				}
				until := end(c, registry)
				if how == "is dead" {
					w.pass(until / 2)
					if n := appended(); n < 2*reads {
						w.t.Errorf("beside a dead node of an older build, %d reads append %d groups", 2*reads, n)
					}
				}
				w.pass(until)
				if n := appended(); n > 0 {
					w.t.Errorf("after the older build, %d reads append %d groups", 2*reads, n)
				}
				w.check()
			})
		})
	}
}

// TestMixed: a node appends without asking the owner, whose lease goes on, and which has not read
// the event yet. The owner's read is old, unless the owner knows of such a node. Here a node whose
// clock is ahead plays it: it takes the owner for gone.
func TestMixed(t *testing.T) {
	for _, mixed := range []bool{true, false} {
		play(t, 2, 1, func(w *world) {
			a, b := w.nodes[0], w.nodes[1]
			key := w.newKey(0)
			a.add(key).must()
			b.add(key).must()
			a.store.ShareWith(engine.OtherNodes{Serving: func() []string { return nil }, Mixed: func() bool { return mixed }})
			w.pass(time.Millisecond) // the owner has its acknowledgements
			a.in.shut()
			b.clock.jump(ownership.Absence, ownership.Absence)
			b.add(key).must()
			a.patience = ownership.Patience
			read := a.read(key)
			if wrong := w.wrong(); mixed && (wrong != nil || read.err == nil) {
				w.t.Errorf("an old read beside an older build: %s, %v", read, wrong)
			} else if !mixed && wrong == nil {
				w.t.Error("the schedule shows nothing: no old read without the knowledge, either")
			}
		})
	}
}
