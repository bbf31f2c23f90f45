package reconcile

import (
	"context"
	"errors"
	"slices"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/workers"
)

// ledger is the first pass: it looks up the ledger's operations in the books.
func (r *run) ledger(ctx context.Context) error {
	return workers.Pool(ctx, atOnce, func(ctx context.Context, submit func(*eventstore.Recorded) error) error {
		begin := func(total uint64) { r.tell(func(p *Progress) { p.Total = total }) }
		return r.Store.Newest(ctx, r.Account, eventstore.Payments.Name, begin, submit)
	}, r.payment)
}

// books is the second pass: it compares the operations in the books with the ledger.
func (r *run) books(ctx context.Context) error {
	err := workers.Pool(ctx, atOnce, func(ctx context.Context, submit func(processor.Record) error) error {
		return r.Books.Operations(ctx, r.Processor, r.From, r.To, submit)
	}, r.record)
	if err != nil && !errors.Is(err, processor.ErrUnreadable) {
		return err
	}
	return errors.Join(err, r.settle(ctx, r.verified.doubtful))
}

func (r *run) payment(ctx context.Context, newest *eventstore.Recorded) error {
	p, err := eventstore.StateAt(ctx, r.Store, eventstore.Payments, newest)
	if err != nil {
		return err
	}
	if !p.Exists() { // the claim of a key (D9)
		r.tell(func(c *Progress) { c.Total-- })
		return nil
	}
	p = p.Whole()
	operations, open := r.inTime(p)
	defer r.tell(func(c *Progress) { c.Payments++; c.Operations += operations; c.Open += open })
	if operations == 0 {
		return nil
	}
	compare := func(p payment.State) ([]Difference, error) {
		records, err := r.Books.ByReference(ctx, r.Processor, p.ID)
		list := repeated(p, records)
		if err == nil { // else the operation may be the entry that cannot be read
			list = append(missingThere(p, r.Processor, records), list...)
		}
		return slices.DeleteFunc(list, func(d Difference) bool { return !r.covers(d.requestedAt) || d.There != nil && !r.covers(d.There.At) }), err
	}
	found, err := compare(p)
	if err == nil && len(found) == 0 || err != nil && !errors.Is(err, processor.ErrUnreadable) {
		return err
	}
	if p, err = r.again(ctx, p.ID); err != nil {
		return err
	}
	found, err = compare(p)
	if err = r.unread(p.ID, err); err != nil {
		return err
	}
	return r.found(found)
}

// record compares one operation in the books with its payment. An operation that agrees may be the
// second of its key: the ledger's pass looks for those, except where our request lies outside the
// time.
func (r *run) record(ctx context.Context, there processor.Record) error {
	tip, err := eventstore.Load(ctx, r.Store, eventstore.Payments, eventstore.Payments.Key(r.Account, string(there.Reference)), eventstore.Applied)
	if err != nil {
		return err
	}
	if !tip.State.Exists() {
		if r.verified.has(there.Reference) { // r.instruments has compared it
			r.tell(func(c *Progress) { c.Records++ })
			return nil
		}
		if ours, err := r.claims(ctx, there.Reference, there.MerchantID); err != nil || !ours {
			return err
		}
		if there.Kind == processor.Authorize && there.Amount == 0 {
			return r.settle(ctx, r.verified.later(there))
		}
	}
	return r.compareRecord(ctx, there, tip.State.Whole())
}

// compareRecord compares one operation in the books with a payment of the account, or with none.
func (r *run) compareRecord(ctx context.Context, there processor.Record, known payment.State) error {
	defer r.tell(func(c *Progress) { c.Records++ })
	op, found := find(known, there)
	looked := found && r.covers(op.RequestedAt)
	if looked && !there.Unreadable && len(differences(known, there)) == 0 {
		return nil
	}
	p, err := r.again(ctx, there.Reference)
	if err != nil {
		return err
	}
	records, err := r.Books.ByReference(ctx, r.Processor, there.Reference)
	if err == nil && !slices.ContainsFunc(records, func(now processor.Record) bool { return now.ID == there.ID }) {
		if there.Unreadable {
			err = processor.ErrUnreadable
		} else {
			records = append(slices.Clone(records), there)
		}
	}
	if err = r.unread(there.Reference, err); err != nil {
		return err
	}
	var list []Difference
	for _, now := range records {
		if now.ID == there.ID {
			list = judged(p, now, records, looked)
		}
	}
	return r.found(list)
}

func (r *run) again(ctx context.Context, id domain.PaymentID) (payment.State, error) {
	tip, err := eventstore.Load(ctx, r.Store, eventstore.Payments, eventstore.Payments.Key(r.Account, string(id)), eventstore.Latest)
	return tip.State.Whole(), err
}

func (r *run) inTime(p payment.State) (operations, open int) {
	for _, op := range p.Operations {
		if op.Target.Processor != r.Processor || !r.covers(op.RequestedAt) {
			continue
		}
		operations++
		if unanswered(op) {
			open++
		}
	}
	return operations, open
}
