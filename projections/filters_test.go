package projections

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/seedtest"
	"payledger/projections/listing"
)

// pageLength is the length of a page plus one row, which shows that there is a next page.
const pageLength = 101

// filterCase is a filter by one field: set sets it, and fits reports whether a payment matches.
type filterCase struct {
	field, name string
	set         func(f *PaymentFilter, hashes *[]string)
	fits        func(p *manyFact) bool
}

// filterCases are filters by each field of D11: by values that most payments have, few, only the
// oldest, and none, and by several values.
func filterCases() []filterCase {
	var all []filterCase
	values := func(field string, set func(*PaymentFilter, []string), of func(*manyFact) string, several ...[]string) {
		for _, v := range several {
			name := fmt.Sprint(field, "=", v[0])
			if len(v) > 1 {
				name += fmt.Sprint(" and ", len(v)-1, " more")
			}
			all = append(all, filterCase{field, name,
				func(f *PaymentFilter, _ *[]string) { set(f, v) },
				func(p *manyFact) bool { return slices.Contains(v, of(p)) }})
		}
	}
	values("status", func(f *PaymentFilter, v []string) { f.Statuses = v }, func(p *manyFact) string { return p.status },
		[]string{"SETTLED"}, []string{"PENDING"}, []string{"SETTLING"}, []string{"DECLINED", "FAILED"}, []string{"UNHEARD"})
	values("payment_method_type", func(f *PaymentFilter, v []string) { f.MethodTypes = v }, func(p *manyFact) string { return p.method },
		[]string{"PAYMENT_CARD"}, []string{"APPLE_PAY"}, []string{"PAYPAL"})
	values("processor", func(f *PaymentFilter, v []string) { f.Processors = v }, func(p *manyFact) string { return p.processor },
		[]string{"ADYEN"}, []string{"WORLDPAY"}, []string{"STRIPE", "BRAINTREE"}, []string{"PAYPAL"})
	values("currency_code", func(f *PaymentFilter, v []string) { f.Currencies = v }, func(p *manyFact) string { return p.currency },
		[]string{"EUR"}, []string{"USD"}, []string{"JPY"}, []string{"CHF", "PLN", "SEK"}, []string{"NZD"})
	values("customer_id", func(f *PaymentFilter, v []string) { f.CustomerIDs = v }, func(p *manyFact) string { return p.customer },
		[]string{"customer-0000001"}, []string{"customer-0000100"}, hundredCustomers(), []string{"nobody"})
	values("merchant_id", func(f *PaymentFilter, v []string) { f.MerchantIDs = v }, func(p *manyFact) string { return p.merchant },
		[]string{"ADYEN-main"}, []string{"BRAINTREE-south"}, []string{"nobody"})
	values("last_4_digits", func(f *PaymentFilter, v []string) { f.Last4Digits = v }, func(p *manyFact) string { return p.last4 },
		[]string{"1111"}, []string{"4242"}, []string{"0007"}, []string{"0000"})
	values("order_id", func(f *PaymentFilter, v []string) { f.OrderID = v[0] }, func(p *manyFact) string { return p.order },
		[]string{"order-of-a-test"}, []string{"order-000000100"}, []string{"nothing"})
	for _, n := range []int{1, 100, math.MaxInt} {
		hash := fmt.Sprintf("%032x", n)
		all = append(all, filterCase{"customer_email_address", fmt.Sprint("email=", n),
			func(f *PaymentFilter, hashes *[]string) { f.Emails, *hashes = []string{"x"}, []string{hash} },
			func(p *manyFact) bool { return p.email == hash }})
	}
	day := func(d int) time.Time { return manyBegin.Add(time.Duration(d) * 24 * time.Hour) }
	for _, d := range []int{1, 365, 1000} {
		at := day(d)
		all = append(all, filterCase{"from_date", fmt.Sprint("from day ", d), func(f *PaymentFilter, _ *[]string) { f.From = &at },
			func(p *manyFact) bool { return p.at >= at.UnixMicro() }})
	}
	for _, d := range []int{-1, 3, 365} {
		at := day(d)
		all = append(all, filterCase{"to_date", fmt.Sprint("to day ", d), func(f *PaymentFilter, _ *[]string) { f.To = &at },
			func(p *manyFact) bool { return p.at <= at.UnixMicro() }})
	}
	for _, least := range []domain.Amount{1, 1_000_000, 5_000_000_000} {
		all = append(all, filterCase{"min_amount", fmt.Sprint("at least ", least), func(f *PaymentFilter, _ *[]string) { f.MinAmount = &least },
			func(p *manyFact) bool { return p.amount >= least }})
	}
	for _, most := range []domain.Amount{0, 50, 4999} {
		all = append(all, filterCase{"max_amount", fmt.Sprint("at most ", most), func(f *PaymentFilter, _ *[]string) { f.MaxAmount = &most },
			func(p *manyFact) bool { return p.amount <= most }})
	}
	return all
}

