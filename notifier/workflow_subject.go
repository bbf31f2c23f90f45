package notifier

import (
	"context"
	"fmt"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/eventstore/format"
	"payledger/eventstore/workflows"
	conditions "payledger/eventstore/workflows/condition"
	"payledger/notifier/payload"
	"payledger/projections/paymentjson"
)

// Subject gives the payment that an event is about, and what conditions see of it; of a dispute's event the dispute
// as well, as DISPUTE.STATUS tells it (§6.4, D19).
func (w Workflows) Subject(ctx context.Context, r *eventstore.Recorded, eventType string, personal bool) (workflows.Subject, error) {
	about, err := w.subjectOf(ctx, r)
	if err != nil {
		return workflows.Subject{}, err
	}
	var opened domain.Personal
	if personal {
		if opened, err = w.notifier.vault.Open(ctx, about.payment.Details().Personal); err != nil {
			return workflows.Subject{}, fmt.Errorf("notifier: personal data of %s: %w", about.payment.ID, err)
		}
	}
	values := conditions.Values{
		"payment": func() any {
			return paymentjson.Render(about.payment, opened, paymentjson.Options{First6Digits: w.first6(r.Account)})
		},
		"event": eventVariable{eventType, r.Revision},
	}
	if about.dispute != nil {
		values["dispute"] = func() any { return *about.dispute }
	}
	return workflows.Subject{Payment: about.payment, Values: values}, nil
}

// subject is what an event is about.
type subject struct {
	payment payment.State
	dispute *payload.Dispute // nil: the event is the payment's own
}

// subjectOf gives the payment, and the dispute if it is one's event, as they were at the event.
func (w Workflows) subjectOf(ctx context.Context, r *eventstore.Recorded) (m subject, err error) {
	store := w.notifier.store
	switch r.Aggregate {
	case eventstore.Payments.Name:
		m.payment, err = eventstore.StateAt(ctx, store, eventstore.Payments, r)
		return m, err
	case eventstore.Disputes.Name:
		s, err := eventstore.StateAt(ctx, store, eventstore.Disputes, r)
		if err != nil {
			return m, err
		}
		payload, err := payload.NewDispute(r, s)
		if err != nil {
			return m, err
		}
		m.dispute = &payload
		m.payment, err = w.disputed(ctx, r, s)
		return m, err
	default:
		return m, fmt.Errorf("notifier: %w: %s starts no workflow", format.ErrUnknownEvent, r.Type)
	}
}

// disputed gives the payment in the state at the time of its dispute's event. The clocks of two nodes may be apart: a
// payment that was disputed existed, so one that came later by its times is taken as it is.
func (w Workflows) disputed(ctx context.Context, r *eventstore.Recorded, s dispute.State) (payment.State, error) {
	store, key := w.notifier.store, eventstore.Payments.Key(s.Account, string(s.Subject.Payment))
	tip, err := eventstore.Load(ctx, store, eventstore.Payments, key, eventstore.Latest)
	if err != nil {
		return payment.State{}, err
	}
	if tip.Recorded == nil {
		return payment.State{}, fmt.Errorf("notifier: %w: %s is about %s, which there is not", eventstore.ErrUnhealthy, r.Key, key)
	}
	at, err := eventstore.AsOf(ctx, store, eventstore.Payments, tip.Recorded, r.Time)
	if err != nil || at.Exists() {
		return at, err
	}
	return tip.State, nil
}
