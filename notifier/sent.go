package notifier

import (
	"context"
	"errors"

	"payledger/domain"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/notifier/delivery"
	"payledger/projections/deliveries"
)

// Sent reads the deliveries of single events. It needs no notifier, so that it also reads a stopped server's folder.
type Sent struct{ stream *deliverylog.Stream }

// NewSent returns the deliveries of a store.
func NewSent(s *eventstore.Store) Sent { return Sent{s.Deliveries()} }

// Sent returns the delivery of an event's webhook to an endpoint, with its attempts. It returns false if there is no record.
func (s Sent) Sent(ctx context.Context, e *eventstore.Recorded, endpoint domain.EndpointID, kind webhook.Kind) (deliveries.Detail, bool, error) {
	name := delivery.Delivery{Account: e.Account, Endpoint: endpoint, EventID: e.EventID, Kind: kind}.Name()
	stored, err := s.stream.Last(ctx, name)
	if errors.Is(err, eventstore.ErrNotFound) {
		return deliveries.Detail{}, false, nil
	}
	if err != nil {
		return deliveries.Detail{}, false, err
	}
	d, err := delivery.Decode(stored)
	return detailOf(stored.Seq, d), err == nil, err
}

// MayBeDropped reports whether records of an event's deliveries may have been dropped.
func (s Sent) MayBeDropped(e *eventstore.Recorded) bool {
	planned := s.stream.Floor().Log
	return len(planned) > e.Shard && e.Seq <= planned[e.Shard]
}
