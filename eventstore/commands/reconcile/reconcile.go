package reconcile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
)

// Books are a processor's books. An error means that they could not be read completely.
type Books interface {
	// ByReference returns the operations of a payment. The error is processor.ErrUnreadable if some
	// of them, or all, cannot be read.
	ByReference(ctx context.Context, name processor.Name, reference domain.PaymentID) ([]processor.Record, error)
	// Operations yields the operations created between two times, both included, in order of
	// creation. Some may be Unreadable. The error is processor.ErrUnreadable, after all others, if
	// some name no payment.
	Operations(ctx context.Context, name processor.Name, from, to time.Time, handle func(processor.Record) error) error
	// DisputesOf returns all of the processor's notifications about a payment's disputes, whether
	// or not they arrived. The error is processor.ErrUnreadable if some of them cannot be read.
	DisputesOf(ctx context.Context, name processor.Name, reference domain.PaymentID) ([]processor.Notification, error)
	// DisputesReported yields the processor's dispute notifications between two times, both
	// included, oldest first. A notification that cannot be read has no Dispute. The error is as of
	// Operations.
	DisputesReported(ctx context.Context, name processor.Name, from, to time.Time, handle func(processor.Notification) error) error
}

// Counts are the numbers of compared records.
type Counts struct {
	Payments    int `json:"payments"`    // of the ledger
	Operations  int `json:"operations"`  // of these payments, and verifications of cards, at the processor, in the time
	Records     int `json:"records"`     // operations in the processor's books, in the time
	Open        int `json:"open"`        // of Operations: without an answer yet; of Disputes: kept, not yet applied
	Fresh       int `json:"fresh"`       // decided or reported there within the grace time and not known here: not judged
	Disputes    int `json:"disputes"`    // notifications about disputes that the processor has, in the time
	Differences int `json:"differences"` // reported
}

// Add adds the counts of another account.
func (c Counts) Add(o Counts) Counts {
	return Counts{
		c.Payments + o.Payments, c.Operations + o.Operations, c.Records + o.Records, c.Open + o.Open, c.Fresh + o.Fresh,
		c.Disputes + o.Disputes, c.Differences + o.Differences,
	}
}

// Progress is the progress of a pass. Total is the number of payments of the first pass; 0 in the
// second.
type Progress struct {
	Books  bool   `json:"books"` // the second pass
	Total  uint64 `json:"total"`
	Counts `json:"counts"`
}

// Reconciler compares a ledger with the processors' books.
type Reconciler struct {
	Store eventstore.Store
	Books Books
	// Grace is how long a result at the processor may be on its way here: by its notification, or
	// by a scope of the service (D8). Zero: none is on its way, as in the folder of a stopped
	// server.
	Grace time.Duration
}

const atOnce = 8

type run struct {
	Reconciler
	Scope
	verified  *verifications
	merchants map[string]bool                    // that the account has, or had, at the processor
	sharing   func() ([]domain.AccountID, error) // the other accounts that have, or had, one of these
	report    func(Difference) error
	progress  func(Progress)

	mu         sync.Mutex
	last       Progress
	unreadable map[unread]bool // reported
}

// Run compares, calls report with every difference, and calls progress from time to time, each from
// one goroutine at a time. An error means that the comparison is incomplete.
func (r Reconciler) Run(ctx context.Context, q Scope, report func(Difference) error, progress func(Progress)) (Counts, error) {
	if err := q.Check(); err != nil {
		return Counts{}, err
	}
	merchants, err := merchantsOf(ctx, r.Store, q.Account, q.Processor)
	if err != nil {
		return Counts{}, err
	}
	one := &run{Reconciler: r, Scope: q, verified: newVerifications(), merchants: merchants, report: report, progress: progress, unreadable: map[unread]bool{}}
	one.sharing = sync.OnceValues(func() ([]domain.AccountID, error) { return one.sharers(ctx) })
	if err := one.ledger(ctx); err != nil {
		return one.last.Counts, err
	}
	if err := one.instruments(ctx); err != nil {
		return one.last.Counts, err
	}
	one.tell(func(p *Progress) { p.Books, p.Total = true, 0 })
	err = one.books(ctx)
	if err == nil || errors.Is(err, processor.ErrUnreadable) { // some name no payment, and all others are compared
		err = errors.Join(err, one.disputes(ctx))
	}
	return one.last.Counts, err
}

func (r *run) tell(change func(*Progress)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.last)
	r.progress(r.last)
}

// unread is a part of the books that cannot all be read: the operations of a payment, or its
// disputes (processor.Dispute).
type unread struct {
	payment domain.PaymentID
	of      processor.Kind
}

// unread takes the error of a payment's operations in the books. If some of them cannot be read, it
// reports the payment, once, and returns nil.
func (r *run) unread(reference domain.PaymentID, err error) error {
	return r.unreadPart(unread{payment: reference}, err)
}

func (r *run) unreadPart(part unread, err error) error {
	if !errors.Is(err, processor.ErrUnreadable) {
		return err
	}
	r.mu.Lock()
	reported := r.unreadable[part]
	r.unreadable[part] = true
	r.mu.Unlock()
	if reported {
		return nil
	}
	return r.found([]Difference{{Kind: Unreadable, Payment: part.payment, Operation: part.of}})
}

// found reports the differences of one operation or notification that are old enough to judge.
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
