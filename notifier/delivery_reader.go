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

// DeliveryReader reads the deliveries of single events. It needs no notifier, so that it also reads a stopped server's folder.
type DeliveryReader struct{ stream *deliverylog.Stream }

// NewDeliveryReader returns the reader of a store.
func NewDeliveryReader(s *eventstore.Store) DeliveryReader { return DeliveryReader{s.Deliveries()} }

// Find returns the delivery of an event's webhook to an endpoint, with its attempts. It returns false if there is no record.
func (r DeliveryReader) Find(ctx context.Context, e *eventstore.Recorded, endpoint domain.EndpointID, kind webhook.Kind) (deliveries.Detail, bool, error) {
	name := delivery.Delivery{Account: e.Account, Endpoint: endpoint, EventID: e.EventID, Kind: kind}.Name()
	stored, err := r.stream.Last(ctx, name)
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
func (r DeliveryReader) MayBeDropped(e *eventstore.Recorded) bool {
	planned := r.stream.Floor().Log
	return len(planned) > e.Shard && e.Seq <= planned[e.Shard]
}
