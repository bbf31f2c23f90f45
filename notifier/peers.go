package notifier

import (
	"context"
	"sync"
	"time"

	"payledger/eventstore/deliverylog"
	"payledger/notifier/delivery"
	"payledger/notifier/health"
)

// peersProblem is the name of problems with the records of other processes, in Notifier.health.
const peersProblem = "deliveries of other processes"

// goneEvery is the interval of the questions whether an owner of deliveries is gone.
const goneEvery = 500 * time.Millisecond

// follow is the type of deliverylog.Stream.Follow.
type follow func(ctx context.Context, from uint64, batch func([]deliverylog.Record) error) error

// owners are the names of other processes that own open deliveries. The deliveries themselves are only in the stream: when a name is
// gone, the lanes read them from there. A nil owners has none.
type owners struct {
	mu    sync.Mutex
	names map[string]bool
}

func (o *owners) note(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.names[name] = true
}

// takeGone removes the names that are gone, and reports whether there was one.
func (o *owners) takeGone(gone func(string) bool) (any bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name := range o.names {
		if gone(name) {
			delete(o.names, name)
			any = true
		}
	}
	return any
}

// watch follows the deliveries that other processes plan or try, until ctx ends, and takes the deliveries of processes over that are
// gone. The planner cannot find them all: replays of other processes plan deliveries of events that this process has passed.
func (n *Notifier) watch(ctx context.Context) {
	var taking sync.WaitGroup
	defer taking.Wait()
	taking.Go(func() { n.takeOver(ctx) })
	err := n.follow(ctx, n.through+1, n.apply)
	if ctx.Err() == nil {
		n.health.Set(peersProblem, err)
		n.log.Error().Err(err).Msg("deliveries of other processes are not followed any more")
	}
}

// takeOver makes the lanes read their open deliveries when an owner of some is gone.
func (n *Notifier) takeOver(ctx context.Context) {
	for health.Pause(ctx, goneEvery) {
		if n.lanes.owners.takeGone(n.ownership.Nodes.Gone) {
			n.lanes.scan()
		}
	}
}

// apply passes records of other processes, in the order of the stream, to the lanes.
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
