//go:build system

package kills

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"payledger/cmd/payledger/apptest"
	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/processorsim/adapter"
)

// sums are the balances of the ledger accounts by their name, processor and currency, in minor
// units. A balance of 0 has no entry.
type sums map[string]int64

// move adds an amount to a debited account and takes it from a credited one.
func (s sums) move(debit, credit string, name processor.Name, currency domain.Currency, amount domain.Amount) {
	of := fmt.Sprint(" ", name, " ", currency)
	s[debit+of] += int64(amount)
	s[credit+of] -= int64(amount)
}

// whole drops balances of 0.
func (s sums) whole() sums {
	maps.DeleteFunc(s, func(_ string, sum int64) bool { return sum == 0 })
	return s
}

// booked returns the balances that the processors' books and their disputes add up to. The books do
// not know which capture was the final one. The status shows it; audit has compared the status with
// the books.
func (r *reconciling) booked() sums {
	r.Helper()
	lines, err := r.app.Processors.Control().Books(context.Background(), adapter.Filter{})
	if err != nil {
		r.Fatal(err)
	}
	all, held := sums{}, map[domain.PaymentID]domain.Amount{}
	for _, l := range lines {
		if l.State != processor.Succeeded {
			continue
		}
		open := slices.Contains([]payment.Status{payment.StatusAuthorized, payment.StatusPartiallySettled}, r.atLog(l.Reference).Status())
		hold := func(amount domain.Amount) {
			if open {
				all.move("holds", "authorizations", l.Processor, l.Currency, amount)
			}
		}
		switch l.Operation {
		case processor.Authorize, processor.Adjust:
			hold(l.Amount - held[l.Reference])
			held[l.Reference] = l.Amount
		case processor.Capture:
			hold(-l.Amount)
			all.move("receivable", "sales", l.Processor, l.Currency, l.Amount)
		case processor.Refund:
			all.move("refunds", "receivable", l.Processor, l.Currency, l.Amount)
		}
	}
	for _, d := range r.disputes {
		if d.Type != processor.Retrieval && d.Status != processor.DisputeWon && d.Status != processor.DisputeCancelled {
			all.move("disputes", "receivable", d.Processor, d.Currency, d.Amount)
		}
	}
	for _, account := range []string{"holds", "receivable", "sales", "refunds", "disputes"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(key string) bool { return key[:len(account)] == account }) {
			r.Errorf("the books have no %s", account)
		}
	}
	return all.whole()
}

// entries exports the stopped folder: the entries of each event are balanced, and their sums are
// those of the processors' books.
func (r *reconciling) entries(booked sums) {
	r.Helper()
	out := filepath.Join(r.TempDir(), "export.sqlite")
	if status, _, stderr := apptest.Invoke(r.T, "export", "--data", r.options.Data, "--format", "sqlite", "--out", out); status != 0 {
		r.Fatalf("export exits %d: %s", status, stderr)
	}
	const unbalanced = `SELECT count(*) FROM (SELECT 1 FROM entries GROUP BY position, currency, processor HAVING sum(debit) <> sum(credit))`
	if n := queried(r.T, out, unbalanced); n != "0" {
		r.Errorf("the entries of %s events are not balanced", n)
	}
	db, err := sql.Open("sqlite", "file:"+out+"?mode=ro")
	if err != nil {
		r.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(r.Context(), `SELECT ledger_account || ' ' || processor || ' ' || currency, sum(debit) - sum(credit) FROM entries GROUP BY 1`)
	if err != nil {
		r.Fatal(err)
	}
	defer rows.Close()
	exported := sums{}
	for rows.Next() {
		var key string
		var sum int64
		if err := rows.Scan(&key, &sum); err != nil {
			r.Fatal(err)
		}
		exported[key] = sum
	}
	if err := rows.Err(); err != nil {
		r.Fatal(err)
	}
	for key := range maps.Keys(booked) {
		if exported[key] != booked[key] {
			r.Errorf("%s: the entries have %d, the processors' books %d", key, exported[key], booked[key])
		}
	}
	if exported.whole(); len(exported) != len(booked) {
		r.Errorf("the entries have %d balances, the processors' books %d", len(exported), len(booked))
	}
	r.Logf("%d balances of the entries are those of the processors' books", len(exported))
}
