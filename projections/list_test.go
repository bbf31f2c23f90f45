package projections

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/projections/listing"
	"payledger/projections/paymentjson"
	"payledger/projections/sqlitefile"
)

// The values of the payments of a test, and of the filters. Some values have no payment.
var (
	someOrders     = []string{"order-1", "order-2", "order, 3"}
	someSessions   = []string{"", "session-1", "session-2"}
	someCustomers  = []string{"", "customer-1", "customer-2", "Customer-1"}
	someCurrencies = []string{"EUR", "USD", "JPY"}
	someCards      = []string{"4111111111111111", "5555555555554444", "4242424242424242"}
	someTargets    = []payment.Target{{Processor: processor.Adyen, MerchantID: "north"}, {Processor: processor.Stripe, MerchantID: "south"}}
	someHashes     = []string{"", "hash-1", "hash-2"}
)

// recordPayment records a payment created at a time; fill sets the fields that the test needs.
func (l *logbook) recordPayment(n int, at time.Time, fill func(*payment.Create)) payment.State {
	c := createCommand(at, n)
	fill(&c)
	e, err := payment.DecideCreate(payment.State{}, c)
	return record(l, eventstore.Payments, payment.State{}, eventstore.Payments.Key(c.Account, string(c.ID)), e, err)
}

// drawPayment records a payment of any kind; times are few, so that many payments have the same.
func drawPayment(r *rapid.T, l *logbook, n int, at time.Time) payment.State {
	s := l.recordPayment(n, at.Add(time.Duration(rapid.IntRange(0, 5).Draw(r, "µs"))*time.Microsecond), func(c *payment.Create) {
		amount := domain.Amount(rapid.IntRange(0, 5).Draw(r, "amount"))
		c.Amount, c.OrderID = &amount, rapid.SampledFrom(someOrders).Draw(r, "order")
		c.CustomerID = rapid.SampledFrom(someCustomers).Draw(r, "customer")
		c.Session = domain.SessionID(rapid.SampledFrom(someSessions).Draw(r, "session"))
		c.Currency = domain.Currency(rapid.SampledFrom(someCurrencies).Draw(r, "currency"))
		c.Method.Card = domain.NewCard(rapid.SampledFrom(someCards).Draw(r, "card"), "12", "2030", true)
		c.Method.AuthorizationType = rapid.SampledFrom([]string{"FINAL", "ESTIMATED"}).Draw(r, "authorization")
		c.Route = []payment.Target{rapid.SampledFrom(someTargets).Draw(r, "target")}
		if hash := rapid.SampledFrom(someHashes).Draw(r, "hash"); hash != "" {
			c.Personal = &domain.Sealed{Key: "customer-key.acct1.x", Box: []byte{1}, EmailHash: hash}
		}
		if rapid.IntRange(0, 9).Draw(r, "foreign") == 0 {
			c.Account = "acct2"
		}
	})
	return drawAnswer(r, l, s)
}

func drawAnswer(r *rapid.T, l *logbook, s payment.State) payment.State {
	if s.Account != testAccount || s.Status() != payment.StatusPending {
		return s
	}
	switch rapid.IntRange(0, 2).Draw(r, "answer") {
	case 0:
		return l.answer(s, approved())
	case 1:
		return l.answer(s, processor.Answer{State: processor.Declined, Code: "05"})
	}
	return s
}

