package httpapi

import (
	"context"
	"errors"
	"net/url"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/reconcile"
)

// Reconciler holds an account's ledger to a processor's books; see reconcile.Reconciler.
type Reconciler interface {
	Run(ctx context.Context, q reconcile.Question, report func(reconcile.Difference) error, progress func(reconcile.Progress)) (reconcile.Counts, error)
}

// reconcileLine is one line of GET /management/reconciliation: a difference, how far it has come, or at the end what
// was compared. An answer without the last is not whole.
type reconcileLine struct {
	Difference *reconcile.Difference `json:"difference,omitempty"`
	Progress   *reconcile.Progress   `json:"progress,omitempty"`
	Summary    *reconcile.Counts     `json:"summary,omitempty"`
}

// progressEvery is how often a stream tells how far it has come.
const progressEvery = 500 * time.Millisecond

// reconciliationRules: a time that begins after its end has nothing in it that could differ.
func reconciliationRules(v *violations, query url.Values, _ *call) {
	from, to := read(query, "from", parseTime), read(query, "to", parseTime)
	if from != nil && to != nil {
		v.ofRange(*from, *to)
	}
}

// getReconciliation: GET /management/reconciliation compares the ledger with a processor's books (D14).
func getReconciliation(c *call) (any, error) {
	query := c.r.URL.Query()
	q := reconcile.Question{Account: c.merchant.ID, Processor: processor.Name(query.Get("processor"))}
	if q.Processor == "" {
		return nil, domain.Invalid(modelQuery, domain.Violation{Path: "$.processor", Description: "is required"})
	}
	q.From, _ = parseTime(query.Get("from")) // dateRule has seen them
	q.To, _ = parseTime(query.Get("to"))
	return stream(func(line func(any) error) error {
		var told time.Time
		report := func(d reconcile.Difference) error { return line(reconcileLine{Difference: &d}) }
		counts, err := c.api.Reconciler.Run(c.ctx, q, report, func(p reconcile.Progress) {
			if now := c.api.Now(); now.Sub(told) >= progressEvery {
				told = now
				_ = line(reconcileLine{Progress: &p}) // a caller who went away ends the context
			}
		})
		if errors.Is(err, processor.ErrUnknown) {
			return &domain.Error{
				Kind: domain.KindUnavailable, Reason: domain.ReasonServiceUnavailable,
				Message: "The processor's books cannot be read now.", Err: err,
			}
		}
		if err != nil {
			return err
		}
		return line(reconcileLine{Summary: &counts})
	}), nil
}
