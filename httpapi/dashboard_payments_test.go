package httpapi_test

import (
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore/eventstoretest"
	"payledger/httpapi/dashboard/frame"
	"payledger/processorsim/protocol"
)

// opened is a form of an operation that a tab shows.
type opened struct{ at, key, revision string }

// form opens the form of an operation in a tab.
func (s *site) form(at string) opened {
	s.t.Helper()
	s.open(at)
	s.shows(200)
	return opened{at, s.value("key"), s.value("revision")}
}

// send sends the form.
func (s *site) send(o opened, fields ...string) {
	s.t.Helper()
	s.submit(o.at, append([]string{"key", o.key, "revision", o.revision}, fields...)...)
}

// again returns the form that the answer shows.
func (s *site) again(o opened) opened { return opened{o.at, s.value("key"), s.value("revision")} }

// changedSince is the sentence of a form that is older than its payment.
const changedSince = "Nothing was done. The payment has changed since this form was opened"

// TestOperationsInTwoTabs: of two forms that were opened for the same payment, the second one does
// nothing but show the new amounts. A repeat of the first one is still the same operation.
func TestOperationsInTwoTabs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	id := strings.TrimPrefix(s.paid(goodCard, ""), "/payments/")
	at := "/dashboard/payments/" + id
	for _, step := range []struct{ operation, left string }{{"capture", "Left to capture €18.20"}, {"refund", "Left to refund €6.30"}} {
		one, other := s.form(at+"/"+step.operation), s.form(at+"/"+step.operation)
		if one.key == other.key {
			t.Fatal("both tabs have one idempotency key")
		}
		if step.operation == "refund" {
			s.want(s.post("/payments/"+id+"/capture", `{"amount":620,"final":false}`), 200, "") // a program
			s.send(one, "amount", "6.00")
			s.shows(422, changedSince, "Left to refund €12.30")
			one, other = s.again(one), s.again(one)
			other.key = "another-tab"
		}
		before := len(s.books(id))
		done := map[string]string{"capture": "was requested.", "refund": "was refunded."}[step.operation]
		s.send(one, "amount", "6.00")
		s.shows(200, done)
		s.send(other, "amount", "6.00")
		s.shows(422, changedSince, "send the form again only if", step.left)
		if s.value("amount") != "6.00" {
			t.Error("the input is lost")
		}
		s.send(one, "amount", "6.00")
		s.shows(200, "Nothing was done a second time.")
		s.send(other, "amount", "1,5", "reason", "x")
		s.shows(422, changedSince, "Write the amount in EUR")
		s.submit(other.at, "key", "no-revision", "amount", "6.00")
		s.shows(422, changedSince)
		s.submit(other.at, "key", other.key, "revision", other.revision, "amount", "6.00", frame.ReviewField, "1")
		s.shows(200, changedSince)
		if n := len(s.books(id)) - before; n != 1 {
			t.Errorf("%d operations instead of one", n)
		}
		s.send(s.again(other), "amount", "0.10")
		s.shows(200, done)
		if n := len(s.books(id)) - before; n != 2 {
			t.Errorf("%d operations instead of two", n)
		}
	}
}

// TestOperationRefusedByProcessor: a capture and a cancel that the processor refuses at once are
// reported as failed, each time; a success after a failure is reported as such.
func TestOperationRefusedByProcessor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	at := s.paid(goodCard, "")
	s.act(at, processor.Capture, 1000) // so that the processor refuses a capture of all
	s.send(s.form("/dashboard"+at+"/capture"), "amount", "24.20")
	s.shows(200, "The capture failed and took no money. The timeline shows why.", "Captured €10.00")
	s.banner("bad")
	s.send(s.form("/dashboard"+at+"/capture"), "amount", "1.00")
	s.shows(200, "The capture was requested.", "Captured €11.00")
	s.banner("good")
	at = s.paid("4000000000005159", "")
	for range 2 {
		s.send(s.form("/dashboard" + at + "/cancel"))
		s.shows(200, "The cancel failed and released nothing. The timeline shows why. While the payment is pending, the cancel is tried again", "€24.20 Authorized")
		s.banner("bad")
	}
	s.send(s.form("/dashboard"+at+"/capture"), "amount", "1.00")
	s.shows(200, "The capture was requested.")
	s.banner("good")
}