// drawFilter draws a filter that is mostly open.
func drawFilter(r *rapid.T) (f PaymentFilter, hashes []string) {
	some := func(name string, from ...string) []string {
		if rapid.IntRange(0, 3).Draw(r, name+"?") > 0 {
			return nil
		}
		return rapid.SliceOfN(rapid.SampledFrom(from), 1, 3).Draw(r, name)
	}
	f.Statuses = some("status", "PENDING", "AUTHORIZED", "DECLINED", "SETTLED")
	f.MethodTypes = some("type", "PAYMENT_CARD", "PAYPAL")
	f.Processors, f.MerchantIDs = some("processor", "ADYEN", "STRIPE", "PAYPAL"), some("merchant", "north", "south", "east")
	f.TriedProcessors, f.TriedResults = some("tried", "ADYEN", "STRIPE", "PAYPAL"), some("result", "APPROVED", "DECLINED", "FAILED")
	f.Currencies, f.CustomerIDs = some("currency", someCurrencies...), some("customer", "customer-1", "customer-2", "nobody")
	f.Last4Digits, hashes = some("last4", "1111", "4444", "0000"), some("hash", "hash-1", "hash-2", "hash-3")
	if one := some("order", someOrders...); one != nil {
		f.OrderID = one[0]
	}
	if one := some("session", someSessions...); one != nil {
		f.Session = domain.SessionID(one[0])
	}
	if rapid.Bool().Draw(r, "bounds") {
		from, to := start.Add(time.Duration(rapid.IntRange(0, 4).Draw(r, "from"))*time.Microsecond), start.Add(8*time.Microsecond)
		least, most := domain.Amount(rapid.IntRange(0, 2).Draw(r, "least")), domain.Amount(rapid.IntRange(2, 5).Draw(r, "most"))
		f.From, f.To, f.MaxAmount = &from, &to, &most
		if rapid.Bool().Draw(r, "at least") {
			f.MinAmount = &least
		}
	}
	return f, hashes
}

// tried reports whether the payment has an authorization at one of the processors, with one of the
// results.
func tried(s payment.State, f PaymentFilter) bool {
	if len(f.TriedProcessors)+len(f.TriedResults) == 0 {
		return true
	}
	words := map[payment.OperationState]string{payment.StateSucceeded: "APPROVED", payment.StateDeclined: "DECLINED", payment.StateFailed: "FAILED"}
	return slices.ContainsFunc(s.Operations, func(op payment.Operation) bool {
		return op.Kind == processor.Authorize && (len(f.TriedProcessors) == 0 || slices.Contains(f.TriedProcessors, string(op.Target.Processor))) &&
			(len(f.TriedResults) == 0 || slices.Contains(f.TriedResults, words[op.State]))
	})
}

// fits is D11 in the plainest words.
func fits(s payment.State, f PaymentFilter, hashes []string) bool {
	in := func(value string, values []string) bool { return len(values) == 0 || slices.Contains(values, value) }
	target := s.Authorization().Target
	return s.Account == testAccount && tried(s, f) && in(string(s.Status()), f.Statuses) && in(s.Method.Type, f.MethodTypes) &&
		in(string(target.Processor), f.Processors) && in(target.MerchantID, f.MerchantIDs) && in(string(s.Currency), f.Currencies) &&
		in(s.CustomerID, f.CustomerIDs) && in(s.Method.Card.Last4Digits, f.Last4Digits) && in(s.EmailHash, hashes) &&
		(f.OrderID == "" || s.OrderID == f.OrderID) && (f.Session == "" || s.Session == f.Session) && (f.From == nil || !s.CreatedAt.Before(*f.From)) && (f.To == nil || !s.CreatedAt.After(*f.To)) &&
		(f.MinAmount == nil || s.Amount >= *f.MinAmount) && (f.MaxAmount == nil || s.Amount <= *f.MaxAmount)
}

