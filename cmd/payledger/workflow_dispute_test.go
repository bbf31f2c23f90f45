package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// onDispute is a workflow that a dispute's event starts.
func onDispute(eventType, condition, action string) map[string]any {
	return map[string]any{
		"name": "on " + eventType, "trigger": map[string]any{"eventType": eventType}, "condition": condition, "actions": []any{json.RawMessage(action)},
	}
}

// TestWorkflowDisputes checks that a dispute's event starts a workflow whose condition and request have the dispute and its payment, and
// that a notification that does not change the dispute starts none (D16, D19).
func TestWorkflowDisputes(t *testing.T) {
	t.Parallel()
	r := newDisputeRun(t, nil)
	url, requests := inbox(t, 200)
	add := func(d map[string]any) string {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return r.m.workflow(t, string(text))
	}
	refunds := add(onDispute("DISPUTE.OPENED", `dispute.type == "RETRIEVAL" && dispute.amount <= payment.amount`, `{"type":"refund","reason":"goodwill"}`))
	asks := add(onDispute("DISPUTE.STATUS", `dispute.status == "OPEN" && payment.status == "SETTLED" && dispute.reasonCode == "13.1" && dispute.paymentMethod.paymentMethodData.network == "VISA"`,
		`{"type":"http_request","url":"`+url+`"}`))

	mild, hard := r.settled("wd-1", cardApproved, "ADYEN"), r.settled("wd-2", cardApproved, "ADYEN")
	first := r.open(mild, "RETRIEVAL")
	refunded := r.m.ran(t, refunds, 1)[0]
	if refunded.PaymentID != mild || refunded.Status != "SUCCEEDED" || refunded.Actions[0].Type != "refund" {
		t.Errorf("%+v", refunded)
	}
	if p, body := r.m.read(t, mild); p.Status != "SETTLED" || !strings.Contains(string(body), `"amountRefunded":2500`) {
		t.Errorf("ended as %s", body)
	}
	second := r.open(hard, "DISPUTE")
	r.m.ran(t, refunds, 2)
	r.change(second.ID, "DISPUTE CHALLENGED")
	status := map[string]int{}
	for _, run := range r.m.ran(t, asks, 3) {
		status[run.PaymentID+" "+run.Status]++
	}
	if len(status) != 3 || status[mild+" SUCCEEDED"] != 1 || status[hard+" SUCCEEDED"] != 1 || status[hard+" SKIPPED"] != 1 {
		t.Errorf("runs %v", status)
	}
	r.asked(requests, map[string]string{first.ID: mild, second.ID: hard})
	if p, body := r.m.read(t, hard); p.Status != "SETTLED" || strings.Contains(string(body), `"amountRefunded":2500`) {
		t.Errorf("ended as %s", body)
	}
	r.simulates(refunds, mild)
}

// asked compares the received requests with the disputes that they are about, each with its payment.
func (r *disputeRun) asked(requests <-chan hook, payments map[string]string) {
	r.Helper()
	for range len(payments) {
		var sent struct {
			EventType string              `json:"eventType"`
			Payment   struct{ ID string } `json:"payment"`
			Dispute   disputeHook         `json:"dispute"`
		}
		request := <-requests
		if err := json.Unmarshal(request.body, &sent); err != nil {
			r.Fatal(err)
		}
		d := sent.Dispute
		if sent.EventType != "DISPUTE.STATUS" || sent.Payment.ID == "" || payments[d.ProcessorDisputeID] != sent.Payment.ID || d.PaymentID != sent.Payment.ID || d.Status != "OPEN" {
			r.Errorf("sent %s", request.body)
		}
		delete(payments, d.ProcessorDisputeID)
	}
	if len(payments) != 0 || len(requests) != 0 {
		r.Errorf("no request about %v, %d more", payments, len(requests))
	}
}

// simulates compares a simulation over the past with the workflow's actions.
func (r *disputeRun) simulates(path, payment string) {
	r.Helper()
	simulated := r.m.must(r.T, "POST", path+"/simulate", r.m.headers(), map[string]any{})
	var report struct {
		Triggered int
		Payments  []struct {
			PaymentID string `json:"paymentId"`
		}
	}
	simulated.decode(r.T, &report)
	if report.Triggered != 2 || len(report.Payments) != 1 || report.Payments[0].PaymentID != payment {
		r.Errorf("simulated %s", simulated.body)
	}
}

// TestDisputeReportedAgain checks that a later notification about a dispute does not count as caused by the run that the first one started,
// also if that run was the last change of the payment (D19).
func TestDisputeReportedAgain(t *testing.T) {
	t.Parallel()
	r := newDisputeRun(t, nil)
	text, err := json.Marshal(onDispute("DISPUTE.STATUS", `dispute.status == "OPEN"`, `{"type":"refund","amount":100}`))
	if err != nil {
		t.Fatal(err)
	}
	flow := r.m.workflow(t, string(text))
	p := r.settled("wd-9", cardApproved, "ADYEN")
	first := r.open(p, "RETRIEVAL")
	r.m.ran(t, flow, 1)
	r.change(first.ID, "DISPUTE OPEN")
	r.m.ran(t, flow, 2)
	r.open(p, "DISPUTE")
	for _, run := range r.m.ran(t, flow, 3) {
		if run.Status != "SUCCEEDED" {
			t.Errorf("%s: %q", run.Status, run.Condition.Error)
		}
	}
	if _, body := r.m.read(t, p); !strings.Contains(string(body), `"amountRefunded":300`) {
		t.Errorf("ended as %s", body)
	}
}

// TestDisputeConditions: a condition about a field that a dispute lacks, or about a dispute where there is none, is refused
// with its place (D19).
func TestDisputeConditions(t *testing.T) {
	t.Parallel()
	app := startApp(t, testOptions(t.TempDir()))
	m := newMerchant(app.ready().API, app.credentials.APIKey)
	for condition, eventType := range map[string]string{
		`dispute.nothing == 1`:      "DISPUTE.STATUS",
		`dispute.status == "OPEN"`:  "PAYMENT.STATUS",
		`dispute.amount == "a lot"`: "DISPUTE.OPENED",
		`dispute.amount`:            "DISPUTE.OPENED",
	} {
		d := onDispute(eventType, condition, `{"type":"refund"}`)
		if eventType == "PAYMENT.STATUS" {
			d["trigger"] = map[string]any{"eventType": eventType, "status": "SETTLED"}
		}
		a, err := m.call("POST", "/management/workflows", m.headers(), d)
		if err != nil || a.status != 422 || !strings.Contains(string(a.body), `"$.condition"`) || !strings.Contains(string(a.body), "line 1, column") {
			t.Errorf("%s: %d %s %v", condition, a.status, a.body, err)
		}
	}
}