// TestRefundWithoutOutcome: a refund that the processor has not decided counts as refunded on the
// next form.
func TestRefundWithoutOutcome(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	s.undecided.Store(true)
	at := s.paid("4000000000005126", "")
	s.want(s.post(at+"/capture", ""), 200, "")
	one, other := s.form("/dashboard"+at+"/refund"), s.form("/dashboard"+at+"/refund")
	s.send(one, "amount", "6.00")
	s.shows(200, "The refund of €6.00 was requested. The processor has not decided yet.")
	s.send(other, "amount", "6.00")
	s.shows(422, changedSince, "Refunded €0.00", "Refunds without an outcome €6.00", "Left to refund €18.20")
	s.form("/dashboard" + at + "/refund")
	if amount := s.value("amount"); amount != "18.20" {
		t.Errorf("proposes %s", amount)
	}
}

// TestCancelInTwoTabs: a capture in another tab refuses the first cancel, and the form comes back.
func TestCancelInTwoTabs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	at := "/dashboard/payments/" + strings.TrimPrefix(s.paid(goodCard, ""), "/payments/")
	cancel, capture := s.form(at+"/cancel"), s.form(at+"/capture")
	s.send(capture, "amount", "1.00")
	s.shows(200, "The capture was requested.")
	s.send(cancel)
	s.shows(422, changedSince, "Partially settled")
	s.send(s.again(cancel))
	s.shows(200, "The cancel was requested.")
}

// TestSameMomentInTwoTabs: two forms that are sent at the same moment are one operation: the
// payment is compared where it is changed.
func TestSameMomentInTwoTabs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	id := strings.TrimPrefix(s.paid(goodCard, ""), "/payments/")
	before := len(s.books(id))
	first := s.form("/dashboard/payments/" + id + "/capture")
	tabs := make(chan int)
	for _, key := range []string{"tab-1", "tab-2", "tab-3"} {
		tab := *s
		go func() {
			tab.submit(first.at, "key", key, "revision", first.revision, "amount", "2.00")
			tabs <- tab.now.status
		}()
	}
	done := map[int]int{}
	for range 3 {
		done[<-tabs]++
	}
	if n := len(s.books(id)) - before; n != 1 || done[200] != 1 || done[422] != 2 {
		t.Errorf("%d operations, answers %v", n, done)
	}
}

