package ownertest

import (
	"context"
	"sync"
	"testing"
	"time"

	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/nodes"
)

const viewsEvery = 250 * time.Millisecond // between two looks of a node's views at the end of the log

// follow lets a node do what a serving node does without requests: it beats, a reader takes the
// events of the fan-out, and at intervals it asks the other nodes for their ends, as views do.
func (n *node) follow(ctx context.Context, loops *sync.WaitGroup) {
	registry := n.register()
	fanout := eventstore.NewFanout(n.store)
	reader := fanout.Reader("views", nil)
	loops.Go(func() { _ = fanout.Run(ctx) })
	loops.Go(func() {
		for {
			if _, err := reader.Next(ctx, 100); err != nil {
				return
			}
		}
	})
	loops.Go(func() {
		for again := time.NewTicker(viewsEvery); ; {
			select {
			case <-ctx.Done():
				return
			case <-again.C:
			}
			if _, _, err := registry.Ends(ctx, false); err != nil && ctx.Err() == nil {
				n.w.t.Error(err)
			}
		}
	})
}

// messages returns the number of messages in each stream of the log.
func (w *world) messages() map[string]uint64 {
	w.t.Helper()
	js, err := w.watcher.JetStream()
	if err != nil {
		w.t.Fatal(err)
	}
	all := map[string]uint64{}
	for info := range js.Streams() {
		all[info.Config.Name] = info.State.LastSeq
	}
	return all
}

// TestIdleWeek: in a week without requests three nodes of a cluster append nothing to any shard, to
// the records of deliveries, or beside the log; only their beats go on. The days are steps of the
// clock of the leases, and between two of them time passes for all timers: ten minutes in the whole
// test. Then everything works at once.
func TestIdleWeek(t *testing.T) {
	shards, days, between := 8, 7, 10*time.Minute/7
	if seedtest.Sampled() {
		shards, days, between = 4, 3, 4*time.Second
	}
	play(t, 3, shards, func(w *world) {
		ctx, stop := context.WithCancel(w.t.Context())
		var loops sync.WaitGroup
		defer loops.Wait()
		defer stop()
		for _, n := range w.nodes {
			n.follow(ctx, &loops)
		}
		keys := []eventstore.Key{}
		for shard := range shards {
			keys = append(keys, w.newKey(shard))
			for _, n := range w.nodes {
				n.add(keys[shard]).must()
			}
		}
		w.pass(30 * time.Second) // the shards are shared out, and everything that was late has been done
		before := w.messages()
		for range days {
			for _, n := range w.nodes {
				n.clock.jump(24*time.Hour, 24*time.Hour)
			}
			w.pass(between)
		}
		for name, last := range w.messages() {
			if n := last - before[name]; n > 0 && name != nodes.Stream {
				w.t.Errorf("%d messages in %s", n, name)
			}
		}
		if len(before) < shards+2 || before[nodes.Stream] == w.messages()[nodes.Stream] {
			w.t.Errorf("nothing was looked at: %v", before)
		}
		for shard, key := range keys {
			w.within("after a week", func() *call { return w.nodes[shard%len(w.nodes)].read(key) }, func() *call { return w.nodes[0].add(key) })
		}
		w.check()
	})
}
