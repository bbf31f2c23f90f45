package reconcile

import (
	"context"
	"fmt"
	"sync"
	"time"

	"payledger/domain"
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

// Counts are what was compared so far, or in all.
type Counts struct {
	Payments    int `json:"payments"`    // of the ledger
	Operations  int `json:"operations"`  // of these payments at the processor, in the time
	Records     int `json:"records"`     // operations in the processor's books, in the time
	Open        int `json:"open"`        // of Operations: without an answer yet; of Disputes: kept, not yet applied
	Fresh       int `json:"fresh"`       // decided or told there within the grace time and not known here: not judged
	Disputes    int `json:"disputes"`    // notifications about disputes that the processor has, in the time
	Differences int `json:"differences"` // reported
}

// Add sums up what was compared of two accounts.
func (c Counts) Add(o Counts) Counts {
	return Counts{
		c.Payments + o.Payments, c.Operations + o.Operations, c.Records + o.Records, c.Open + o.Open, c.Fresh + o.Fresh,
		c.Disputes + o.Disputes, c.Differences + o.Differences,
	}
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
	// Grace is how long a result that the processor has may be on its way: its notification comes, or the service asks
	// (D8). Zero: nothing comes any more, as in the folder of a stopped server.
	Grace time.Duration
}

// atOnce is how many payments are looked up at once.
const atOnce = 8

// run is one comparison under way.
type run struct {
	Reconciler
	Question
	merchants map[string]bool                    // that the account has, or had, at the processor
	sharing   func() ([]domain.AccountID, error) // the other accounts that have, or had, one of these
	report    func(Difference) error
	progress  func(Progress)

	mu   sync.Mutex
	last Progress
}

// Run compares, hands every difference to report, and tells progress now and then; both are called by one goroutine at
// a time. An error means that not everything was compared.
func (r Reconciler) Run(ctx context.Context, q Question, report func(Difference) error, progress func(Progress)) (Counts, error) {
	if err := q.Check(); err != nil {
		return Counts{}, err
	}
	merchants, err := merchantsOf(ctx, r.Store, q.Account, q.Processor)
	if err != nil {
		return Counts{}, err
	}
	one := &run{Reconciler: r, Question: q, merchants: merchants, report: report, progress: progress}
	one.sharing = sync.OnceValues(func() ([]domain.AccountID, error) { return one.sharers(ctx) })
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

// found reports what is not too fresh to judge. All of a list is of one operation, or notification.
func (r *run) found(list []Difference) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	fresh, now := false, r.Store.Now()
	for _, d := range list {
		if !d.since.IsZero() && now.Sub(d.since).Abs() < r.Grace {
			fresh = true
			continue
		}
		if err := r.report(d); err != nil {
			return fmt.Errorf("reconcile: %w", err)
		}
		r.last.Differences++
	}
	if fresh {
		r.last.Fresh++
	}
	return nil
}