// TestRefundOfDisputed: the page of a refund warns about disputes, and the refund stays possible,
// unless the account refuses it (D22.2).
func TestRefundOfDisputed(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	at := s.paid(goodCard, "")
	s.want(s.post(at+"/capture", ""), 200, "")
	id := strings.TrimPrefix(at, "/payments/")
	form := "/dashboard/payments/" + id + "/refund"
	s.open(form)
	s.lacks("disputes this payment", "Returned by disputes")
	disputed := domain.Amount(1000)
	opened, err := s.sim.OpenDispute(t.Context(), protocol.DisputeOrder{Reference: domain.PaymentID(id), Type: processor.Chargeback, ReasonCode: "10.4", Amount: &disputed})
	must(t, err)
	s.disputeIs(id, "OPEN")
	s.open(form)
	s.shows(200, "Dispute, open. The customer disputes this payment. Answer the dispute by ", "it returns €10.00 to the customer: with a refund, the customer gets the money twice.")
	if amount := s.value("amount"); amount != "24.20" {
		t.Errorf("proposes %s", amount)
	}
	_, err = s.sim.ChangeDispute(t.Context(), opened.ID, protocol.DisputeChange{Status: processor.DisputeLost})
	must(t, err)
	s.disputeIs(id, "LOST")
	o := s.form(form)
	s.shows(200, "Returned by disputes €10.00", "Dispute, lost. The dispute has already returned €10.00 to the customer. A refund of the same money pays the customer a second time.")
	if amount := s.value("amount"); amount != "14.20" {
		t.Errorf("proposes %s", amount)
	}
	s.send(o, "amount", "4.20")
	s.banner("warn")
	s.shows(200, "€4.20 was refunded. The payment has a dispute that is open or lost: the customer may get the money twice.")
	s.lacks("will be refused")
	s.act(at, processor.Refund, 1800) // so that the processor refuses the next one
	s.send(s.form(form), "amount", "15.00")
	s.shows(200, "The refund failed and moved no money. The timeline shows why.")
	s.banner("bad")
	s.lacks("the customer may get the money twice.")
	o = s.form(form)
	s.want(s.manage("PATCH", "/settings", `{"refuseRefundOfDisputed":true}`), 200, "")
	s.send(o, "amount", "2.00")
	s.shows(422, "Nothing was done. Your account refuses the refund of a payment that has a dispute that is open or lost", "This refund will be refused.",
		"An administrator can switch this off on the page Settings: “Refuse refunds of payments with a dispute that is open or lost”.")
	s.lacks("is settled, and cannot be refunded", "through the API")
	s.open("/dashboard/settings")
	s.shows(200, "Refuse refunds of payments with a dispute that is open or lost")
	s.open(form)
	s.shows(200, "This refund will be refused. Your account refuses refunds of payments with a dispute that is open or lost.")
}

// banner fails the test if the message about what was done has another tone.
func (s *site) banner(tone string) {
	s.t.Helper()
	if !strings.Contains(s.now.text, `<div class="note `+tone+`" role=`) {
		s.t.Errorf("%s: the banner is not %s: %s", s.now.at, tone, s.now.text)
	}
}

// disputeIs waits until the payment's newest dispute has a status.
func (s *site) disputeIs(payment, status string) {
	s.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		if all := s.disputes("paymentId=" + payment); len(all) > 0 && all[0]["status"] == status {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the dispute is not %s", status)
		}
	}
}

// TestForeignTextOnPages checks that metadata is apart from the facts of the payment, and that no
// foreign text changes the writing direction of a page.
func TestForeignTextOnPages(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	const session = `{"orderId":"A\u202e99.9\u202c","customerId":"c","currencyCode":"EUR","amount":2500,"metadata":{"Status":"Refunded\u2067","Captured":"€9,999.00"}}`
	id := s.want(s.pay(payWith(s.tokenize(s.session(session), goodCard))), 200, "").text1("id")
	at := "/dashboard/payments/" + id
	s.open(at)
	s.shows(200, `Order A\u202e99.9\u202c`, `Status Refunded\u2067`)
	summary, rest, found := strings.Cut(s.now.text, `<h2 id="metadata-h">Metadata</h2>`)
	if !found || strings.Contains(summary, "9,999") || !strings.Contains(rest, "<bdi>€9,999.00</bdi>") || !strings.Contains(summary, "<bdi>A") {
		t.Errorf("the metadata does not stand apart: %s", s.now.text)
	}
	for _, page := range []string{at, at + "/capture", "/dashboard/payments", "/dashboard/payments?order=A%E2%80%AE99.9%E2%80%AC"} {
		s.open(page)
		s.shows(200, `A\u202e99.9\u202c`)
		if text := text(s.now.text); strings.ContainsAny(text, "\u202c\u202e\u2067") {
			t.Errorf("%s: its direction changes: %q", page, text)
		}
	}
	if s.value("order") != "A\u202e99.9\u202c" {
		t.Error("the filter is another one")
	}
	const plain = `{"orderId":"b","customerId":"c","currencyCode":"EUR","amount":2500}`
	s.open("/dashboard/payments/" + s.want(s.pay(payWith(s.tokenize(s.session(plain), goodCard))), 200, "").text1("id"))
	s.lacks("Metadata")
}

