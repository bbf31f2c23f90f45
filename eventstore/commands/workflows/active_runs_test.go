package workflows

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/workflow"
)

// open is an index of runs as the views have it.
type open []workflow.RunState

func (o open) DueWorkflows(_ context.Context, due time.Time) (found []domain.WorkflowID, err error) {
	for _, s := range o {
		if !s.DueAt.After(due) && !slices.Contains(found, s.Workflow.ID) {
			found = append(found, s.Workflow.ID)
		}
	}
	return found, nil
}

func (o open) OpenRuns(_ context.Context, id domain.WorkflowID, due, since time.Time, after domain.RunID, limit int) (found []workflow.RunState, err error) {
	for _, s := range o {
		behind := s.DueAt.After(since) || s.DueAt.Equal(since) && s.ID > after
		if s.Workflow.ID == id && !s.DueAt.After(due) && behind && len(found) < limit {
			found = append(found, s)
		}
	}
	return found, nil
}

func (o open) AheadRuns(_ context.Context, noted time.Time, after domain.RunID, limit int) (found []workflow.RunState, err error) {
	for _, s := range o {
		at := OpenRunOf(s).noted()
		if (at.After(noted) || at.Equal(noted) && s.ID > after) && len(found) < limit {
			found = append(found, s)
		}
	}
	return found, nil
}

func waiting(account domain.AccountID, id domain.WorkflowID, n int, due time.Time) open {
	var runs open
	for i := range n {
		runs = append(runs, workflow.RunState{
			Account: account, ID: domain.RunID(fmt.Sprintf("%s-%06d", id, i)), Revision: 1, DueAt: due.Add(time.Duration(i) * time.Microsecond),
			Workflow: workflow.Ref{ID: id}, Condition: workflow.Evaluation{Holds: true}, Steps: []workflow.Step{{State: workflow.StepOpen}},
		})
	}
	return runs
}

func idle(t *testing.T, runs open) *Engine {
	e := &Engine{Config: Config{Now: time.Now, Logger: zerolog.Nop(), Alone: true, OpenRuns: runs}, swept: map[domain.WorkflowID]sweepPlace{}}
	e.active.start()
	t.Cleanup(e.active.close)
	return e
}

// TestPlaces checks that neither one workflow with thousands of open runs, nor an account with many
// such workflows, keeps the runs of others out, and that a run without a place is found when there
// is one.
func TestPlaces(t *testing.T) {
	t.Parallel()
	now := time.Now()
	runs := waiting("a", "hanging", maxActive+500, now.Add(-time.Hour))
	for i := range 49 {
		runs = append(runs, waiting("a", domain.WorkflowID(fmt.Sprint("hanging-", i)), maxActiveOfWorkflow+10, now.Add(-time.Hour))...)
	}
	runs = append(runs, waiting("b", "capture", 1, now.Add(-time.Minute))...)
	e := idle(t, runs)
	if err := e.sweep(context.Background()); err != nil {
		t.Fatal(err)
	}
	if e.active.byID["capture-000000"] == nil {
		t.Error("a run is not taken while thousands of another account's are open")
	}
	if n := e.active.quotas["hanging"].active; n != maxActiveOfWorkflow {
		t.Errorf("%d places for one workflow", n)
	}
	if n := e.active.accounts["a"]; n > maxActiveOfAccount+50*guaranteedOfWorkflow {
		t.Errorf("%d places for one account", n)
	}
	for i := range 20 {
		e.activate(OpenRunOf(waiting(domain.AccountID(fmt.Sprint("c", i)), domain.WorkflowID(fmt.Sprint("c", i)), 1, now)[0]))
	}
	if n := len(e.active.byID); n < maxActiveOfAccount+21 {
		t.Errorf("%d places", n)
	}
}

// TestSweepGoesOn: a sweep continues past runs that wait for long, and a later sweep reads them
// again.
func TestSweepGoesOn(t *testing.T) {
	t.Parallel()
	now := time.Now()
	runs := waiting("a", "refunds", 3*maxActiveOfWorkflow, now.Add(-time.Hour))
	e := idle(t, runs)
	for _, s := range runs[:2*maxActiveOfWorkflow] { // PENDING for days
		f := &activeRun{OpenRun: OpenRunOf(s), wake: make(chan struct{}, 1)}
		f.Payment = domain.PaymentID(s.ID)
		f.Updated = now.Add(-48 * time.Hour)
		if !e.park(f) {
			t.Fatal("nothing happened to it")
		}
	}
	if err := e.sweep(context.Background()); err != nil {
		t.Fatal(err)
	}
	if e.active.byID[runs[3*maxActiveOfWorkflow-1].ID] == nil || len(e.active.byID) != maxActiveOfWorkflow {
		t.Errorf("%d runs are taken, not the last", len(e.active.byID))
	}
	e.wake(domain.PaymentID(runs[0].ID))
	if len(e.active.parked.byID) != 2*maxActiveOfWorkflow-1 || e.active.parked.waitsLonger(runs[0].ID, now) || !e.active.parked.waitsLonger(runs[1].ID, now) {
		t.Errorf("%d runs rest", len(e.active.parked.byID))
	}
	if e.Now = func() time.Time { return now.Add(parkMost + time.Minute) }; e.active.parked.waitsLonger(runs[1].ID, e.Now()) {
		t.Error("it rests for ever")
	}
}

// TestTurnstile: one simulation for an account, and a few in all.
func TestTurnstile(t *testing.T) {
	t.Parallel()
	var gate turnstile
	if !gate.enter("a") || gate.enter("a") || !gate.enter("b") || gate.enter("c") {
		t.Error("let in")
	}
	if gate.leave("a"); !gate.enter("c") || gate.enter("a") {
		t.Error("after one left")
	}
}

// TestSetBack checks runs that were recorded while the clock was a day or more ahead. They start
// when their own delay has passed since the clock was set back, however long it is. A run that had
// begun, and one without a delay, start at once.
func TestSetBack(t *testing.T) {
	for _, jump := range []time.Duration{25 * time.Hour, 72 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			const delay = 2 * time.Hour
			now := time.Now()
			runs := waiting("a", "capture", 3, now.Add(jump))
			for i := range runs {
				runs[i].Trigger.At, runs[i].Payment = now.Add(jump), "01p"
			}
			later, atOnce, begun := &runs[0], &runs[1], &runs[2]
			later.DueAt = later.Trigger.At.Add(delay)
			begun.Steps[0].State, begun.UpdatedAt = workflow.StepRequested, now.Add(jump)
			e := idle(t, runs)
			sweep := func() {
				t.Helper()
				if err := e.sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			sweep()
			if e.active.byID[atOnce.ID] == nil || e.active.byID[begun.ID] == nil || len(e.active.byID) != 2 {
				t.Errorf("%d runs are taken at once", len(e.active.byID))
			}
			e.wake("01p")
			<-time.After(delay - time.Second)
			if sweep(); e.active.byID[later.ID] != nil {
				t.Error("a run is taken before its delay has gone by")
			}
			<-time.After(time.Second)
			sweep()
			if f := e.active.byID[later.ID]; f == nil || !f.due.Over(e.Now()) {
				t.Errorf("a run is not taken after its delay: %+v", f)
			}
		})
	}
}
