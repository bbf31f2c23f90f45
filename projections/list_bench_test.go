package projections

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
)

// manyPayments is how many the account of BenchmarkList has.
const manyPayments = 200_000

const manyAccount domain.AccountID = "01jq5c6k2rz3h8v9m4x7t1w0ab" // as long as a real one

// fillPayments writes rows as the projector does, faster: 3 % of the payments are declined, 0.1 % pending; a
// customer and an e-mail address have 20 each, an order one.
func fillPayments(b *testing.B, m *model) {
	b.Helper()
	ctx := context.Background()
	exec := func(s *sql.Stmt, args ...any) {
		if _, err := s.ExecContext(ctx, args...); err != nil {
			b.Fatal(err)
		}
	}
	exec(m.statements.begin)
	for n := range manyPayments {
		status := payment.StatusSettled
		switch {
		case n%1000 == 0:
			status = payment.StatusPending
		case n%33 == 0:
			status = payment.StatusDeclined
		}
		at := start.Add(time.Duration(n) * time.Second).UnixMicro()
		exec(m.statements.insertPayment, string(paymentID(n)), string(manyAccount), 0, n, 3, at, at, string(status),
			fmt.Sprintf("order-%08d", n), fmt.Sprintf("customer-%05d", n*7919%(manyPayments/20)), fmt.Sprintf("session-%08d", n), "EUR", 1000+n%5000, "ADYEN", "north-adyen", "PAYMENT_CARD",
			fmt.Sprintf("%04d", n*31%10000), "VISA", fmt.Sprintf("%032x", n*7919%(manyPayments/20)), nil, nil, nil, nil)
	}
	exec(m.statements.commit)
}

// BenchmarkList measures how the payments of a page of 100 are found, of an account with 200,000; BenchmarkPage measures
// how they are read.
func BenchmarkList(b *testing.B) {
	m := openTestModel(b, filepath.Join(b.TempDir(), fileName), 1)
	defer mustClose(b, m)
	fillPayments(b, m)
	middle := &Place{At: start.Add(manyPayments / 2 * time.Second), ID: paymentID(manyPayments / 2)}
	hash := fmt.Sprintf("%032x", 5)
	hundred := make([]string, 100)
	for i := range hundred {
		hundred[i] = fmt.Sprintf("customer-%05d", i)
	}
	day := start.Add(1000 * time.Second)
	for _, c := range []struct {
		name   string
		f      PaymentFilter
		hashes []string
		from   *Place
	}{
		{name: "newest"},
		{name: "middle", from: middle},
		{name: "back from the middle", from: &Place{At: middle.At, ID: middle.ID, Newer: true}},
		{name: "pending", f: PaymentFilter{Statuses: []string{"PENDING"}}},
		{name: "settled", f: PaymentFilter{Statuses: []string{"SETTLED"}}, from: middle},
		{name: "five statuses", f: PaymentFilter{Statuses: []string{"SETTLED", "DECLINED", "PENDING", "FAILED", "CANCELLED"}}, from: middle},
		{name: "customer", f: PaymentFilter{CustomerIDs: []string{"customer-00005"}}},
		{name: "100 customers", f: PaymentFilter{CustomerIDs: hundred}},
		{name: "order", f: PaymentFilter{OrderID: "order-00012345"}},
		{name: "order, status", f: PaymentFilter{OrderID: "order-00012345", Statuses: []string{"SETTLED"}}},
		{name: "email", hashes: []string{hash}, f: PaymentFilter{Emails: []string{"x"}}},
		{name: "first day", f: PaymentFilter{To: &day}},
		{name: "last4", f: PaymentFilter{Last4Digits: []string{"0031"}}},
		{name: "nothing", f: PaymentFilter{Currencies: []string{"USD"}}},
		{name: "declined, nothing", f: PaymentFilter{Statuses: []string{"DECLINED"}, Currencies: []string{"USD"}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			rows := 0
			for b.Loop() {
				found, err := m.listPayments(context.Background(), manyAccount, c.f, c.hashes, c.from, 101)
				if err != nil {
					b.Fatal(err)
				}
				rows = len(found)
			}
			b.ReportMetric(float64(rows), "rows")
		})
	}
}
