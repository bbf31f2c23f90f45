package servicetest

import (
	"encoding/json"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
)

// onDispute is a workflow that a dispute's event starts.
func onDispute(eventType, condition, action string) map[string]any {
	return map[string]any{
		"name": "on " + eventType, "trigger": map[string]any{"eventType": eventType}, "condition": condition, "actions": []any{json.RawMessage(action)},
	}
}

// TestWorkflowDisputes checks that a dispute's event starts a workflow whose condition and request
// have the dispute and its payment, and that a notification that does not change the dispute starts
// none (D16, D19).
func TestWorkflowDisputes(t *testing.T) {
	t.Parallel()
	r := apptest.NewDisputeRun(t, nil)
	url, requests := apptest.Inbox(t, 200)
	add := func(d map[string]any) string {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return r.M.Workflow(t, string(text))
	}
	refunds := add(onDispute("DISPUTE.OPENED", `dispute.type == "RETRIEVAL" && dispute.amount <= payment.amount`, `{"type":"refund","reason":"goodwill"}`))
	asks := add(onDispute("DISPUTE.STATUS", `dispute.status == "OPEN" && payment.status == "SETTLED" && dispute.reasonCode == "13.1" && dispute.paymentMethod.paymentMethodData.network == "VISA"`,
		`{"type":"http_request","url":"`+url+`"}`))

	mild, hard := r.Settled("wd-1", apptest.CardApproved, "ADYEN"), r.Settled("wd-2", apptest.CardApproved, "ADYEN")
	first := r.Open(mild, "RETRIEVAL")
	refunded := r.M.Ran(t, refunds, 1)[0]
	if refunded.PaymentID != mild || refunded.Status != "SUCCEEDED" || refunded.Actions[0].Type != "refund" {
		t.Errorf("%+v", refunded)
	}
	if p, body := r.M.Read(t, mild); p.Status != "SETTLED" || !strings.Contains(string(body), `"amountRefunded":2500`) {
		t.Errorf("ended as %s", body)
	}
	second := r.Open(hard, "DISPUTE")
	r.M.Ran(t, refunds, 2)
	r.Change(second.ID, "DISPUTE CHALLENGED")
	status := map[string]int{}
	for _, run := range r.M.Ran(t, asks, 3) {
		status[run.PaymentID+" "+run.Status]++
	}
	if len(status) != 3 || status[mild+" SUCCEEDED"] != 1 || status[hard+" SUCCEEDED"] != 1 || status[hard+" SKIPPED"] != 1 {
		t.Errorf("runs %v", status)
	}
	r.Asked(requests, map[string]string{first.ID: mild, second.ID: hard})
	if p, body := r.M.Read(t, hard); p.Status != "SETTLED" || strings.Contains(string(body), `"amountRefunded":2500`) {
		t.Errorf("ended as %s", body)
	}
	r.Simulates(refunds, mild)
}

// TestDisputeReportedAgain checks that a later notification about a dispute does not count as
// caused by the run that the first one started, also if that run was the last change of the payment
// (D19).
func TestDisputeReportedAgain(t *testing.T) {
	t.Parallel()
	r := apptest.NewDisputeRun(t, nil)
	text, err := json.Marshal(onDispute("DISPUTE.STATUS", `dispute.status == "OPEN"`, `{"type":"refund","amount":100}`))
	if err != nil {
		t.Fatal(err)
	}
	flow := r.M.Workflow(t, string(text))
	p := r.Settled("wd-9", apptest.CardApproved, "ADYEN")
	first := r.Open(p, "RETRIEVAL")
	r.M.Ran(t, flow, 1)
	r.Change(first.ID, "DISPUTE OPEN")
	r.M.Ran(t, flow, 2)
	r.Open(p, "DISPUTE")
	for _, run := range r.M.Ran(t, flow, 3) {
		if run.Status != "SUCCEEDED" {
			t.Errorf("%s: %q", run.Status, run.Condition.Error)
		}
	}
	if _, body := r.M.Read(t, p); !strings.Contains(string(body), `"amountRefunded":300`) {
		t.Errorf("ended as %s", body)
	}
}

// TestDisputeConditions: a condition about a field that a dispute lacks, or about a dispute where
// there is none, is refused with its place (D19).
func TestDisputeConditions(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
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
		a, err := m.Call("POST", "/management/workflows", m.Headers(), d)
		if err != nil || a.Status != 422 || !strings.Contains(string(a.Body), `"$.condition"`) || !strings.Contains(string(a.Body), "line 1, column") {
			t.Errorf("%s: %d %s %v", condition, a.Status, a.Body, err)
		}
	}
}
