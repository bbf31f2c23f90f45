package notifier

import (
	"context"

	"payledger/eventstore"
	"payledger/notifier/delivery"
)

// peersProblem names the reading of what other processes do among the troubles.
const peersProblem = "deliveries of other processes"

// maxPeerDeliveries bounds the open deliveries of other processes that are remembered by name. The state of the others
// is read when their handover is due.
const maxPeerDeliveries = 64 << 10

// follow is eventstore.DeliveryStream.Follow.
type follow func(ctx context.Context, from uint64, batch func([]eventstore.StoredDelivery) error) error

// watch follows the deliveries that other processes plan or try, until ctx ends: this process takes them over if those
// processes end. Replays of other processes plan deliveries of events that this process has long passed.
func (n *Notifier) watch(ctx context.Context) {
	err := n.follow(ctx, n.through+1, (&peers{n, map[string]uint64{}}).take)
	if ctx.Err() == nil {
		n.health.Set(peersProblem, err)
		n.log.Error().Err(err).Msg("deliveries of other processes are not followed any more")
	}
}

// peers has the open deliveries of other processes by name, with the places of their newest records.
type peers struct {
	*Notifier
	places map[string]uint64
}

// take handles records of the stream in their order.
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
