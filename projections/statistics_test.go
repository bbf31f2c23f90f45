package projections

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/projections/statistics"
	"payledger/projections/transactions"
)

// counted returns the statistics of the test account, and checks that they are those of the rows.
func counted(t testing.TB, m *model, account domain.AccountID, from, to time.Time) statistics.Report {
	t.Helper()
	ctx := context.Background()
	report, err := statistics.Read(ctx, m.Readers(), account, statistics.Query{From: statistics.DayOf(from), To: statistics.DayOf(to)})
	if err == nil {
		err = statistics.Check(ctx, m.Readers(), func(difference string) error { t.Error(difference); return nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// routed makes a payment that is created at a time, for an amount, with processors to try.
func (l *logbook) routed(n int, at time.Time, currency domain.Currency, amount domain.Amount, route ...processor.Name) payment.State {
	c := createCommand(at, n)
	c.Amount, c.Currency, c.Route = &amount, currency, nil
	for _, name := range route {
		c.Route = append(c.Route, payment.Target{Processor: name, MerchantID: "m"})
	}
	l.now = at
	e, err := payment.DecideCreate(payment.State{}, c)
	return record(l, eventstore.Payments, payment.State{}, eventstore.Payments.Key(testAccount, string(c.ID)), e, err)
}

// TestStatistics checks that a change of a payment moves it from group to group. Each payment
// counts on the day of its creation, sums of different currencies stay apart, and a payment that
// was tried at two processors counts at both.
func TestStatistics(t *testing.T) {
	t.Parallel()
	l := newLogbook(2)
	noon := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	declined := processor.Answer{State: processor.Declined, Code: "05", ProcessorTransactionID: "d"}
	settled := l.answer(l.routed(1, noon, "EUR", 1000, processor.Adyen), approved())
	settled = l.capture(settled, 700)
	settled = l.answerTo(settled, settled.Revision, approved())
	settled = l.refund(settled, 200)
	l.answerTo(settled, settled.Revision, approved())
	second := l.answer(l.routed(2, noon, "EUR", 500, processor.Adyen, processor.Stripe), processor.Answer{State: processor.Failed, Code: "x", Retryable: true})
	l.answerTo(second, second.Revision, approved())
	l.answer(l.routed(3, noon, "USD", 300, processor.Stripe), declined)
	l.routed(4, noon, "JPY", 9, processor.Worldpay)                                                             // no answer yet
	l.answer(l.routed(5, noon.Add(12*time.Hour-time.Microsecond), "EUR", 1, processor.Adyen), approved())       // the end of the day
	next := l.answer(l.routed(6, noon.Add(12*time.Hour), "EUR", domain.MaxAmount, processor.Adyen), approved()) // the next day
	next = l.cancel(next)
	l.answerTo(next, next.Revision, approved())
	m := openTestModel(t, filepath.Join(t.TempDir(), FileName), 2)
	defer mustClose(t, m)
	for i := range l.all { // each event is a separate transaction
		mustApply(t, m, l.all[i:i+1])
		if i%3 == 0 {
			counted(t, m, testAccount, noon, noon)
		}
	}
	got := asJSON(t, counted(t, m, testAccount, noon, noon.Add(24*time.Hour)))
	want := `{"from":"2026-03-14","to":"2026-03-15","payments":6,"currencies":[` +
		`{"currencyCode":"EUR","payments":4,"total":9007199254742492,"totalCaptured":700,"totalRefunded":200},` +
		`{"currencyCode":"JPY","payments":1,"total":9,"totalCaptured":0,"totalRefunded":0},` +
		`{"currencyCode":"USD","payments":1,"total":300,"totalCaptured":0,"totalRefunded":0}],` +
		`"authorizations":{"approved":4,"declined":1,"failed":1,"rate":0.6666},` +
		`"byStatus":[` +
		`{"status":"AUTHORIZED","payments":2,"currencies":[{"currencyCode":"EUR","payments":2,"total":501,"totalCaptured":0,"totalRefunded":0}]},` +
		`{"status":"CANCELLED","payments":1,"currencies":[{"currencyCode":"EUR","payments":1,"total":9007199254740991,"totalCaptured":0,"totalRefunded":0}]},` +
		`{"status":"DECLINED","payments":1,"currencies":[{"currencyCode":"USD","payments":1,"total":300,"totalCaptured":0,"totalRefunded":0}]},` +
		`{"status":"PARTIALLY_SETTLED","payments":1,"currencies":[{"currencyCode":"EUR","payments":1,"total":1000,"totalCaptured":700,"totalRefunded":200}]},` +
		`{"status":"PENDING","payments":1,"currencies":[{"currencyCode":"JPY","payments":1,"total":9,"totalCaptured":0,"totalRefunded":0}]}],` +
		`"byProcessor":[` +
		`{"processor":"ADYEN","payments":3,"currencies":[{"currencyCode":"EUR","payments":3,"total":9007199254741992,"totalCaptured":700,"totalRefunded":200}],"authorizations":{"approved":3,"declined":0,"failed":1,"rate":0.75}},` +
		`{"processor":"STRIPE","payments":2,"currencies":[{"currencyCode":"EUR","payments":1,"total":500,"totalCaptured":0,"totalRefunded":0},{"currencyCode":"USD","payments":1,"total":300,"totalCaptured":0,"totalRefunded":0}],"authorizations":{"approved":1,"declined":1,"failed":0,"rate":0.5}},` +
		`{"processor":"WORLDPAY","payments":1,"currencies":[{"currencyCode":"JPY","payments":1,"total":9,"totalCaptured":0,"totalRefunded":0}],"authorizations":{"approved":0,"declined":0,"failed":0}}],` +
		`"byNetwork":[{"network":"VISA","authorizations":{"approved":4,"declined":1,"failed":1,"rate":0.6666}}],` +
		`"byCountry":[{"country":"","authorizations":{"approved":0,"declined":1,"failed":0,"rate":0}},{"country":"US","authorizations":{"approved":4,"declined":0,"failed":1,"rate":0.8}}],` +
		`"byHourOfDay":[` + hoursOfDay(map[int]string{
		0: `1,"authorizations":{"approved":1,"declined":0,"failed":0,"rate":1}`, 23: `1,"authorizations":{"approved":1,"declined":0,"failed":0,"rate":1}`,
		12: `4,"authorizations":{"approved":2,"declined":1,"failed":1,"rate":0.5}`,
	}) + `],` +
		`"reasons":[{"status":"DECLINED","reason":"DO_NOT_HONOR","payments":1}],` +
		`"funnel":{"sessions":0,"cards":0,"payments":6,"authorized":4,"captured":1},` +
		`"threeDSecure":{"frictionless":0,"challenged":0,"waiting":0,"passed":0,"failed":0},` +
		`"refunds":{"capturedPayments":1,"refundedPayments":1,"rate":1},"disputes":{"opened":0,"rate":0,"byStatus":[]},` +
		`"byDay":[` +
		`{"day":"2026-03-14","payments":5,"currencies":[{"currencyCode":"EUR","payments":3,"total":1501,"totalCaptured":700,"totalRefunded":200},{"currencyCode":"JPY","payments":1,"total":9,"totalCaptured":0,"totalRefunded":0},{"currencyCode":"USD","payments":1,"total":300,"totalCaptured":0,"totalRefunded":0}],` +
		`"statuses":[{"status":"AUTHORIZED","payments":2},{"status":"DECLINED","payments":1},{"status":"PARTIALLY_SETTLED","payments":1},{"status":"PENDING","payments":1}],"authorizations":{"approved":3,"declined":1,"failed":1,"rate":0.6},` +
		`"processors":[{"processor":"ADYEN","authorizations":{"approved":2,"declined":0,"failed":1,"rate":0.6666}},{"processor":"STRIPE","authorizations":{"approved":1,"declined":1,"failed":0,"rate":0.5}}],"disputes":0,"disputeRate":0},` +
		`{"day":"2026-03-15","payments":1,"currencies":[{"currencyCode":"EUR","payments":1,"total":9007199254740991,"totalCaptured":0,"totalRefunded":0}],` +
		`"statuses":[{"status":"CANCELLED","payments":1}],"authorizations":{"approved":1,"declined":0,"failed":0,"rate":1},` +
		`"processors":[{"processor":"ADYEN","authorizations":{"approved":1,"declined":0,"failed":0,"rate":1}}],"disputes":0}]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	some, err := statistics.Read(t.Context(), m.Readers(), testAccount, statistics.Query{From: statistics.DayOf(noon), To: statistics.DayOf(noon), Currency: "JPY", Status: "PENDING"})
	if err != nil || some.Payments != 1 || some.Refunds.Rate != nil || some.Disputes.Rate == nil || some.ByDay[0].DisputeRate == nil {
		t.Errorf("the dispute rate is not of all payments: %+v %v", some, err)
	}
	if other := counted(t, m, "acct2", noon, noon); other.Payments != 0 || len(other.ByDay) != 1 {
		t.Errorf("another account: %+v", other)
	}
	again := openTestModel(t, filepath.Join(t.TempDir(), FileName), 2)
	defer mustClose(t, again)
	mustApply(t, again, l.all) // one transaction
	if rebuilt := asJSON(t, counted(t, again, testAccount, noon, noon.Add(24*time.Hour))); rebuilt != got || !slices.Equal(dump(t, again), dump(t, m)) {
		t.Errorf("a rebuild has %s", rebuilt)
	}
}

// hoursOfDay returns the 24 hours of a report, with the counts of some.
func hoursOfDay(some map[int]string) string {
	var all []string
	for hour := range 24 {
		all = append(all, fmt.Sprintf(`{"hour":%d,"payments":%s}`, hour, cmp.Or(some[hour], `0,"authorizations":{"approved":0,"declined":0,"failed":0}`)))
	}
	return strings.Join(all, ",")
}

// TestLargeSums: sums above 64 bits are exact.
func TestLargeSums(t *testing.T) {
	t.Parallel()
	const n = 1030 // 2^53 times it is above 2^63
	l := newLogbook(1)
	for i := range n {
		l.routed(i, start, "EUR", domain.MaxAmount, processor.Adyen)
	}
	m := openTestModel(t, filepath.Join(t.TempDir(), FileName), 1)
	defer mustClose(t, m)
	mustApply(t, m, l.all)
	got := counted(t, m, testAccount, start, start)
	if sum := got.Currencies[0].Amount.String(); sum != "9277415232383220730" {
		t.Error(sum)
	}
}

// TestLateApproval: an authorization that was recorded as failed, and that the processor approved,
// moves from failed to approved.
func TestLateApproval(t *testing.T) {
	t.Parallel()
	l := newLogbook(1)
	s := l.answer(l.timeOut(l.create(1)), processor.Answer{State: processor.Failed, Code: processor.CodeFenced})
	m := openTestModel(t, filepath.Join(t.TempDir(), FileName), 1)
	defer mustClose(t, m)
	mustApply(t, m, l.all)
	before := counted(t, m, testAccount, start, start).ByProcessor[0].Authorizations
	l.answerTo(s, 1, approved())
	mustApply(t, m, l.all)
	after := counted(t, m, testAccount, start, start).ByProcessor[0].Authorizations
	if before.Failed != 1 || before.Approved != 0 || after.Failed != 0 || after.Approved != 1 || *before.Rate != 0 || *after.Rate != 1 {
		t.Errorf("%+v became %+v", before, after)
	}
}

// statisticsWithin is the longest time that the statistics of 30 days may take, of 1,000,000
// payments.
const statisticsWithin = 100 * time.Millisecond

// testManyStatistics bounds the time of the statistics of a day and of 30 days of many payments,
// and prints the time for a year.
func testManyStatistics(t *testing.T, m *model, facts []manyFact) {
	newest := time.UnixMicro(facts[len(facts)-1].at)
	measureSearch(t, m, facts)
	counted(t, m, manyAccount, newest, newest)
	for _, days := range []int{1, 30, 366} {
		var took []time.Duration
		var payments int64
		for range 11 {
			began := time.Now()
			report, err := statistics.Read(context.Background(), m.Readers(), manyAccount, statistics.Query{From: statistics.DayOf(newest) - statistics.Day(days-1), To: statistics.DayOf(newest)})
			if err != nil {
				t.Fatal(err)
			}
			took, payments = append(took, time.Since(began)), report.Payments
		}
		slices.Sort(took)
		t.Logf("statistics of %d days, %d payments: %v in the median, %v at most", days, payments, took[len(took)/2], took[len(took)-1])
		if days <= 30 && took[len(took)/2] > statisticsWithin {
			t.Errorf("the statistics of %d days took %v", days, took[len(took)/2])
		}
	}
}

// measureSearch adds two transaction ids to each payment, and prints the time of each look-up of a
// search.
func measureSearch(t *testing.T, m *model, facts []manyFact) {
	t.Helper()
	ctx := context.Background()
	began := time.Now()
	err := m.Transact(ctx, func() error {
		for n := range 2 {
			for i := range facts {
				r := &eventstore.Recorded{Key: eventstore.Payments.Key(domain.AccountID(facts[i].account), facts[i].id)}
				row := transactions.NewRow(r, fmt.Sprintf("tx-%s-%d", facts[i].id, n))
				if _, err := m.Statements[transactions.Insert].ExecContext(ctx, row.Code, string(row.Payment)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began) / time.Duration(2*len(facts))
	var size int
	if err := m.Readers().QueryRow("SELECT sum(pgsize) FROM dbstat WHERE name = 'transactions'").Scan(&size); err != nil {
		t.Fatal(err)
	}
	t.Logf("transaction ids: %v and %d bytes each", took, size/(2*len(facts)))
	for name, look := range map[string]func(f *manyFact) (int, error){
		"transaction": func(f *manyFact) (int, error) {
			found, err := transactions.Payments(ctx, m.Readers(), domain.AccountID(f.account), fmt.Sprintf("tx-%s-%d", f.id, 1), 20)
			return len(found), err
		},
		"order": func(f *manyFact) (int, error) {
			found, _, err := m.findPayments(ctx, domain.AccountID(f.account), PaymentFilter{OrderID: f.order}, nil, nil, 20)
			return len(found), err
		},
		"customer": func(f *manyFact) (int, error) {
			known := f.customer == "" // a guest
			err := m.Readers().QueryRowContext(ctx, selectHasCustomer, f.account, f.customer).Scan(&known)
			if known || f.customer == "" {
				return 1, err
			}
			return 0, err
		},
		"nothing": func(f *manyFact) (int, error) {
			found, err := transactions.Payments(ctx, m.Readers(), domain.AccountID(f.account), "x"+f.id, 20)
			return 1 + len(found), err
		},
	} {
		var times []time.Duration
		for i := 0; i < len(facts); i += len(facts)/200 + 1 {
			began := time.Now()
			n, err := look(&facts[i])
			times = append(times, time.Since(began))
			if err != nil || n == 0 {
				t.Fatalf("%s of payment %d: %d found, %v", name, i, n, err)
			}
		}
		slices.Sort(times)
		t.Logf("search by %s: %v in the median, %v at most", name, times[len(times)/2], times[len(times)-1])
	}
}
