package reconcile

import (
	"context"
	"slices"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/inbox"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/workers"
)

// disputes compares the dispute notifications known here with the processor's, both ways, one by
// one (D14.12, D16).
func (r *run) disputes(ctx context.Context) error {
	err := workers.Pool(ctx, atOnce, func(ctx context.Context, submit func(*eventstore.Recorded) error) error {
		return r.Store.Newest(ctx, r.Account, eventstore.Disputes.Name, func(uint64) {}, submit)
	}, r.dispute)
	if err != nil {
		return err
	}
	return workers.Pool(ctx, atOnce, func(ctx context.Context, submit func(processor.Notification) error) error {
		return r.Books.DisputesReported(ctx, r.Processor, r.From, r.To, submit)
	}, r.disputeThere)
}

func (r *run) dispute(ctx context.Context, newest *eventstore.Recorded) error {
	d, err := eventstore.StateAt(ctx, r.Store, eventstore.Disputes, newest)
	if err != nil || d.Subject.Processor != r.Processor {
		return err
	}
	notifications, err := r.Books.DisputesOf(ctx, r.Processor, d.Subject.Payment)
	if err != nil { // an unreadable notification may be the missing one
		return r.unreadPart(unread{d.Subject.Payment, processor.Dispute}, err)
	}
	var found []Difference
	for _, fact := range d.Facts {
		there := slices.ContainsFunc(notifications, func(n processor.Notification) bool {
			return n.ID == fact.EventID && n.Dispute.ID == d.Subject.ProcessorDisputeID
		})
		if !there && r.covers(fact.At) {
			found = append(found, Difference{
				Kind: MissingThere, Payment: d.Subject.Payment, Operation: processor.Dispute, ID: fact.EventID,
				Dispute: d.Subject.ProcessorDisputeID, TransactionID: fact.TransactionID, Here: known(fact),
			})
		}
	}
	return r.found(found)
}

func (r *run) disputeThere(ctx context.Context, n processor.Notification) error {
	if n.Dispute == nil {
		return r.unreadDispute(ctx, n.Reference)
	}
	d, err := r.disputeOf(ctx, n, eventstore.Applied)
	if err != nil {
		return err
	}
	if !d.Exists() {
		ours, err := r.has(ctx, r.Account, n.Reference)
		if err == nil && !ours {
			ours, err = r.claims(ctx, n.Reference, n.Dispute.MerchantID)
		}
		if err != nil || !ours {
			return err
		}
	}
	defer r.tell(func(c *Progress) { c.Disputes++ })
	if len(disputeDifferences(d, n)) == 0 {
		return nil
	}
	if d, err = r.disputeOf(ctx, n, eventstore.Latest); err != nil {
		return err
	}
	found := disputeDifferences(d, n)
	if len(found) == 1 && found[0].Kind == MissingHere {
		waits, err := r.waits(ctx, n)
		if err != nil || waits {
			r.tell(func(c *Progress) { c.Open++ })
			return err
		}
	}
	return r.found(found)
}

// unreadDispute takes a notification about a payment whose dispute cannot be read. It names no
// merchant account: if no account of this ledger has the payment, each account with one at the
// processor reports it.
func (r *run) unreadDispute(ctx context.Context, reference domain.PaymentID) error {
	ours, err := r.has(ctx, r.Account, reference)
	if err == nil && !ours && len(r.merchants) > 0 {
		ours, err = r.nobodys(ctx, reference)
	}
	if err != nil || !ours {
		return err
	}
	r.tell(func(c *Progress) { c.Disputes++ })
	return r.unreadPart(unread{reference, processor.Dispute}, processor.ErrUnreadable)
}

func (r *run) disputeOf(ctx context.Context, n processor.Notification, consistency eventstore.Consistency) (dispute.State, error) {
	id := domain.DisputeIDFor(r.Account, string(r.Processor), n.Dispute.ID)
	tip, err := eventstore.Load(ctx, r.Store, eventstore.Disputes, eventstore.Disputes.Key(r.Account, string(id)), consistency)
	return tip.State, err
}

func (r *run) waits(ctx context.Context, n processor.Notification) (bool, error) {
	tip, err := eventstore.Load(ctx, r.Store, eventstore.Inboxes, eventstore.InboxKey(string(n.Reference)), eventstore.Latest)
	return slices.ContainsFunc(tip.State.Waiting(), func(w inbox.Notification) bool { return w.Processor == n.Processor && w.ID == n.ID }), err
}

func disputeDifferences(d dispute.State, n processor.Notification) (list []Difference) {
	there := n.Dispute
	difference := Difference{
		Payment: n.Reference, Operation: processor.Dispute, ID: n.ID, Dispute: there.ID, TransactionID: there.TransactionID,
		There: &Side{
			At: there.At, Amount: there.Amount, Currency: there.Currency, State: place(there.Type, there.Status),
			MerchantID: there.MerchantID, TransactionID: there.TransactionID,
		},
	}
	add := func(kind Kind) { difference.Kind = kind; list = append(list, difference) }
	i := slices.IndexFunc(d.Facts, func(f dispute.RecordedFact) bool { return f.EventID == n.ID })
	if i < 0 {
		difference.since = there.At
		add(MissingHere)
		return list
	}
	here := known(d.Facts[i])
	difference.Here = here
	if here.Amount != there.Amount || here.Currency != there.Currency {
		add(OtherAmount)
	}
	if here.State != difference.There.State {
		add(OtherState)
	}
	if here.MerchantID != there.MerchantID {
		add(OtherMerchant)
	}
	if otherTransaction(here, difference.There) {
		add(OtherTransaction)
	}
	return list
}

// known is the local record of a notification.
func known(f dispute.RecordedFact) *Side {
	return &Side{
		At: f.At, Amount: f.Amount, Currency: f.Currency, State: place(f.Type, f.Status),
		MerchantID: f.MerchantID, TransactionID: f.TransactionID,
	}
}

func place(t processor.DisputeType, s processor.DisputeStatus) string {
	return string(t) + " " + string(s)
}