// TestRefusalsForPeople: a refused form has advice about the form, and nothing about requests,
// fields of JSON or headers.
func TestRefusalsForPeople(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, _ := newHookSite(t)
	at := "/dashboard/payments/" + strings.TrimPrefix(s.paid(goodCard, ""), "/payments/")
	forPrograms := func() {
		t.Helper()
		for _, word := range []string{"validationErrors", "X-Idempotency", "omit", "GET /", "POST /", "request is", "$.", "CANCELLED"} {
			if strings.Contains(text(s.now.text), word) {
				t.Errorf("%s says %q: %s", s.now.at, word, text(s.now.text))
			}
		}
	}
	s.send(s.form(at+"/capture"), "amount", "999.00")
	s.shows(422, "Nothing was done. Correct the field that is marked, and send the form again.", "Only €24.20 is left to capture; €999.00 is too much.")
	forPrograms()
	s.send(s.form(at+"/refund"), "amount", "1.00")
	s.shows(422, "Nothing was done. The payment is authorized, and cannot be refunded. Nothing is captured yet. Cancel the payment to release what is reserved.")
	forPrograms()
	one, other := s.form(at+"/cancel"), s.form(at+"/cancel")
	s.send(one)
	s.shows(200, "The cancel was requested.")
	s.send(other)
	s.shows(422, changedSince, "It is cancelled now, and cannot be cancelled. Nothing is reserved on the card, so nothing is left to cancel.")
	forPrograms()
	s.send(s.again(other))
	s.shows(422, "Nothing was done. The payment is cancelled, and cannot be cancelled. Nothing is reserved on the card")
	forPrograms()
	s.submit("/dashboard/endpoints/new", "url", "https://10.0.0.1/hooks", "which", "all")
	s.shows(422, "Nothing was done. Some of the input is not accepted. Correct the input and send the form again.")
	forPrograms()
}

// TestAmountAboveTheRest: a form with an amount above the rest is refused before anything is sent:
// no event, and no webhook to the endpoints. The same form is a repeat if its first sending took
// the rest.
func TestAmountAboveTheRest(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	at := s.paid(goodCard, "")
	before := s.events()
	s.send(s.form("/dashboard"+at+"/capture"), "amount", "24.21")
	s.shows(422, "Nothing was done. Correct the field that is marked", "Only €24.20 is left to capture; €24.21 is too much.")
	s.lacks("Number for support")
	if n := s.events() - before; n != 0 {
		t.Errorf("%d events of a capture that was not sent", n)
	}
	s.want(s.post(at+"/capture", ""), 200, "")
	before = s.events()
	rest := s.form("/dashboard" + at + "/refund")
	s.send(rest, "amount", "1,250.00")
	s.shows(422, "Nothing was done. Correct the field that is marked", "Only €24.20 is left to refund; €1,250.00 is too much.")
	s.lacks("Number for support")
	if n := s.events() - before; n != 0 {
		t.Errorf("%d events of a refund that was not sent", n)
	}
	s.send(rest, "amount", "24.20", "reason", "late")
	s.shows(200, "€24.20 was refunded.", "€24.20, with the reason “late”")
	s.send(rest, "amount", "24.20", "reason", "late")
	s.shows(200, "Nothing was done a second time.")
	s.send(s.form("/dashboard"+at+"/refund"), "amount", "1.00")
	s.shows(422, "Nothing was done.", "Nothing is left to refund.")
}

// TestRefusedOnTimeline: the timeline of a refused operation has its amount and the reason.
func TestRefusedOnTimeline(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	at := s.paid(goodCard, "")
	s.want(s.post(at+"/capture", `{"amount":99900}`), 422, "RequestValidationError")
	s.want(s.post(at+"/capture", ""), 200, "")
	s.want(s.post(at+"/refund", `{"amount":125000}`), 422, "UnprocessableRefundAmount")
	s.open("/dashboard" + at)
	s.shows(200, "€1,250.00 was requested. It was refused, and no processor was called: 24.20 EUR is left to refund",
		"€999.00 was requested. It was refused, and no processor was called: 24.20 EUR is left to capture")
}

