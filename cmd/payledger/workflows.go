package main

import (
	"context"

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
		Store: a.ledger.store, Compiler: ofPayments, DisputeCompiler: ofDisputes, Subjects: ports, Payments: a.commands, Requests: ports,
		OpenRuns: a.views, Now: a.clock, Logger: a.log, Alone: a.options.NatsURL == "",
	})
	return err
}
