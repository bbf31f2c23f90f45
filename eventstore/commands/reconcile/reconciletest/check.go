// Package reconciletest compares the ledger of a test with its processors' books at the test's end,
// for tests of any package.
//
// Three kinds of differences are left out, because tests make them on purpose: operations at a
// processor without a request of the ledger, of which the ledger learns when its own next operation
// is refused (§6.3); dispute notifications that the test signed itself; and results that may be on
// their way.
//
// The package must not know: which tests, how a processor is reached.
package reconciletest

import (
	"context"
	"strings"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/eventstore/commands/reconcile"
	"payledger/eventstore/engine"
)

// onTheirWay is the grace time: a processor may report a result after the end of the test.
const onTheirWay = 1000 * time.Hour

// Check compares every account with the books of some processors. Each difference is an error of
// the test.
func Check(t testing.TB, store *engine.Store, books reconcile.Books, names map[processor.Name]bool) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	accounts, err := reconcile.Accounts(ctx, store)
	if err != nil {
		t.Errorf("reconcile: %v", err)
	}
	for name := range names {
		for _, account := range accounts {
			report := func(d reconcile.Difference) error {
				behind := d.Kind == reconcile.MissingHere && !strings.HasPrefix(string(d.Key), string(d.Payment)+".")
				signed := d.Kind == reconcile.MissingThere && d.Operation == processor.Dispute
				if !behind && !signed {
					t.Errorf("reconcile: %s %s of %s, key %s, id %s: here %+v, there %+v", d.Kind, d.Operation, d.Payment, d.Key, d.ID, d.Here, d.There)
				}
				return nil
			}
			_, err := reconcile.Reconciler{Store: store, Books: books, Grace: onTheirWay}.Run(ctx,
				reconcile.Scope{Account: account, Processor: name}, report, func(reconcile.Progress) {})
			if err != nil {
				t.Errorf("reconcile with %s: %v", name, err)
			}
		}
	}
}
