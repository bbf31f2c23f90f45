package notifier

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"payledger/domain"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/notifier/delivery"
	"payledger/projections/deliveries"
)

// DeliveryReader reads the deliveries of single events, and the records of all in their order. It
// needs no notifier, so that it also reads a stopped server's folder.
type DeliveryReader struct{ stream *deliverylog.Stream }

// NewDeliveryReader returns the reader of a store.
func NewDeliveryReader(s interface{ Deliveries() *deliverylog.Stream }) DeliveryReader {
	return DeliveryReader{s.Deliveries()}
}

// Find returns the delivery of an event's webhook to an endpoint, with its attempts. It returns
// false if there is no record.
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

// examinedRecords is the maximum number of records that one page of Records reads.
const examinedRecords = 50_000

// ErrNoPlace means that the stream of deliveries has not reached a place.
var ErrNoPlace = errors.New("no record of a delivery has this place yet")

// errFull ends a page early. Records does not return it.
var errFull = errors.New("the page is full")

// Records calls emit with the deliveries of an account ("": of all accounts) as their records after
// a place have them, in the order of the records: a delivery with several records comes several
// times. It calls emit at most limit times (0: without a limit), and reads at most examinedRecords
// records. next is the place up to which it has read, if more records may follow; else 0. Dropped
// records are left out. ErrNoPlace: the stream has not reached the place.
func (r DeliveryReader) Records(ctx context.Context, account domain.AccountID, after uint64, limit int, emit func(deliveries.Recorded) error) (next uint64, err error) {
	end, err := r.stream.End(ctx)
	if err != nil {
		return 0, err
	}
	if after > end {
		return 0, fmt.Errorf("%w: %d; the newest is at %d", ErrNoPlace, after, end)
	}
	emitted, looked := 0, 0
	each := func(stored deliverylog.Record) error {
		if limit > 0 && (emitted == limit || looked == examinedRecords) {
			return errFull
		}
		looked, after = looked+1, stored.Seq
		if !stored.IsDelivery() || account != "" && !strings.HasPrefix(stored.Name, string(account)+".") {
			return nil
		}
		d, err := delivery.Decode(stored)
		if err != nil {
			return err
		}
		emitted++
		return emit(deliveries.RecordedOf(detailOf(stored.Seq, d), stored.Time))
	}
	for last := false; !last; {
		var page []deliverylog.Record
		if page, last, err = r.stream.Scan(ctx, after+1, deliverylog.FullPage); err != nil {
			return 0, err
		}
		for _, stored := range page {
			switch err := each(stored); {
			case errors.Is(err, errFull):
				return after, nil
			case err != nil:
				return 0, err
			}
		}
	}
	return 0, nil
}