func hundredCustomers() (all []string) {
	for n := range 100 {
		all = append(all, fmt.Sprintf("customer-%07d", 1000+n))
	}
	return all
}

// look-up is a filter by one field or two, and the place of a page in it.
type question struct {
	name   string
	fields int // of the filter
	page   int // number of its place
	pair   int // number of its filter
	fits   func(p *manyFact) bool
	filter PaymentFilter
	hashes []string
	from   *listing.Place
}

// questions returns look-ups with all filters alone and in pairs: of each the first page, the one
// from the middle of the time, the last one from shortly before the oldest payment, and the last
// one on the way back.
func questions(facts []manyFact) (alone, pairs []question) {
	place := func(i int, newer bool) *listing.Place {
		return &listing.Place{At: time.UnixMicro(facts[i].at).UTC(), ID: facts[i].id, Newer: newer}
	}
	places := []struct {
		name string
		at   *listing.Place
	}{{"first", nil}, {"middle", place(len(facts)/2, false)}, {"last", place(len(facts)/100, false)}, {"back", place(0, true)}}
	ask := func(to *[]question, cases ...filterCase) {
		for i, p := range places {
			q := question{name: p.name + " page", from: p.at, fields: len(cases), page: i, pair: len(*to) / len(places)}
			for _, c := range cases {
				c.set(&q.filter, &q.hashes)
				q.name += ", " + c.name
			}
			q.fits = func(p *manyFact) bool {
				return p.account == string(manyAccount) && !slices.ContainsFunc(cases, func(c filterCase) bool { return !c.fits(p) })
			}
			*to = append(*to, q)
		}
	}
	cases := filterCases()
	for i, a := range cases {
		ask(&alone, a)
		for _, b := range cases[i+1:] {
			if a.field != b.field {
				ask(&pairs, a, b)
			}
		}
	}
	return alone, pairs
}

// answer returns the ids of a page by a simple loop over all payments.
func (q *question) answer(facts []manyFact) (ids []string) {
	step, i := -1, len(facts)-1
	if q.from != nil && q.from.Newer {
		step, i = 1, 0
	}
	for ; i >= 0 && i < len(facts) && len(ids) < pageLength; i += step {
		p := &facts[i]
		if q.from != nil {
			at := time.UnixMicro(p.at).UTC().Compare(q.from.At)
			if at == 0 {
				at = cmp.Compare(p.id, q.from.ID)
			}
			if at != step && at*step <= 0 {
				continue
			}
		}
		if q.fits(p) {
			ids = append(ids, p.id)
		}
	}
	return ids
}

type timing struct {
	name string
	took time.Duration
	work listWork
	rows int
}

// testFilters reads pages of many payments by every filter of D11, alone and in pairs, and bounds
// the data that is read for a page: some rows along an index, four bytes a payment for each field
// of the filter, and few more rows than the page has. It prints the slowest.
func testFilters(t *testing.T, m *model, facts []manyFact) {
	alone, pairs := questions(facts)
	if seedtest.Sampled() {
		i := 0
		pairs = slices.DeleteFunc(pairs, func(question) bool { i++; return i%19 > 0 }) // every filter is in some of them
	}
	i := 0
	pairs = slices.DeleteFunc(pairs, func(question) bool { i++; return !seedtest.Turn(i, 4) })
	for name, all := range map[string][]question{"alone": alone, "in pairs": pairs} {
		timings := make([]timing, len(all))
		for i := range all {
			timings[i] = all[i].ask(t, m, facts)
		}
		slices.SortFunc(timings, func(a, b timing) int { return cmp.Compare(b.took, a.took) })
		t.Logf("%s: %d pages, median %v, slowest %v", name, len(timings), timings[len(timings)/2].took, timings[0].took)
		for _, s := range timings[:min(10, len(timings))] {
			t.Logf("%12v %3d rows, %+v: %s", s.took, s.rows, s.work, s.name)
		}
	}
}

func (q *question) ask(t *testing.T, m *model, facts []manyFact) timing {
	t.Helper()
	began := time.Now()
	got, work, err := m.findPayments(context.Background(), manyAccount, q.filter, q.hashes, q.from, pageLength)
	took := time.Since(began)
	if err != nil {
		t.Fatal(q.name, err)
	}
	want := q.answer(facts)
	if !slices.EqualFunc(got, want, func(row listedPayment, id string) bool { return row.key.ID == id }) {
		t.Fatalf("%s: %d rows, want %d: %+v, want %v", q.name, len(got), len(want), got, want)
	}
	block := int(m.sizes.block)
	columns := (q.fields + 1) * (len(facts) / block) // one more: the account's
	if work.walked > m.sizes.walk || work.columns > columns || work.checked > pageLength+2*block || work.sorts > 1 {
		t.Errorf("%s: reads %+v, of %d payments", q.name, work, len(facts))
	}
	return timing{q.name, took, work, len(got)}
}

func fileSize(t *testing.T, m *model) (n int) {
	t.Helper()
	if err := m.Readers().QueryRow("SELECT sum(pgsize) FROM dbstat").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