// newestFirst returns the ids of the matching payments, in the order of a list.
func newestFirst(all []payment.State, f PaymentFilter, hashes []string) []domain.PaymentID {
	found := slices.DeleteFunc(slices.Clone(all), func(s payment.State) bool { return !fits(s, f, hashes) })
	slices.SortFunc(found, func(a, b payment.State) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	return ids(found, func(s payment.State) domain.PaymentID { return s.ID })
}

func ids[T any](all []T, id func(T) domain.PaymentID) []domain.PaymentID {
	out := []domain.PaymentID{}
	for _, one := range all {
		out = append(out, id(one))
	}
	return out
}

// lister is a read model, the payments in it, and one filter.
type lister struct {
	*model
	log     *logbook
	applied int
	all     []payment.State
	filter  PaymentFilter
	hashes  []string
}

func (l *lister) catchUp(t *testing.T) {
	mustApply(t, l.model, l.log.all[l.applied:])
	l.applied = len(l.log.all)
}

func (l *lister) page(t rapid.TB, from *listing.Place, limit int) PaymentPage {
	rows, err := l.listPayments(context.Background(), testAccount, l.filter, l.hashes, from, limit+1)
	if err != nil {
		t.Fatal(err)
	}
	var found []payment.State
	for _, row := range rows {
		i := slices.IndexFunc(l.all, func(s payment.State) bool { return string(s.ID) == row.key.ID })
		if l.all[i].Revision != row.revision {
			t.Fatalf("the row of %s shows revision %d of %d", row.key, row.revision, l.all[i].Revision)
		}
		if !l.filter.holds(&l.all[i]) {
			t.Fatalf("the row of %s fits, its state does not", row.key)
		}
		found = append(found, l.all[i])
	}
	page := newPage(found, from, limit)
	if len(page.Data) > limit {
		t.Fatalf("%d payments on a page of %d", len(page.Data), limit)
	}
	return page
}

func (l *lister) fitting() []domain.PaymentID { return newestFirst(l.all, l.filter, l.hashes) }

// TestListPages checks that pages of any length show every payment that matches a filter once, in
// order, while payments are added and change. The way back shows all payments that match by then.
func TestListPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seedtest.Check(t, func(r *rapid.T) {
		path := filepath.Join(dir, rapid.StringMatching(`[a-z]{12}`).Draw(r, "file"))
		if err := sqlitefile.Remove(path); err != nil {
			r.Fatal(err)
		}
		l := &lister{model: openTestModel(t, path, 3), log: newLogbook(3)}
		defer mustClose(t, l.model)
		if rapid.Bool().Draw(r, "small") { // blocks come into it
			l.sizes = smallBlocks(r)
		}
		for n := range rapid.IntRange(0, 25).Draw(r, "payments") {
			l.all = append(l.all, drawPayment(r, l.log, n, start))
		}
		l.catchUp(t)
		l.filter, l.hashes = drawFilter(r)
		steady, seen := l.fitting(), []domain.PaymentID{}
		page := PaymentPage{Older: nil}
		for from := (*listing.Place)(nil); ; from = page.Older {
			page = l.page(r, from, rapid.IntRange(1, 7).Draw(r, "limit"))
			seen = append(seen, pageIDs(page)...)
			if page.Older == nil {
				break
			}
			if rapid.Bool().Draw(r, "change") {
				change(r, l)
				l.catchUp(t)
				now := l.fitting()
				steady = slices.DeleteFunc(steady, func(id domain.PaymentID) bool { return !slices.Contains(now, id) })
			}
		}
		if missing := slices.DeleteFunc(steady, func(id domain.PaymentID) bool { return slices.Contains(seen, id) }); len(missing) > 0 {
			r.Fatalf("seen %v; not seen %v", seen, missing)
		}
		l.checkOrder(r, seen)
		back := pageIDs(page)
		for from := page.Newer; from != nil; from = page.Newer {
			page = l.page(r, from, rapid.IntRange(1, 7).Draw(r, "limit"))
			back = append(pageIDs(page), back...)
		}
		if want := l.fitting(); !slices.Equal(back, want) {
			r.Fatalf("on the way back %v, want %v", back, want)
		}
		l.checkTotals(r, rapid.IntRange(0, 12).Draw(r, "counted"))
	})
}

func pageIDs(p PaymentPage) []domain.PaymentID {
	return ids(p.Data, func(s PaymentSummary) domain.PaymentID { return s.ID })
}

// change adds a payment, at the newest end or a clock behind, and answers another.
func change(r *rapid.T, l *lister) {
	l.all = append(l.all, drawPayment(r, l.log, len(l.all), start.Add(time.Duration(rapid.IntRange(0, 5).Draw(r, "later"))*time.Microsecond)))
	i := rapid.IntRange(0, len(l.all)-1).Draw(r, "which")
	l.all[i] = drawAnswer(r, l.log, l.all[i])
}

// checkOrder wants the newest first, and nothing twice.
func (l *lister) checkOrder(t rapid.TB, seen []domain.PaymentID) {
	order := newestFirst(l.all, PaymentFilter{}, nil)
	for i := range len(seen) - 1 {
		if slices.Index(order, seen[i]) >= slices.Index(order, seen[i+1]) {
			t.Fatalf("%s before %s in %v", seen[i], seen[i+1], seen)
		}
	}
}

