package management

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/commands/reconcile"
	"payledger/httpapi/request"
	"payledger/projections/paymentjson"
)

// Limits of the runs that a node keeps in memory.
const (
	runsKept        = 50  // of an account
	differencesKept = 500 // of a run
	runsAtOnce      = 2   // of an account, with those whose caller reads along
)

// ReconciliationState is the state of a run.
type ReconciliationState string

const (
	ReconciliationRunning ReconciliationState = "RUNNING"
	ReconciliationDone    ReconciliationState = "DONE"
	ReconciliationFailed  ReconciliationState = "FAILED" // incomplete
)

// ReconciliationRuns are the comparisons that this node made in the background since its start, and
// the number of those that it makes while their caller reads along. A comparison changes nothing
// and can be made again, so that its result is kept in memory only.
type ReconciliationRuns struct {
	mu        sync.Mutex
	byAccount map[domain.AccountID][]*reconciliationRun // the oldest first
	followed  map[domain.AccountID]int                  // comparisons whose caller reads along (GetReconciliation)
	running   sync.WaitGroup
}

// Wait returns when no comparison runs.
func (r *ReconciliationRuns) Wait() { r.running.Wait() }

type reconciliationRun struct {
	ID          string                 `json:"id"`
	Processor   processor.Name         `json:"processor"`
	From        *paymentjson.Time      `json:"from,omitempty"`
	To          *paymentjson.Time      `json:"to,omitempty"`
	State       ReconciliationState    `json:"state"`
	StartedAt   paymentjson.Time       `json:"startedAt"`
	EndedAt     *paymentjson.Time      `json:"endedAt,omitempty"`
	Actor       string                 `json:"actor"`
	Progress    *reconcile.Progress    `json:"progress,omitempty"`
	Summary     *reconcile.Counts      `json:"summary,omitempty"`
	Failure     string                 `json:"failure,omitempty"`
	Differences []reconcile.Difference `json:"differences,omitempty"` // the first ones; only in the answer about one run
	LeftOut     int                    `json:"leftOut,omitempty"`     // further differences
}

type reconciliationRequest struct {
	Processor processor.Name `json:"processor"`
	From      *request.Date  `json:"from"`
	To        *request.Date  `json:"to"`
}

// StartReconciliation serves POST /management/reconciliation-runs: it compares in the background. A
// repeat while the same comparison runs answers that one.
func (h *Handlers) StartReconciliation(c *request.Call, body reconciliationRequest) (any, error) {
	run := reconciliationRun{
		ID: strings.ToLower(rand.Text()), Processor: body.Processor, State: ReconciliationRunning, StartedAt: paymentjson.Time{Time: h.Now()}, Actor: c.Actor,
	}
	q := reconcile.Scope{Account: c.Merchant.ID, Processor: body.Processor}
	if body.From != nil {
		q.From, run.From = body.From.Time, &paymentjson.Time{Time: body.From.Time}
	}
	if body.To != nil {
		q.To, run.To = body.To.Time, &paymentjson.Time{Time: body.To.Time}
	}
	kept, begun, err := h.Runs.begin(c.Merchant.ID, run)
	if begun {
		h.Runs.running.Go(func() { h.compare(q, kept) }) // it goes on when the caller has gone
	}
	return kept.shown(h.Runs, true), err
}

// begin keeps a new run, or returns the running one of the same scope.
func (r *ReconciliationRuns) begin(account domain.AccountID, run reconciliationRun) (kept *reconciliationRun, begun bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.byAccount[account]
	for _, o := range all {
		if o.State == ReconciliationRunning && o.Processor == run.Processor && sameTime(o.From, run.From) && sameTime(o.To, run.To) {
			return o, false, nil
		}
	}
	if err := r.room(account); err != nil {
		return &reconciliationRun{}, false, err
	}
	if len(all) >= runsKept {
		i := slices.IndexFunc(all, func(o *reconciliationRun) bool { return o.State != ReconciliationRunning })
		all = slices.Delete(slices.Clone(all), i, i+1)
	}
	if r.byAccount == nil {
		r.byAccount = map[domain.AccountID][]*reconciliationRun{}
	}
	r.byAccount[account] = append(all, &run)
	return &run, true, nil
}