// TestEarlierMoment: heading, summary and buttons are those of the moment that the page shows,
// which is a revision or a time.
func TestEarlierMoment(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	at := s.paid(goodCard, "")
	s.want(s.post(at+"/capture", ""), 200, "")
	s.want(s.post(at+"/refund", `{"amount":420}`), 200, "")
	page := "/dashboard" + at
	s.open(page)
	s.shows(200, "€24.20 Settled €4.20 refunded Refund Download")
	s.open(page + "?at=2")
	s.shows(200, "€24.20 Authorized After revision 2 Back to now Download the proof", "Summary, as of then", "Captured €0.00 Refunded €0.00", "Webhooks that the merchant had accepted before the next event")
	s.lacks("€4.20 refunded", "Captured €24.20", `href="`+page+`/refund"`, `href="`+page+`/capture"`)
	var of struct{ Data []struct{ Time time.Time } }
	must(t, json.Unmarshal([]byte(s.want(s.get(at+"/events"), 200, "").text), &of))
	last := of.Data[len(of.Data)-1].Time.UTC()
	s.open(page + "?at=" + last.Format("2006-01-02T15:04:05.999999Z"))
	s.shows(200, "€24.20 Settled €4.20 refunded At "+frame.When(last)+" Back to now", "had accepted by "+frame.When(last))
	s.lacks(`href="` + page + `/refund"`)
	s.open(page + "?at=" + last.Format("2006-01-02T15:04:05"))
	s.shows(200, "€24.20 Settled €4.20 refunded")
	s.holds(`action="`+page+`#travel-h"`, `href="`+page+`?at=1#travel-h"`)
	for at, says := range map[string]string{"2020-01-01T14:05": "There was no payment yet: it was made ", "99": "The payment has the revisions 1 to "} {
		s.open(page + "?at=" + at)
		s.shows(404, says, "Back to the payment", "At a time (UTC)")
		s.holds(`action="`+page+`#travel-h"`, `value="`+of.Data[0].Time.UTC().Format("2006-01-02T15:04:05")+`"`)
	}
	s.open(page + "?unit=second&at=" + of.Data[0].Time.UTC().Add(-time.Minute).Format("2006-01-02T15:04"))
	s.shows(404, "There was no payment yet")
	s.open(page + "?at=2099-01-01T14:05")
	s.shows(404, "“2099-01-01T14:05” is in the future: the payment has no state of then yet.", "Back to the payment", "At a time (UTC)")
	s.open(page + "?at=" + url.QueryEscape(frame.When(last)))
	s.shows(200, "€24.20 Settled €4.20 refunded")
	s.open(page + "?at=" + url.QueryEscape(frame.When(last.Add(-time.Hour))))
	s.shows(404, "There was no payment yet")
	s.open("/dashboard/payments?from=" + url.QueryEscape(frame.When(last)) + "&to=" + url.QueryEscape(last.Format(frame.ShownDay)))
	s.shows(200, "€24.20")
	s.open(page + "?at=yesterday")
	s.shows(404, "Write the time as in 2026-03-14T09:30:00, in UTC.")
}

// TestOperationsOfAuditor: an auditor sees no form of an operation, and sends none.
func TestOperationsOfAuditor(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	at := "/dashboard/payments/" + strings.TrimPrefix(s.paid(goodCard, ""), "/payments/")
	auditor, operator := s.as(account.RoleAuditor), s.as(account.RoleOperator)
	before := s.events()
	for _, operation := range []string{"/capture", "/refund", "/cancel"} {
		auditor.open(at + operation)
		auditor.shows(403, "Your role does not allow this")
		auditor.submit(at+operation, "amount", "1.00")
		auditor.shows(403, "Your role does not allow this")
		operator.open(at + operation)
		operator.shows(200)
	}
	if n := s.events() - before; n != 0 {
		t.Errorf("%d events were recorded", n)
	}
}

