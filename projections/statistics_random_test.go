package projections

import (
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/projections/statistics"
)

// randomHistory draws sessions, and payments of several currencies, networks and routes with any
// outcome, over three days.
func randomHistory(r *rapid.T) (l *logbook, states []payment.State) {
	l = newLogbook(2)
	for range rapid.IntRange(1, 60).Draw(r, "events") {
		l.now = l.now.Add(time.Duration(rapid.IntRange(0, 70).Draw(r, "minutes")) * time.Minute)
		switch kind := rapid.IntRange(0, 9).Draw(r, "kind"); {
		case kind == 0:
			l.session(len(l.all))
		case kind < 4 || len(states) == 0:
			c := createCommand(l.tick(), len(states))
			c.Currency = rapid.SampledFrom([]domain.Currency{"EUR", "JPY"}).Draw(r, "currency")
			c.Method.Card = domain.NewCard(rapid.SampledFrom([]string{"4111111111111111", "5555555555554444"}).Draw(r, "card"), "12", "2030", true)
			if rapid.Bool().Draw(r, "without a session") {
				c.Session = ""
			}
			c.Route = nil
			for _, name := range rapid.Permutation(processor.Names[:3]).Draw(r, "route")[:2] {
				c.Route = append(c.Route, payment.Target{Processor: name, MerchantID: "m"})
			}
			e, err := payment.DecideCreate(payment.State{}, c)
			states = append(states, record(l, eventstore.Payments, payment.State{}, eventstore.Payments.Key(testAccount, string(c.ID)), e, err))
		default:
			i := rapid.IntRange(0, len(states)-1).Draw(r, "payment")
			if op := states[i].Authorization(); kind == 4 && op.State == payment.StateRequested { // the next processor is tried
				states[i] = l.answerTo(states[i], op.Revision, processor.Answer{State: processor.Failed, Code: "x", Retryable: true})
			} else {
				states[i] = randomStep(l, r, states[i])
			}
		}
	}
	return l, states
}

// tally is a recount of a report, one payment after the other.
type tally struct {
	payments, authorized, captured, refunded, ofSessions, challenged int64
	amounts                                                          map[string]int64 // by hour, currency and status
	tries                                                            map[string]int64 // by dimension, name and outcome
	reasons                                                          map[string]int64
}

func recounted(states []payment.State) tally {
	t := tally{amounts: map[string]int64{}, tries: map[string]int64{}, reasons: map[string]int64{}}
	for _, s := range states {
		hour := s.CreatedAt.UTC().Truncate(time.Hour).Format(time.RFC3339)
		t.payments++
		t.amounts[hour+string(s.Currency)+"/"+string(s.Status())] += int64(s.Amount)
		country := ""
		if s.Bin != nil {
			country = s.Bin.IssuerCountryCode
		}
		approved := int64(0)
		for _, op := range s.Operations {
			if op.Kind != processor.Authorize || op.State != payment.StateSucceeded && op.State != payment.StateDeclined && op.State != payment.StateFailed {
				continue
			}
			if op.State == payment.StateSucceeded {
				approved = 1
			}
			for _, name := range []string{string(op.Target.Processor), string(s.Method.Card.Network), country, hour} {
				t.tries[name+"/"+string(op.State)]++
			}
		}
		if s.Session != "" {
			t.ofSessions++
			t.authorized += approved
		}
		if s.Captured() > 0 {
			t.captured++
		}
		if s.Refunded() > 0 {
			t.refunded++
		}
		if s.Action != nil {
			t.challenged++
		}
		if reason := s.StatusReason(); reason != nil && (s.Status() == payment.StatusDeclined || s.Status() == payment.StatusFailed) {
			name := string(reason.Type)
			if reason.Decline.Code != "" {
				name = reason.Decline.Code
			}
			t.reasons[string(s.Status())+"/"+name]++
		}
	}
	return t
}

