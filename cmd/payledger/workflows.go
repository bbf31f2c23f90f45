package main

import (
	"context"
	"time"

	"payledger/eventstore/workflows"
	"payledger/notifier"
)

// openWorkflows ties the engine that runs workflows to payments, webhooks and views (D19).
func (a *App) openWorkflows(ctx context.Context) error {
	ofPayments, ofDisputes, err := notifier.Compilers()
	if err != nil {
		return err
	}
	ports := a.notifier.Workflows()
	a.workflows, err = workflows.New(ctx, workflows.Config{
		Store: a.ledger.store, Fanout: a.fanout, Compiler: ofPayments, DisputeCompiler: ofDisputes, Subjects: ports, Payments: a.commands, Requests: ports,
		OpenRuns: a.openRuns, Now: a.clock, Logger: a.log, Alone: a.options.NatsURL == "",
	})
	return err
}

// openRuns finds the runs that are due in the views.
func (a *App) openRuns(ctx context.Context, due time.Time, limit int) ([]workflows.OpenRun, error) {
	found, err := a.views.OpenRuns(ctx, due, limit)
	if err != nil {
		return nil, err
	}
	open := make([]workflows.OpenRun, len(found))
	for i, s := range found {
		open[i] = workflows.OpenRunOf(s)
	}
	return open, nil
}
