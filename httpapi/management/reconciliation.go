package management

import (
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands/reconcile"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
)

// Reconciler compares the ledger with a processor's books.
type Reconciler interface {
	// Run calls report with every difference, and progress from time to time. An error means that
	// the comparison is incomplete.
	Run(ctx context.Context, q reconcile.Scope, report func(reconcile.Difference) error, progress func(reconcile.Progress)) (reconcile.Counts, error)
}

// reconcileLine has a difference, the progress, or at the end the counts. An answer without counts
// is not whole.
type reconcileLine struct {
	Difference *reconcile.Difference `json:"difference,omitempty"`
	Progress   *reconcile.Progress   `json:"progress,omitempty"`
	Summary    *reconcile.Counts     `json:"summary,omitempty"`
}

const progressEvery = 500 * time.Millisecond // the least time between two lines with the progress

func reconciliationRules(v *validation.Violations, c *request.Call) {
	v.Range(request.Read(c.Query, "from", validation.ParseTime), request.Read(c.Query, "to", validation.ParseTime))
}

// GetReconciliation serves GET /management/reconciliation: it compares the ledger with a
// processor's books (D14.16).
func (h *Handlers) GetReconciliation(c *request.Call) (any, error) {
	query := c.Query
	q := reconcile.Scope{Account: c.Merchant.ID, Processor: processor.Name(query.Get("processor"))}
	if q.Processor == "" {
		return nil, domain.Invalid(validation.ModelQuery, domain.Violation{Path: "$.processor", Description: "is required"})
	}
	created := eventstore.NewWindow(request.Read(query, "from", validation.ParseTime), request.Read(query, "to", validation.ParseTime))
	q.From, q.To = created.From, created.To
	leave, err := h.Runs.enter(q.Account)
	if err != nil {
		return nil, err
	}
	unused := context.AfterFunc(c.Ctx, leave) // an answer that is refused before its first line
	return request.Stream(func(line func(any) error) error {
		defer leave()
		if !unused() {
			return c.Ctx.Err()
		}
		var reported time.Time
		report := func(d reconcile.Difference) error { return line(reconcileLine{Difference: &d}) }
		counts, err := h.Reconciler.Run(c.Ctx, q, report, func(p reconcile.Progress) {
			if now := h.Now(); now.Sub(reported) >= progressEvery {
				reported = now
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