// checkTotals wants the totals of the newest payments that fit, at most so many.
func (l *lister) checkTotals(t rapid.TB, most int) {
	fit := l.fitting()
	want := Totals{Payments: min(most, len(fit)), More: len(fit) > most}
	sums := map[domain.Currency]*CurrencyTotal{}
	for _, id := range fit[:want.Payments] {
		s := l.all[slices.IndexFunc(l.all, func(s payment.State) bool { return s.ID == id })]
		if sums[s.Currency] == nil {
			sums[s.Currency] = &CurrencyTotal{Currency: s.Currency, Amount: new(big.Int), Captured: new(big.Int), Refunded: new(big.Int)}
		}
		sums[s.Currency].Payments++
		sums[s.Currency].Amount.Add(sums[s.Currency].Amount, big.NewInt(int64(s.Amount)))
	}
	got, err := l.totalsOf(context.Background(), testAccount, l.filter, l.hashes, most)
	if err != nil {
		t.Fatal(err)
	}
	if got.Payments != want.Payments || got.More != want.More || len(got.Currencies) != len(sums) {
		t.Fatalf("totals %+v, want %+v with %d currencies", got, want, len(sums))
	}
	for i, one := range got.Currencies {
		sum := sums[one.Currency]
		if sum == nil || one.Payments != sum.Payments || one.Amount.Cmp(sum.Amount) != 0 || one.Captured.Sign() != 0 || one.Refunded.Sign() != 0 {
			t.Fatalf("totals of %s: %+v, want %+v", one.Currency, one, sum)
		}
		if i > 0 && got.Currencies[i-1].Payments < one.Payments {
			t.Fatalf("the currencies are not in order: %+v", got.Currencies)
		}
	}
}

// TestListEmptyPage checks that a page without any matching payment left leads back to the page
// before it, and that the way forward from an empty page works, too.
func TestListEmptyPage(t *testing.T) {
	l := &lister{model: openTestModel(t, filepath.Join(t.TempDir(), FileName), 1), log: newLogbook(1)}
	defer mustClose(t, l.model)
	for n := range 4 {
		l.all = append(l.all, l.log.create(n))
	}
	l.catchUp(t)
	l.filter = PaymentFilter{Statuses: []string{"PENDING"}}
	settle := func(n int) {
		l.all[n] = l.log.answer(l.all[n], approved())
		l.catchUp(t)
	}
	want := func(page PaymentPage, older, newer bool, numbers ...int) PaymentPage {
		t.Helper()
		if !slices.Equal(pageIDs(page), ids(numbers, paymentID)) || (page.Older != nil) != older || (page.Newer != nil) != newer {
			t.Fatalf("page %v, older %+v, newer %+v; want %v", pageIDs(page), page.Older, page.Newer, numbers)
		}
		return page
	}
	first := want(l.page(t, nil, 2), true, false, 3, 2)
	second := want(l.page(t, first.Older, 2), false, true, 1, 0)
	settle(1)
	settle(0)
	empty := want(l.page(t, first.Older, 2), false, true)
	want(l.page(t, empty.Newer, 2), true, false, 3, 2)
	want(l.page(t, empty.Newer, 1), true, true, 2)
	settle(3)
	want(l.page(t, second.Newer, 2), true, false, 2)
	settle(2)
	behind := want(l.page(t, second.Newer, 2), true, false)
	want(l.page(t, behind.Older, 2), false, true)
	l.all = append(l.all, l.log.create(4))
	l.catchUp(t)
	want(l.page(t, nil, 2), false, false, 4)
}