// TestUnknownFilters: a filter with a value that does not exist is reported, and the list does not
// pretend to be filtered.
func TestUnknownFilters(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	id := strings.TrimPrefix(s.paid(goodCard, ""), "/payments/")
	for filter, said := range map[string]string{
		"status=FOO": "There is no status FOO. Choose from the list.", "status=AUTHORIZED&status=x": "There is no status x.",
		"processor=BANK": "There is no processor BANK.",
	} {
		s.open("/dashboard/payments?" + filter)
		s.shows(422, "Nothing was done.", said)
		s.lacks(id, "Download as CSV")
	}
	s.open("/dashboard/payments?status=AUTHORIZED&processor=")
	s.shows(200)
	if !strings.Contains(s.now.text, id) {
		t.Error("the payment is not listed")
	}
}

// TestListViews: the list has a view of yesterday, which stands beside the filters that are set.
// What applies is marked and taken away alone, and the filters stay folded, with their number.
func TestListViews(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	s.paid(goodCard, "")
	follow := func(text string) {
		t.Helper()
		link := regexp.MustCompile(`href="([^"]*)"[^>]*><bdi>` + text + `</bdi>`).FindStringSubmatch(s.now.text)
		if link == nil {
			t.Fatalf("there is no link %s: %s", text, s.now.text)
		}
		s.open(html.UnescapeString(link[1]))
	}
	s.open("/dashboard/payments")
	s.holds(`<a class="button compact" href="/dashboard/payments" aria-current="true"><bdi>All</bdi></a>`, `<details class="sheet panel" id="filters">`)
	s.open("/dashboard/payments?status=AUTHORIZED&processor=ADYEN&sort=oldest")
	follow("Yesterday")
	s.shows(200, "Filters 4 set", "No payment fits these filters", "Yesterday × : take this away", "Status: Authorized × : take this away", "Newest processor: ADYEN × : take this away")
	s.lacks(`aria-current="true"><bdi>All`, "<bdi>From: ")
	s.holds(`<details class="sheet panel" id="filters">`)
	follow("Today")
	s.shows(200, "Filters 4 set", "1 payment ")
	follow("Last month")
	s.shows(200, "Filters 4 set", "No payment fits these filters", "Last month × : take this away")
	follow("This month")
	s.shows(200, "1 payment ", "This month × : take this away")
	s.lacks("Last month ×")
	follow("Today")
	follow("Declined or failed")
	s.shows(200, "Filters 4 set", "No payment fits these filters", "Newest processor: ADYEN ×")
	follow("Declined or failed")
	follow("Newest processor: ADYEN")
	s.shows(200, "Filters 2 set", "1 payment ", "Today × : take this away")
	follow("Today")
	s.holds(`aria-current="true"><bdi>All</bdi>`)
	s.open("/dashboard/payments?min=x")
	s.holds(`<details class="sheet panel" open id="filters">`)
}

