package management_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/commands/reconcile"
	"payledger/httpapi/management"
	"payledger/httpapi/request"
)

// runSeen is what the tests read of a comparison in the background.
type runSeen struct {
	ID, State, Failure, Actor string
	Progress                  *reconcile.Progress
	Summary                   *reconcile.Counts
	Differences               []reconcile.Difference
	LeftOut                   int
}

// start starts a comparison.
func (r *rig) start(body string) (seen runSeen) {
	r.t.Helper()
	c := r.body(body)
	answer, err := request.WithBody(r.h.StartReconciliation)(c)
	must(r.t, err)
	must(r.t, json.Unmarshal([]byte(asJSON(r.t, answer)), &seen))
	return seen
}

// run reads a comparison.
func (r *rig) run(id string) (seen runSeen) {
	r.t.Helper()
	answer, err := r.h.GetReconciliationRun(r.with("id", id))
	must(r.t, err)
	must(r.t, json.Unmarshal([]byte(asJSON(r.t, answer)), &seen))
	return seen
}

// TestReconciliationRuns checks that a comparison runs after its answer, shows how far it is, and
// keeps its first differences. A repeat while it runs is the same comparison, a different
// comparison is made at the same time, and a third is refused. A comparison that breaks off has no
// summary (D20).
func TestReconciliationRuns(t *testing.T) {
	r := newRig(t)
	begun, end := make(chan struct{}), make(chan error)
	r.reconciles = func(report func(reconcile.Difference) error, progress func(reconcile.Progress)) (reconcile.Counts, error) {
		progress(reconcile.Progress{Total: 9, Counts: reconcile.Counts{Payments: 3}})
		for i := range 501 {
			must(t, report(reconcile.Difference{Kind: reconcile.MissingHere, Payment: domain.PaymentID(fmt.Sprint(i)), Operation: processor.Refund}))
		}
		begun <- struct{}{}
		return reconcile.Counts{Payments: 9, Differences: 501}, <-end
	}
	one := r.start(`{"processor":"ADYEN","from":"2026-03-13T12:00:00Z"}`)
	<-begun
	if again := r.start(`{"processor":"ADYEN","from":"2026-03-13T13:00:00+01:00"}`); again.ID != one.ID {
		t.Errorf("the repeat began %s", again.ID)
	}
	if seen := r.run(one.ID); seen.State != "RUNNING" || seen.Progress == nil || seen.Progress.Payments != 3 || len(seen.Differences) != 500 || seen.LeftOut != 1 || seen.Actor != "api_key:key-1" {
		t.Errorf("%+v", seen)
	}
	two := r.start(`{"processor":"STRIPE"}`)
	<-begun
	_, err := request.WithBody(r.h.StartReconciliation)(r.body(`{"processor":"WORLDPAY"}`))
	r.refused(domain.ReasonRateLimitExceeded)(nil, err)
	end <- nil
	end <- errors.Join(processor.ErrUnknown)
	r.h.Runs.Wait()
	states := map[string]int{}
	for _, id := range []string{one.ID, two.ID} {
		seen := r.run(id)
		if states[seen.State]++; (seen.State == "DONE") != (seen.Summary != nil && seen.Summary.Differences == 501) || (seen.State == "FAILED") != (seen.Failure != "") {
			t.Errorf("%+v", seen)
		}
	}
	if states["DONE"] != 1 || states["FAILED"] != 1 {
		t.Error(states)
	}
	list, err := r.h.ListReconciliations(r.with())
	must(t, err)
	var all struct{ Data []runSeen }
	must(t, json.Unmarshal([]byte(asJSON(t, list)), &all))
	if len(all.Data) != 2 || all.Data[0].ID != two.ID || all.Data[1].ID != one.ID || len(all.Data[0].Differences) != 0 {
		t.Errorf("%+v", all)
	}
	_, err = r.h.GetReconciliationRun(r.with("id", "unknown"))
	r.refused(domain.ReasonEntityNotFound)(nil, err)
	for _, name := range []string{"WORLDPAY", "STRIPE"} { // those that ended, done or not, leave their places
		r.start(`{"processor":"` + name + `"}`)
		<-begun
	}
	end <- nil
	end <- nil
	r.h.Runs.Wait()
}

// TestReconciliationEndsWithService checks that a comparison ends when the service stops.
func TestReconciliationEndsWithService(t *testing.T) {
	r := newRig(t)
	closing := make(chan struct{})
	r.h.Closing, r.h.Reconciler = closing, untilClosed{}
	one := r.start(`{"processor":"ADYEN"}`)
	close(closing)
	r.h.Runs.Wait()
	if seen := r.run(one.ID); seen.State != "FAILED" || seen.Failure != "The service stopped." {
		t.Errorf("%+v", seen)
	}
}

// TestReconciliationRunsAreBounded checks that the oldest comparison that has ended makes room.
func TestReconciliationRunsAreBounded(t *testing.T) {
	r := newRig(t)
	r.reconciles = func(func(reconcile.Difference) error, func(reconcile.Progress)) (reconcile.Counts, error) {
		return reconcile.Counts{}, nil
	}
	var first string
	for i := range 51 {
		if one := r.start(`{"processor":"ADYEN"}`); i == 0 {
			first = one.ID
		}
		r.h.Runs.Wait()
	}
	list, err := r.h.ListReconciliations(r.with())
	must(t, err)
	var all struct{ Data []runSeen }
	must(t, json.Unmarshal([]byte(asJSON(t, list)), &all))
	if len(all.Data) != 50 || all.Data[49].ID == first {
		t.Errorf("%d are kept", len(all.Data))
	}
}

var _ management.Reconciler = untilClosed{}

// untilClosed compares until its context ends.
type untilClosed struct{}

func (untilClosed) Run(ctx context.Context, _ reconcile.Scope, _ func(reconcile.Difference) error, _ func(reconcile.Progress)) (reconcile.Counts, error) {
	<-ctx.Done()
	return reconcile.Counts{}, ctx.Err()
}