// room refuses a comparison of an account beyond runsAtOnce. The caller holds the lock.
func (r *ReconciliationRuns) room(account domain.AccountID) error {
	running := r.followed[account]
	for _, o := range r.byAccount[account] {
		if o.State == ReconciliationRunning {
			running++
		}
	}
	if running >= runsAtOnce {
		return domain.Refuse(domain.KindUnavailable, domain.ReasonRateLimitExceeded, "%d comparisons of the account are running.", running)
	}
	return nil
}

// enter counts a comparison whose caller reads along, until leave is called. A repeated call of
// leave does nothing.
func (r *ReconciliationRuns) enter(account domain.AccountID) (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.room(account); err != nil {
		return nil, err
	}
	if r.followed == nil {
		r.followed = map[domain.AccountID]int{}
	}
	r.followed[account]++
	return sync.OnceFunc(func() {
		r.change(func() {
			if r.followed[account]--; r.followed[account] == 0 {
				delete(r.followed, account)
			}
		})
	}), nil
}

func sameTime(a, b *paymentjson.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Equal(b.Time)
}

// compare makes the comparison of a run.
func (h *Handlers) compare(q reconcile.Scope, run *reconciliationRun) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-h.Closing: // nil: never
			cancel()
		case <-ctx.Done():
		}
	}()
	counts, err := h.Reconciler.Run(ctx, q, func(d reconcile.Difference) error {
		h.Runs.change(func() {
			if len(run.Differences) < differencesKept {
				run.Differences = append(run.Differences, d)
			} else {
				run.LeftOut++
			}
		})
		return nil
	}, func(p reconcile.Progress) { h.Runs.change(func() { run.Progress = &p }) })
	h.Runs.change(func() {
		run.State, run.Summary, run.Progress, run.EndedAt = ReconciliationDone, &counts, nil, &paymentjson.Time{Time: h.Now()}
		if err != nil {
			run.State, run.Summary, run.Failure = ReconciliationFailed, nil, brokeOff(err)
		}
	})
	if err != nil {
		h.Logger.Warn().Err(err).Str("processor", string(q.Processor)).Msg("a comparison with the processor's books is incomplete")
	}
}

func brokeOff(err error) string {
	switch {
	case errors.Is(err, processor.ErrUnknown):
		return "The processor's books cannot be read now."
	case errors.Is(err, context.Canceled):
		return "The service stopped."
	default:
		return "The comparison broke off."
	}
}

func (r *ReconciliationRuns) change(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// shown returns the run as it is now, with its differences if whole.
func (run *reconciliationRun) shown(r *ReconciliationRuns, whole bool) (out reconciliationRun) {
	r.change(func() {
		out = *run
		if out.Differences = nil; whole {
			out.Differences = slices.Clone(run.Differences)
		}
	})
	return out
}

func (r *ReconciliationRuns) of(account domain.AccountID) []*reconciliationRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Clone(r.byAccount[account])
	slices.Reverse(all)
	return all
}

// ListReconciliations serves GET /management/reconciliation-runs, the newest first.
func (h *Handlers) ListReconciliations(c *request.Call) (any, error) {
	return request.List[reconciliationRun]{
		Data: request.Map(h.Runs.of(c.Merchant.ID), func(run *reconciliationRun) reconciliationRun { return run.shown(h.Runs, false) }),
	}, nil
}

// GetReconciliationRun serves GET /management/reconciliation-runs/{id}.
func (h *Handlers) GetReconciliationRun(c *request.Call) (any, error) {
	for _, run := range h.Runs.of(c.Merchant.ID) {
		if run.ID == c.Vars["id"] {
			return run.shown(h.Runs, true), nil
		}
	}
	return nil, domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "This node has no such comparison since its start.")
}