// TestListPlans: each filter walks along its index from the place on; one value's rows come in
// order, so that nothing is sorted but payments of the same microsecond. The search after the walk
// reads rows by their numbers.
func TestListPlans(t *testing.T) {
	m := openTestModel(t, filepath.Join(t.TempDir(), FileName), 1)
	defer mustClose(t, m)
	many := []string{"PENDING", "SETTLED", "PENDING", "DECLINED"}
	for _, c := range []struct {
		index  string
		filter PaymentFilter
		hashes []string
	}{
		{"payments_created", PaymentFilter{Last4Digits: []string{"1111"}, From: &start}, nil},
		{"payments_created", PaymentFilter{Statuses: many, Currencies: []string{"EUR"}}, nil},
		{"payments_customer", PaymentFilter{Statuses: many, CustomerIDs: []string{"a", "b"}}, nil},
		{"payments_customer", PaymentFilter{Statuses: many, CustomerIDs: []string{"a", "a"}}, nil},
		{"payments_email", PaymentFilter{Statuses: many, CustomerIDs: []string{"a", "b"}}, []string{"h"}},
		{"payments_order", PaymentFilter{Statuses: many, CustomerIDs: []string{"a", "b"}, OrderID: "o"}, []string{"h"}},
		{"payments_session", PaymentFilter{Statuses: many, OrderID: "o", Session: "s"}, nil},
	} {
		for _, from := range []*listing.Place{nil, {At: start, ID: "01"}, {At: start, ID: "01", Newer: true, Here: true}} {
			s := &search{sizes: usualSizes, filter: newFilter(testAccount, c.filter, c.hashes), from: from, n: 10}
			q, ordered := s.walkQuery()
			lines := explain(t, m, q)
			for i, line := range lines {
				switch {
				case i == 0 && strings.HasPrefix(line, "SEARCH payments USING INDEX "+c.index+" (account=?") &&
					(from == nil || strings.Contains(line, "created_at")):
				case i == 1 && ordered && line == "USE TEMP B-TREE FOR LAST TERM OF ORDER BY":
				default:
					t.Errorf("%s: %q of\n%s", c.index, line, strings.Join(lines, "\n"))
				}
			}
			for start, q := range map[string]query{"rowid>?": s.newestQuery(1000), "rowid=?": s.rowsQuery([]int64{1, 2})} {
				if line := explain(t, m, q)[0]; line != "SEARCH payments USING INTEGER PRIMARY KEY ("+start+")" {
					t.Errorf("%s: %q", c.index, line)
				}
			}
			if several := c.index == "payments_customer" && len(s.equal[0].values) > 1; ordered == several {
				t.Errorf("%s: ordered %t", c.index, ordered)
			}
		}
	}
}

// explain returns SQLite's plan for a query.
func explain(t *testing.T, m *model, q query) (lines []string) {
	t.Helper()
	rows, err := m.Readers().Query("EXPLAIN QUERY PLAN "+q.sql, q.args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var line string
		if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestListSaysWhatThePaymentSays: the fields of a list are those of the Payment JSON, value by
// value.
func TestListSaysWhatThePaymentSays(t *testing.T) {
	l := newLogbook(1)
	for _, s := range []payment.State{l.create(1), l.answer(l.create(2), approved()), l.recordPayment(3, start, func(c *payment.Create) { c.CustomerID, c.Metadata = "", nil })} {
		got, want := summary(s), paymentjson.Render(s, domain.Personal{}, paymentjson.Options{})
		if got.ID != want.ID || got.Date != want.Date || got.DateUpdated != want.DateUpdated || got.Status != want.Status || got.OrderID != want.OrderID ||
			got.CustomerID != want.CustomerID || got.CurrencyCode != want.CurrencyCode || got.Amount != want.Amount ||
			got.PaymentMethodType != want.PaymentMethod.PaymentMethodType || *got.Processor != *want.Processor || fmt.Sprint(got.Metadata) != fmt.Sprint(want.Metadata) {
			t.Errorf("listed %+v, is %+v", got, want)
		}
	}
}

// TestLargeTotals: totals above 64 bits are exact, and each row of them is found by its number. The
// rows are added up in the file: the totals of 10,000 payments read a row for each currency.
func TestLargeTotals(t *testing.T) {
	t.Parallel()
	const n = 1030 // 2^53 times it is above 2^63
	l := newLogbook(1)
	for i := range n {
		l.routed(i, start, "EUR", domain.MaxAmount, processor.Adyen)
	}
	m := openTestModel(t, filepath.Join(t.TempDir(), FileName), 1)
	defer mustClose(t, m)
	mustApply(t, m, l.all)
	got, err := m.totalsOf(t.Context(), testAccount, PaymentFilter{}, nil, 2*n)
	if err != nil || len(got.Currencies) != 1 || got.Payments != n || got.Currencies[0].Amount.String() != "9277415232383220730" {
		t.Errorf("%+v %v", got, err)
	}
	plan := explain(t, m, query{selectAmounts, []any{"[1,2]"}})
	if !slices.Contains(plan, "SEARCH payments USING INTEGER PRIMARY KEY (rowid=?)") {
		t.Errorf("%q", plan)
	}
}
