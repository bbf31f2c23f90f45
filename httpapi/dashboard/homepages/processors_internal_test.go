package homepages

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"payledger/domain/processor"
)

// day returns a day with the outcomes of processors: approved, declined and failed.
func day(t *testing.T, of map[string][3]int) *bucket {
	t.Helper()
	var all []string
	for name, n := range of {
		all = append(all, fmt.Sprintf(`{"processor":%q,"authorizations":{"approved":%d,"declined":%d,"failed":%d}}`, name, n[0], n[1], n[2]))
	}
	b := new(bucket)
	if err := json.Unmarshal([]byte(`{"processors":[`+strings.Join(all, ",")+`]}`), b); err != nil {
		t.Fatal(err)
	}
	return b
}

func every(processor.Name) bool { return true }

// TestProcessorsWithoutPayments: a processor that takes no payments is no problem, also if all its
// tries of today failed: it is the last, and no sentence names it. One without a failed try, about
// which too little is known, is not worse than those that work.
func TestProcessorsWithoutPayments(t *testing.T) {
	t.Parallel()
	today := day(t, map[string][3]int{"ADYEN": {95, 5, 0}, "CHECKOUT": {1, 0, 0}, "PAYPAL": {2, 0, 1}, "STRIPE": {0, 0, 9}})
	w := &view{Processors: healths(today, nil, func(name processor.Name) bool { return name != processor.Stripe })}
	var got []string
	for _, h := range w.Processors {
		got = append(got, h.Processor+" "+h.Words)
	}
	if want := "PAYPAL Too few to tell, ADYEN Works, CHECKOUT Too few to tell, STRIPE Takes no payments"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	if w.Fails() || w.Answer() != "No processor fails today." {
		t.Error(w.Answer())
	}
}

// TestHealths: the worst processor is first: one that fails, then one whose rate fell, then one of
// which too little is known, then those that work.
func TestHealths(t *testing.T) {
	t.Parallel()
	today := day(t, map[string][3]int{"ADYEN": {95, 5, 0}, "STRIPE": {40, 60, 0}, "WORLDPAY": {1, 0, 37}, "PAYPAL": {2, 0, 1}, "CHECKOUT": {90, 4, 6}, "BRAINTREE": {10, 10, 8}})
	before := []bucket{*day(t, map[string][3]int{"ADYEN": {9, 1, 0}, "STRIPE": {8, 2, 0}}), *day(t, map[string][3]int{"ADYEN": {90, 10, 0}})}
	var got []string
	for _, h := range healths(today, before, every) {
		got = append(got, h.Processor+" "+h.Tone)
	}
	if want := "WORLDPAY bad, BRAINTREE bad, STRIPE bad, CHECKOUT warn, PAYPAL , ADYEN good"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	for want, of := range map[string]map[string][3]int{
		"No processor has decided anything today.":                           {},
		"No processor fails today.":                                          {"ADYEN": {10, 0, 0}},
		"No processor fails altogether today, but ADYEN fails now and then.": {"ADYEN": {9, 0, 1}, "STRIPE": {9, 0, 0}},
		"ADYEN fails today: 9 of 10 tries failed.":                           {"ADYEN": {1, 0, 9}, "STRIPE": {9, 0, 0}},
		"Processors that fail today: WORLDPAY (7 of 10 tries failed), STRIPE (6 of 10 tries failed) and ADYEN (5 of 10 tries failed).": {"ADYEN": {5, 0, 5}, "STRIPE": {4, 0, 6}, "WORLDPAY": {3, 0, 7}},
	} {
		w := &view{Processors: healths(day(t, of), nil, every)}
		if got := w.Answer(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestWhyBad: a processor whose rate fell has both rates as the reason.
func TestWhyBad(t *testing.T) {
	t.Parallel()
	w := &view{Processors: healths(day(t, map[string][3]int{"STRIPE": {40, 60, 0}}), []bucket{*day(t, map[string][3]int{"STRIPE": {8, 2, 0}})}, every)}
	if got, want := w.Answer(), "STRIPE fails today: it approves 40.0 %, before it was 80.0 %."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestUsualPeriods: a month has its days until today, and the last month is the one before, also in
// another year.
func TestUsualPeriods(t *testing.T) {
	t.Parallel()
	today := time.Date(2026, 1, 14, 0, 0, 0, 0, time.UTC)
	for _, r := range ranges {
		want := map[string]string{"today": "2026-01-14", "7": "2026-01-08", "30": "2025-12-16", "90": "2025-10-17", "month": "2026-01-01", "last-month": "2025-12-01"}[r.name]
		last := "2026-01-14"
		if r.name == "last-month" {
			last = "2025-12-31"
		}
		if got := r.span(today); got.first.Format(time.DateOnly) != want || got.last.Format(time.DateOnly) != last {
			t.Errorf("%s: %v, want %s to %s", r.name, got, want, last)
		}
	}
}

// TestCustomDays: a range has two days in order, at most 366.
func TestCustomDays(t *testing.T) {
	t.Parallel()
	today := time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)
	for query, want := range map[[2]string]string{
		{"2026-03-01", "2026-03-10"}: "", {"2026-03-01", ""}: "", {"2025-03-14", ""}: "",
		{"2025-03-13", ""}: "At most 366 days can be shown.", {"2026-03-15", ""}: "The first day must not be after the last day.",
		{"", ""}: "Write the days as 2026-03-14.", {"2026-03-01", "x"}: "Write the days as 2026-03-14.",
	} {
		if _, fault := customDays(query[0], query[1], today); fault != want {
			t.Errorf("%q: %q, want %q", query, fault, want)
		}
	}
}

// TestFigures: a change names its direction, and whether it is good.
func TestFigures(t *testing.T) {
	t.Parallel()
	var more, fewer, same, none, rate, disputes figure
	more.grown(150, 100)
	fewer.grown(90, 100)
	same.grown(100, 100)
	none.grown(1, 0)
	rate.moved(new(0.8), new(0.9), true)
	disputes.moved(new(0.01), new(0.02), false)
	for got, want := range map[figure]figure{
		more: {Change: "▲ 50.0 %", Tone: "good"}, fewer: {Change: "▼ 10.0 %", Tone: "bad"}, same: {Change: "unchanged"},
		none: {Change: "none before"}, rate: {Change: "▼ 10.0 points", Tone: "bad"}, disputes: {Change: "▼ 1.0 points", Tone: "good"},
	} {
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}