// reported returns the same numbers of reports by hour: of all currencies, and of each.
func reported(all statistics.Report, each map[domain.Currency]statistics.Report) tally {
	t := tally{
		payments: all.Payments, authorized: all.Funnel.Authorized, captured: all.Refunds.Captured, refunded: all.Refunds.Refunded,
		ofSessions: all.Funnel.Payments, challenged: all.ThreeDSecure.Challenged,
		amounts: map[string]int64{}, tries: map[string]int64{}, reasons: map[string]int64{},
	}
	for currency, report := range each {
		for _, hour := range report.ByHour {
			for _, n := range hour.Statuses {
				t.amounts[hour.Hour.String()+string(currency)+"/"+string(n.Status)] += n.Amount.Int64()
			}
		}
	}
	outcomes := func(name string, of statistics.Authorizations) {
		for state, n := range map[payment.OperationState]int64{payment.StateSucceeded: of.Approved, payment.StateDeclined: of.Declined, payment.StateFailed: of.Failed} {
			if n > 0 {
				t.tries[name+"/"+string(state)] += n
			}
		}
	}
	for _, of := range all.ByProcessor {
		outcomes(string(of.Processor), of.Authorizations)
	}
	for _, of := range all.ByNetwork {
		outcomes(string(of.Network), of.Authorizations)
	}
	for _, of := range all.ByCountry {
		outcomes(of.Country, of.Authorizations)
	}
	for _, of := range all.ByHour {
		outcomes(of.Hour.String(), of.Authorizations)
	}
	for _, of := range all.Reasons {
		t.reasons[string(of.Status)+"/"+of.Reason] += of.Payments
	}
	return t
}

// TestStatisticsOfAnyHistory: after any history, applied in batches of any size, the counts are
// those of a recount of the payments, and those of the rows.
func TestStatisticsOfAnyHistory(t *testing.T) {
	t.Parallel()
	seedtest.Check(t, func(r *rapid.T) {
		l, states := randomHistory(r)
		m := openTestModel(t, filepath.Join(t.TempDir(), FileName), 2)
		defer mustClose(t, m)
		for at := 0; at < len(l.all); {
			next := min(len(l.all), at+rapid.IntRange(1, 20).Draw(r, "batch"))
			mustApply(t, m, l.all[at:next])
			if at = next; rapid.IntRange(0, 5).Draw(r, "forgets") == 0 {
				m.counter = nil // as after a restart
			}
		}
		counted(t, m, testAccount, start, l.now)
		q := statistics.Query{From: statistics.DayOf(start), To: statistics.DayOf(l.now), Hourly: true}
		all, err := statistics.Read(t.Context(), m.Readers(), testAccount, q)
		if err != nil {
			t.Fatal(err)
		}
		each := map[domain.Currency]statistics.Report{}
		for _, of := range all.Currencies {
			q.Currency = of.Currency
			if each[of.Currency], err = statistics.Read(t.Context(), m.Readers(), testAccount, q); err != nil {
				t.Fatal(err)
			}
		}
		sameByDay(t, r, m, all, each)
		if got, want := asJSON(t, reported(all, each).values()), asJSON(t, recounted(states).values()); got != want {
			r.Fatalf("the report has  %s\na recount has %s", got, want)
		}
	})
}

// sameByDay checks that the rows of days and the rows of hours give the same report. A query
// without hours reads the rows of days.
func sameByDay(t *testing.T, r *rapid.T, m *model, all statistics.Report, each map[domain.Currency]statistics.Report) {
	t.Helper()
	check := func(q statistics.Query, byHour statistics.Report) {
		byHour.ByHour = nil
		byDay, err := statistics.Read(t.Context(), m.Readers(), testAccount, q)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := asJSON(t, byDay), asJSON(t, byHour); got != want {
			r.Fatalf("the rows of days have  %s\nthe rows of hours have %s", got, want)
		}
	}
	check(statistics.Query{From: all.From, To: all.To}, all)
	for currency, of := range each {
		check(statistics.Query{From: all.From, To: all.To, Currency: currency}, of)
	}
	for _, of := range all.ByStatus {
		q := statistics.Query{From: all.From, To: all.To, Status: of.Status, Hourly: true}
		byHour, err := statistics.Read(t.Context(), m.Readers(), testAccount, q)
		if err != nil {
			t.Fatal(err)
		}
		q.Hourly = false
		check(q, byHour)
	}
}

func (t tally) values() []any {
	return []any{t.payments, t.authorized, t.captured, t.refunded, t.ofSessions, t.challenged, t.amounts, t.tries, t.reasons}
}
