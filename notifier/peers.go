package notifier

import (
	"context"

	"payledger/eventstore"
	"payledger/notifier/delivery"
)

// peersProblem names the reading of what other processes do among the troubles.
const peersProblem = "deliveries of other processes"

// maxPeerDeliveries is how many open deliveries of other processes are remembered by name; whether others still are open is
// looked up when their time for the handover has come.
const maxPeerDeliveries = 64 << 10

// follow is eventstore.DeliveryStream.Follow.
type follow func(ctx context.Context, from uint64, batch func([]eventstore.StoredDelivery) error) error

// watch tells the lanes of deliveries that other processes planned or tried, until ctx ends: should those processes
// go, this one sends them. What they plan need not be of an event that this process has yet to plan: a replay's is not.
func (n *Notifier) watch(ctx context.Context) {
	err := n.follow(ctx, n.through+1, (&peers{n, map[string]uint64{}}).take)
	if ctx.Err() == nil {
		n.health.Set(peersProblem, err)
		n.log.Error().Err(err).Msg("deliveries of other processes are not followed any more")
	}
}

// peers are the open deliveries of other processes, by name, with the places of their newest records.
type peers struct {
	*Notifier
	places map[string]uint64
}

// take takes up records of the stream, in their order.
func (o *peers) take(page []eventstore.StoredDelivery) error {
	for _, stored := range page {
		if !stored.IsDelivery() {
			continue
		}
		d, err := delivery.Decode(stored)
		if err != nil {
			return err
		}
		from := o.places[stored.Name]
		delete(o.places, stored.Name)
		if !o.ownership.IsMine(d) {
			o.lanes.of(d.Lane()).moved(from, stored.Seq, d)
			if d.Status.Open() && len(o.places) < maxPeerDeliveries {
				o.places[stored.Name] = stored.Seq
			}
		}
	}
	return nil
}
