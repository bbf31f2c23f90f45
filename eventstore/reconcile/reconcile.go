package reconcile

import (
	"context"
	"fmt"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
)

// Books are a processor's, as far as they are looked at. Every error means that they could not be read whole.
type Books interface {
	ByReference(ctx context.Context, name processor.Name, reference domain.PaymentID) ([]processor.Record, error)
	// Operations hands on what was created from one time to another, both included, in order of creation.
	Operations(ctx context.Context, name processor.Name, from, to time.Time, handle func(processor.Record) error) error
	// DisputesOf gives everything that the processor told about the disputes of a payment, whether or not it came.
	DisputesOf(ctx context.Context, name processor.Name, reference domain.PaymentID) ([]processor.Notification, error)
	// DisputesTold hands on what the processor told about disputes from one time to another, both included, oldest first.
	DisputesTold(ctx context.Context, name processor.Name, from, to time.Time, handle func(processor.Notification) error) error
}

// Question says what is compared.
type Question struct {
	Account   domain.AccountID
	Processor processor.Name
	From, To  time.Time // both included; the zero time is no limit
}

// Counts are what was compared so far, or in all.
type Counts struct {
	Payments    int `json:"payments"`    // of the ledger
	Operations  int `json:"operations"`  // of these payments at the processor, in the time
	Records     int `json:"records"`     // operations in the processor's books, in the time
	Open        int `json:"open"`        // of Operations: without an answer yet; of Disputes: kept, not yet applied
	Disputes    int `json:"disputes"`    // notifications about disputes that the processor has, in the time
	Differences int `json:"differences"` // reported
}

// Progress tells how far a pass has come. Total is the number of payments of the first pass; that of the second is
// not known.
type Progress struct {
	Books  bool   `json:"books"` // the second pass
	Total  uint64 `json:"total"`
	Counts `json:"counts"`
}

// Reconciler compares a ledger with the processors' books.
type Reconciler struct {
	Store *eventstore.Store
	Books Books
}

// atOnce is how many payments are looked up at once.
const atOnce = 8

// run is one comparison under way.
type run struct {
	Reconciler
	Question
	merchant string // the account's merchant account at the processor
	report   func(Difference) error
	progress func(Progress)

	mu   sync.Mutex
	last Progress
}

// Run compares, hands every difference to report, and tells progress now and then; both are called by one goroutine at
// a time. An error means that not everything was compared.
func (r Reconciler) Run(ctx context.Context, q Question, report func(Difference) error, progress func(Progress)) (Counts, error) {
	key := eventstore.Accounts.Key(q.Account, string(q.Account))
	owner, err := eventstore.LoadTip(ctx, r.Store, eventstore.Accounts, key)
	if err != nil {
		return Counts{}, err
	}
	at, _ := owner.State.Processor(q.Processor)
	one := &run{Reconciler: r, Question: q, merchant: at.MerchantID, report: report, progress: progress}
	if err := one.ledger(ctx); err != nil {
		return one.last.Counts, err
	}
	one.tell(func(p *Progress) { p.Books, p.Total = true, 0 })
	if err = one.books(ctx); err == nil {
		err = one.disputes(ctx)
	}
	return one.last.Counts, err
}

// tell changes the counts and shows them.
func (r *run) tell(change func(*Progress)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.last)
	r.progress(r.last)
}

// ledger is the first pass: what the ledger has must stand there.
func (r *run) ledger(ctx context.Context) error {
	return pool(ctx, func(ctx context.Context, submit func(*eventstore.Recorded) error) error {
		begin := func(total uint64) { r.tell(func(p *Progress) { p.Total = total }) }
		return r.Store.Newest(ctx, r.Account, eventstore.Payments.Name, begin, submit)
	}, r.payment)
}

// books is the second pass: what stands there must be known here, and be the same.
func (r *run) books(ctx context.Context) error {
	return pool(ctx, func(ctx context.Context, submit func(processor.Record) error) error {
		return r.Books.Operations(ctx, r.Processor, r.From, r.To, submit)
	}, r.record)
}

// payment compares one payment, given its newest event, with the books.
func (r *run) payment(ctx context.Context, newest *eventstore.Recorded) error {
	p, err := eventstore.StateAt(ctx, r.Store, eventstore.Payments, newest)
	if err != nil {
		return err
	}
	operations, open := r.inTime(p)
	defer r.tell(func(c *Progress) { c.Payments++; c.Operations += operations; c.Open += open })
	if operations == open {
		return nil
	}
	compare := func(p payment.State) ([]Difference, error) {
		records, err := r.Books.ByReference(ctx, r.Processor, p.ID)
		if err != nil {
			return nil, err
		}
		var list []Difference
		for _, d := range missingThere(p, r.Processor, records) {
			if r.covers(d.Here.At) {
				list = append(list, d)
			}
		}
		return list, nil
	}
	found, err := compare(p)
	if err != nil || len(found) == 0 {
		return err
	}
	if p, err = r.again(ctx, p.ID); err != nil {
		return err
	}
	found, err = compare(p)
	return r.found(found, err)
}

// record compares one operation in the books with its payment.
func (r *run) record(ctx context.Context, there processor.Record) error {
	key := eventstore.Payments.Key(r.Account, string(there.Reference))
	tip, err := eventstore.LoadTip(ctx, r.Store, eventstore.Payments, key)
	if err != nil {
		return err
	}
	if !tip.State.Exists() && there.MerchantID != r.merchant {
		return nil // of another account
	}
	defer r.tell(func(c *Progress) { c.Records++ })
	if found := differences(tip.State, there); len(found) == 0 {
		return nil
	}
	p, err := r.again(ctx, there.Reference)
	if err != nil {
		return err
	}
	records, err := r.Books.ByReference(ctx, r.Processor, there.Reference)
	if err != nil {
		return err
	}
	var found []Difference
	for _, now := range records {
		if now.ID == there.ID {
			found = differences(p, now)
		}
	}
	return r.found(found, nil)
}

// again reads a payment anew.
func (r *run) again(ctx context.Context, id domain.PaymentID) (payment.State, error) {
	tip, err := eventstore.LoadTipAtLeader(ctx, r.Store, eventstore.Payments, eventstore.Payments.Key(r.Account, string(id)))
	return tip.State, err
}

// found reports.
func (r *run) found(list []Difference, err error) error {
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range list {
		if err := r.report(d); err != nil {
			return fmt.Errorf("reconcile: %w", err)
		}
		r.last.Differences++
	}
	return nil
}

// inTime counts the operations at the processor, and those without an answer.
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

// covers tells whether a time is within the question's.
func (q Question) covers(at time.Time) bool {
	return (q.From.IsZero() || !at.Before(q.From)) && (q.To.IsZero() || !at.After(q.To))
}
