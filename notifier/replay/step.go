package replay

import (
	"context"
	"errors"

	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/commands/causes"
	"payledger/notifier/delivery"
)

type step int

const (
	stepNone    step = iota // the delivery does not belong to the replay
	stepHandled             // the delivery belongs to the replay and needs no sending any more
	stepResend              // resend the delivery
	stepPlan                // plan the delivery, which does not exist
)

// stepOf returns the replay's step for a webhook that the event may cause, and the delivery's name.
// The step depends on the delivery's status at the time of the count, so the replay handles as many
// deliveries as it counted.
func (r *Replayer) stepOf(ctx context.Context, p *record, e *eventstore.Recorded, c webhook.Candidate) (step, string, error) {
	name := delivery.Delivery{Account: e.Account, Endpoint: p.Endpoint, EventID: e.EventID, Kind: c.Kind}.Name()
	row, found, err := r.Index.Find(ctx, p.Account, delivery.IDOf(name))
	was := delivery.Status(row.Status)
	if err == nil && found && row.Seq > p.Through { // the newest record was written after the count
		was, err = r.statusAt(ctx, name, p.Through)
	}
	switch {
	case err != nil:
		return stepNone, name, err
	case found && r.Stream.Floor().Covers(row.Seq): // the record was dropped
		return stepNone, name, nil
	case found:
		return p.stepFor(was, delivery.Status(row.Status)), name, nil
	case p.OnlyFailed:
		return stepNone, name, nil
	}
	caused, err := causes.Holds(ctx, r.Store, e, c.When, r.Store.Read)
	if err != nil || !caused {
		return stepNone, name, err
	}
	return stepPlan, name, nil
}

// stepFor returns the step for a delivery that exists. was is the status at the time of the count,
// "" for a delivery that was planned later. now is the present status. With OnlyFailed, a delivery
// that has succeeded since the count needs no sending.
func (r *record) stepFor(was, now delivery.Status) step {
	failed := was == delivery.Failed || was == delivery.Exhausted || was == delivery.Cancelled
	switch {
	case r.OnlyFailed && !failed:
		return stepNone
	case was == "", r.OnlyFailed && now == delivery.Succeeded:
		return stepHandled
	}
	return stepResend
}

// statusAt returns a delivery's status as of a place, equal on all nodes; "": the delivery was not
// planned.
func (r *Replayer) statusAt(ctx context.Context, name string, place uint64) (delivery.Status, error) {
	stored, err := r.Stream.AsOf(ctx, name, place)
	if errors.Is(err, eventstore.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	d, err := delivery.Decode(stored)
	return d.Status, err
}
