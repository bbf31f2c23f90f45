package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/eventstoretest"
	"payledger/processorsim/protocol"
)

// TestPaymentList: the list has the reason of a decline, card, captured and refunded amounts, the
// totals of the filter, and both orders of time.
func TestPaymentList(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	declined := s.sold("4000000000009987", someSession)
	at := s.paid(goodCard, "")
	s.want(s.post(at+"/capture", `{"amount":2000}`), 200, "")
	s.want(s.post(at+"/refund", `{"amount":500}`), 200, "")
	s.open("/dashboard/payments")
	s.shows(200, "2 payments", "EUR 2 €48.40 €20.00 €5.00", "€24.20 €20.00 captured €5.00 refunded €20.00 €5.00 VISA ••••\u00a01111 ADYEN order-1 Customer customer-7 ADYEN", "Declined Lost or stolen card €24.20 – – VISA ••••\u00a09987 ADYEN")
	if !strings.Contains(s.now.text, `<tr data-opens="/dashboard`+at+`">`) {
		t.Error("a row does not open its payment")
	}
	first := func() string {
		_, rest, _ := strings.Cut(s.now.text, `data-opens="/dashboard/payments/`)
		id, _, _ := strings.Cut(rest, `"`)
		return id
	}
	if "/payments/"+first() != at {
		t.Errorf("the newest payment is not the first: %s", first())
	}
	s.open("/dashboard/payments?sort=oldest")
	if s.shows(200, "2 payments"); first() != declined {
		t.Errorf("the oldest payment is not the first: %s", first())
	}
	s.open("/dashboard/payments?status=DECLINED")
	s.shows(200, "1 payment ", "EUR 1 €24.20 €0.00 €0.00")
	s.open("/dashboard/payments?sort=amount")
	s.shows(422, "There is no order amount. Choose from the list.")
	s.open("/dashboard/payments?order=none")
	s.shows(200, "No payment fits these filters")
	s.lacks(`id="totals-h"`)
}

// TestRunsByResult: the runs of a workflow are filtered by their result, and each result has the
// number of its runs.
func TestRunsByResult(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newHookRig(t, webhooks{})
	s := siteOf(t, r.rig)
	s.signIn()
	id := s.want(s.manage("POST", "/workflows", strings.Replace(halves, "> 100", "> 2000", 1)), 200, "").text1("id")
	s.sold(goodCard, `{"orderId":"order-2","currencyCode":"EUR","amount":700}`)
	s.paid(goodCard, "")
	page := "/dashboard/workflows/" + id
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		if s.open(page); strings.Contains(text(s.now.text), "All 2 Succeeded 1 Skipped 1") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(text(s.now.text))
		}
	}
	s.open(page + "?status=SKIPPED")
	s.shows(200, "All 2 Succeeded 1 Skipped 1")
	if n := strings.Count(s.now.text, `id="run-`); n != 1 {
		t.Errorf("%d runs are shown", n)
	}
	s.open(page + "?status=FAILED")
	s.shows(200, "Failed 0", "No run has this result.")
}

// TestTrialOfWorkflow: the trial of a workflow has each payment once in its sums, also if several
// of its events would start a run, and it has the number of runs beside them.
func TestTrialOfWorkflow(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := siteOf(t, newHookRig(t, webhooks{}).rig)
	s.signIn()
	at := s.paid(goodCard, "")
	s.want(s.post(at+"/capture", `{"amount":2000}`), 200, "")
	s.want(s.post(at+"/refund", `{"amount":100}`), 200, "")
	s.want(s.post(at+"/refund", `{"amount":200}`), 200, "")
	id := s.want(s.manage("POST", "/workflows", `{"name":"All","trigger":{"eventType":"PAYMENT.REFUND"},"condition":"true","delaySeconds":0,"actions":[{"type":"refund"}]}`), 200, "").text1("id")
	s.open("/dashboard/workflows/" + id + "/simulate?from=2020-01-01&to=")
	s.shows(200, "Payments of the runs 1", "1. Refund EUR 1 €19.00 2 0", "there are 2 runs of 1 payment.")
}

// TestChangesInAuditLog: an entry shows the fields before and after, and the entries of one thing
// can be shown alone.
func TestChangesInAuditLog(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	s.want(s.manage("PATCH", "/settings", `{"displayName":"North"}`), 200, "")
	s.want(s.manage("PATCH", "/settings", `{"displayName":"South"}`), 200, "")
	endpoint := s.want(s.manage("POST", "/webhook-endpoints", `{"url":"https://shop.example/secret-part","description":"my shop"}`), 200, "").text1("id")
	s.want(s.manage("PATCH", "/webhook-endpoints/"+endpoint, `{"enabled":false,"url":"https://shop.example/other-secret"}`), 200, "")
	s.open("/dashboard/audit-log")
	s.shows(200, "displayName : “North” → “South”", "enabled : true → false", "url : “https://shop.example/… (1)” → “https://shop.example/… (2)”", "description : nothing → “my shop”")
	s.lacks("secret-part", "other-secret")
	s.open("/dashboard/audit-log?subject=" + endpoint)
	s.shows(200, "enabled : true → false")
	s.lacks("displayName")
}

// TestDeliveryOfDispute: the delivery of a dispute's webhook leads to the dispute and its payment.
func TestDeliveryOfDispute(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, r := newHookSite(t)
	r.takes("/")
	at := s.paid(goodCard, "")
	s.want(s.post(at+"/capture", ""), 200, "")
	id := strings.TrimPrefix(at, "/payments/")
	_, err := s.sim.OpenDispute(t.Context(), protocol.DisputeOrder{Reference: domain.PaymentID(id), Type: processor.Chargeback, ReasonCode: "10.4"})
	must(t, err)
	s.disputeIs(id, "OPEN")
	r.settled("outcome=SUCCEEDED&eventType=DISPUTE.OPENED", 1)
	s.open("/dashboard/deliveries?eventType=DISPUTE.OPENED")
	s.shows(200, "DISPUTE.OPENED")
	for range 2 { // in the list, and on the delivery's own page
		if !strings.Contains(s.now.text, `href="/dashboard/payments/`+id+`"`) {
			t.Errorf("%s has no link to the payment", s.now.at)
		}
		_, rest, _ := strings.Cut(s.now.text, `data-opens="`)
		path, _, _ := strings.Cut(rest, `"`)
		if path != "" {
			s.open(path)
		}
	}
	s.shows(200, "Dispute ", "Payment "+id)
}
