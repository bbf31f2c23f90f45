package notifier

import (
	"context"

	"payledger/eventstore/deliverylog"
	"payledger/notifier/delivery"
)

// peersProblem is the name of problems with the records of other processes, in Notifier.health.
const peersProblem = "deliveries of other processes"

// maxPeerDeliveries bounds peers.places. The records of further deliveries are read when their handover is due.
const maxPeerDeliveries = 64 << 10

// follow is the type of deliverylog.Stream.Follow.
type follow func(ctx context.Context, from uint64, batch func([]deliverylog.Record) error) error

// watch follows the deliveries that other processes plan or try, until ctx ends. So this process can take the deliveries
// over if those processes end. The planner cannot find them all: replays of other processes plan deliveries of events that
// this process has passed.
func (n *Notifier) watch(ctx context.Context) {
	err := n.follow(ctx, n.through+1, (&peers{n, map[string]uint64{}}).apply)
	if ctx.Err() == nil {
		n.health.Set(peersProblem, err)
		n.log.Error().Err(err).Msg("deliveries of other processes are not followed any more")
	}
}

// peers maps the names of open deliveries of other processes to the places of their newest records.
type peers struct {
	*Notifier
	places map[string]uint64
}

// apply passes records of other processes, in the order of the stream, to the lanes.
func (o *peers) apply(page []deliverylog.Record) error {
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
