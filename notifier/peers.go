package notifier

import (
	"context"
	"sync"
	"time"

	"payledger/eventstore/deliverylog"
	"payledger/eventstore/due"
	"payledger/notifier/delivery"
)

const goneEvery = 500 * time.Millisecond

// owners are the owner ids of other nodes that own open deliveries. When one is gone, the lanes
// read its deliveries from the stream.
type owners struct {
	mu  sync.Mutex
	ids map[string]bool
}

func (o *owners) note(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ids[id] = true
}

func (o *owners) takeGone(gone func(string) bool) (found bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id := range o.ids {
		if gone(id) {
			delete(o.ids, id)
			found = true
		}
	}
	return found
}

// watch follows the deliveries that other nodes plan or try, until ctx ends, and takes over the
// deliveries of nodes that are gone. The planner cannot find them all: replays of other nodes plan
// deliveries of events that this node has passed.
func (n *Notifier) watch(ctx context.Context) {
	var taking sync.WaitGroup
	defer taking.Wait()
	taking.Go(func() { n.watchOwners(ctx) })
	err := n.stream.Follow(ctx, n.watchAfter+1, n.apply)
	if ctx.Err() == nil {
		n.health.Set(peersProblem, err)
		n.Logger.Error().Err(err).Msg("deliveries of other processes are not followed any more")
	}
}

func (n *Notifier) watchOwners(ctx context.Context) {
	for due.Rest(ctx, goneEvery, nil) == nil {
		if n.lanes.owners.takeGone(n.ownership.Nodes.Gone) {
			n.lanes.scan()
		}
	}
}

// apply passes records of other nodes, in the order of the stream, to the lanes.
func (n *Notifier) apply(page []deliverylog.Record) error {
	for _, stored := range page {
		if !stored.IsDelivery() {
			continue
		}
		d, err := delivery.Decode(stored)
		if err != nil {
			return err
		}
		if !n.ownership.IsMine(d) {
			n.lanes.of(d.Lane()).found(stored.Seq, d)
		}
	}
	return nil
}