// TestFileNames: the name of a file has the days of its filter.
func TestFileNames(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	for query, want := range map[string]string{
		"": "payments-2", "?from=2026-03-01&to=2026-03-31": "payments-2026-03-01-to-2026-03-31-2", "?from=2026-03-02&to=2026-03-02": "payments-2026-03-02-2",
		"?from=2026-03-01": "payments-from-2026-03-01-2", "?to=2026-03-01": "payments-to-2026-03-01-2",
	} {
		s.open("/dashboard/payments.csv" + query)
		if got := s.now.header.Get("Content-Disposition"); !strings.Contains(got, `filename="`+want) {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// TestWhatCanBeRefunded: the button that refunds the listed payments is red, stands apart from the
// downloads, and is there only if one of them can be refunded.
func TestWhatCanBeRefunded(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	s.paid(declinedCard, "")
	at := s.paid(goodCard, "")
	const button, form = "Refund these…", `class="button compact danger" href="/dashboard/bulk/refund`
	s.open("/dashboard/payments?order=order-1")
	s.lacks(button)
	s.want(s.post(at+"/capture", ""), 200, "")
	for query, there := range map[string]bool{
		"": false, "?order=order-1": true, "?status=SETTLED": true, "?status=SETTLED&status=DECLINED": true, "?status=DECLINED": false, "?status=FAILED": false,
		"?status=CANCELLED&order=order-1": false, "?order=other": false,
	} {
		s.open("/dashboard/payments" + query)
		if s.shows(200); there != strings.Contains(s.now.text, form) || there != strings.Contains(s.now.text, button) {
			t.Errorf("%s: not %t", query, there)
		}
		if head, _, _ := strings.Cut(s.now.text, "</h1>"); strings.Contains(head, button) {
			t.Errorf("%s: it stands in the heading", query)
		}
	}
	s.want(s.post(at+"/refund", ""), 200, "")
	s.open("/dashboard/payments?order=order-1")
	s.lacks(button)
}

// TestRefundNamesAmount: the button of the form and the message after it name the amount, of this
// refund also after a newer one. The currency's sign may stand before the amount.
func TestRefundNamesAmount(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	at := s.paid(goodCard, "")
	s.open("/dashboard" + at + "/capture")
	s.holds(`data-amount="€1.00" data-code="EUR" data-digits="2" data-verb="Capture">Capture €24.20</button>`)
	s.want(s.post(at+"/capture", ""), 200, "")
	refund := s.form("/dashboard" + at + "/refund")
	s.shows(200, "Refund €24.20 Go back")
	s.send(refund, "amount", "12,50")
	s.shows(422, "A point stands before the decimals", "Refund Go back")
	s.send(s.again(refund), "amount", "€12.50")
	s.shows(200, "€12.50 was refunded.")
	of := s.now.at
	s.want(s.post(at+"/refund", `{"amount":100}`), 200, "")
	s.open(of + "&amount=99")
	s.shows(200, "€12.50 was refunded.")
	for _, other := range []string{"?done=refunded", "?done=refunded&refund=99", "?done=refunded&refund=2026-03-14T14:00:00Z"} {
		s.open("/dashboard" + at + other)
		s.shows(200, "The refund was requested.")
	}
	s.open("/dashboard" + at)
	s.lacks("€12.50 was refunded.", "The refund was requested.")
}

// TestPersonsOnLists: the customer below an order is named so and has a link, and the customer's
// page has the reason of a decline.
func TestPersonsOnLists(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, _ := newHookSite(t)
	s.paid("4000000000009995", "")
	s.open("/dashboard/payments")
	s.shows(200, "order-1 Customer customer-7")
	s.open("/dashboard/customers/one?id=customer-7")
	s.shows(200, "Declined Insufficient funds")
	s.open("/dashboard/settings")
	s.shows(200, "Time zone UTC: all days of filters")
	s.open("/dashboard/api-keys")
	s.shows(200, "Everything that settings:write, keys:write and users:write allow.", "A person who only reads needs no key: add a user with the role auditor.")
	s.holds(`data-ticks="transactions:retrieve payment_instrument:read events:read account:read"`)
	s.open("/dashboard/statistics?range=last-month")
	s.shows(200, "This month Last month")
	s.open("/dashboard")
	s.shows(200, "A payment that was tried at two processors counts at both", "Failed tries")
}

// TestHeadlineOfRefund: the headline of a payment has its refunds.
func TestHeadlineOfRefund(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	at := s.paid(goodCard, "")
	s.want(s.post(at+"/capture", ""), 200, "")
	s.open("/dashboard" + at)
	s.shows(200, "€24.20 Settled Refund Download")
	s.want(s.post(at+"/refund", `{"amount":420}`), 200, "")
	s.open("/dashboard" + at)
	s.shows(200, "€24.20 Settled €4.20 refunded Refund Download")
	s.want(s.post(at+"/refund", ""), 200, "")
	s.open("/dashboard" + at)
	s.shows(200, "€24.20 Settled Refunded Download")
}
