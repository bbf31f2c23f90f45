package servicetest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
)

// TestWorkflowCapture: an authorized payment is captured after a delay, in parts, rounded down. The
// run shows its inputs and actions, and a payment that does not fit the condition is left alone
// (D19).
func TestWorkflowCapture(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	path := m.Workflow(t, apptest.On("AUTHORIZED", `payment.amount == 2500 && payment.metadata.order.startsWith("order-1")`, 1,
		`{"type":"capture","share":0.333333,"final":false}`, `{"type":"capture"}`))
	p := m.Paid(t, apptest.CardApproved)
	other := m.Paid(t, "5555555555554444") // another order
	found := m.Ran(t, path, 2)
	skipped, run := found[0], found[1]
	if skipped.PaymentID == p.ID { // runs that one batch of events starts may begin in any order
		skipped, run = run, skipped
	}
	if run.PaymentID != p.ID || run.Status != "SUCCEEDED" || !run.Condition.Holds || len(run.Actions) != 2 {
		t.Fatalf("%+v", run)
	}
	if run.Actions[0].Amount != 833 || run.Actions[0].Operation != p.ID+".3" || run.Actions[1].Operation != p.ID+".5" {
		t.Errorf("took %+v", run.Actions)
	}
	if wait := run.Actions[0].RequestedAt.Sub(run.Trigger.Date); wait < time.Second || run.DueAt.Sub(run.Trigger.Date) != time.Second {
		t.Errorf("taken after %s", wait)
	}
	if len(run.Condition.Values) != 2 || run.Condition.Values[0].Path != "payment.amount" || run.Condition.Values[0].Value != "2500" {
		t.Errorf("saw %+v", run.Condition.Values)
	}
	if skipped.PaymentID != other.ID || skipped.Status != "SKIPPED" || skipped.Condition.Holds || len(skipped.Actions) != 0 {
		t.Errorf("%+v", skipped)
	}
	if p, body := m.Read(t, p.ID); p.Status != "SETTLED" || !strings.Contains(string(body), `"amountCaptured":2500`) {
		t.Errorf("ended as %s", body)
	}
	if p, _ := m.Read(t, other.ID); p.Status != "AUTHORIZED" {
		t.Errorf("the other ended as %s", p.Status)
	}
}

// TestWorkflowRisk: a payment whose card verification value does not match is cancelled (D19).
func TestWorkflowRisk(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	path := m.Workflow(t, apptest.On("AUTHORIZED", `payment.riskData.cvvCheck.result == "NOT_MATCHED"`, 0, `{"type":"cancel","reason":"CVV does not match"}`))
	good := m.Paid(t, apptest.CardApproved)
	m.Cvv = "000"
	risky := m.Paid(t, apptest.CardApproved)
	m.Ran(t, path, 2)
	if p, body := m.Read(t, risky.ID); p.Status != "CANCELLED" {
		t.Errorf("ended as %s", body)
	}
	if p, _ := m.Read(t, good.ID); p.Status != "AUTHORIZED" {
		t.Errorf("the good one ended as %s", p.Status)
	}
}

// TestWorkflowFailure checks that a failed action ends its run, not the payment, and sends
// WORKFLOW_RUN.FAILED (§6.5, D19).
func TestWorkflowFailure(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	url, came := apptest.Inbox(t, 200)
	m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": url, "eventTypes": []string{"WORKFLOW_RUN.FAILED"}})
	target, requests := apptest.Inbox(t, 503)
	for card, c := range map[string]struct{ action, application, id, message, status string }{
		apptest.CardNoCancel:  {`{"type":"cancel"}`, "PAYMENTS", "1-cancel", "", "AUTHORIZED"},
		apptest.CardNoCapture: {`{"type":"capture"}`, "PAYMENTS", "1-capture", "", "AUTHORIZED"},
		"4035500000000000":    {`{"type":"capture","amount":9999}`, "PAYMENTS", "1-capture", "is left to capture; 99.99 ", "AUTHORIZED"},
		"5132000000000000":    {`{"type":"refund"}`, "PAYMENTS", "1-refund", "A payment that is AUTHORIZED cannot be refunded.", "AUTHORIZED"},
		"4970000000000008":    {`{"type":"http_request","url":"` + target + `"}`, "HTTP", "1-http_request", "The receiver answered 503 Service Unavailable.", "AUTHORIZED"},
	} {
		path := m.Workflow(t, apptest.On("AUTHORIZED", `payment.paymentMethod.paymentMethodData.firstDigits.startsWith("`+card[:6]+
			`") && payment.paymentMethod.paymentMethodData.last4Digits == "`+card[12:]+`"`, 0, c.action, `{"type":"capture","amount":1}`))
		p := m.Paid(t, card)
		h := <-came
		var webhook struct {
			EventType, Version, PrimerAccountID, TriggerEventID, EventID, SignedAt string
			Workflow                                                               struct {
				ID, Name string
				Version  int
			}
			Run struct {
				ID, Status, Timestamp string
				LastError             struct{ ApplicationID, ActionID, DiagnosticsID, Message string }
			}
		}
		if err := json.Unmarshal(h.Body, &webhook); err != nil {
			t.Fatal(err)
		}
		all := m.Ran(t, path, 1)
		run := all[len(all)-1]
		e := webhook.Run.LastError
		if webhook.EventType != "WORKFLOW_RUN.FAILED" || webhook.Version != "1.0" || webhook.PrimerAccountID != string(app.Credentials.AccountID) ||
			webhook.TriggerEventID != run.Trigger.EventID || webhook.Workflow.Version != 1 || !strings.HasSuffix(path, webhook.Workflow.ID) ||
			webhook.Run.ID != run.ID || webhook.Run.Status != "FAILED" || e.ApplicationID != c.application || e.ActionID != c.id ||
			!strings.Contains(e.Message, c.message) || e.Message == "" || e.DiagnosticsID == "" {
			t.Errorf("%s sends %s", card, h.Body)
		}
		if strings.Contains(string(h.Body), "notificationConfig") || run.Status != "FAILED" || run.PaymentID != p.ID || run.Actions[1].Status != "OPEN" {
			t.Errorf("%s: %s, %+v", card, h.Body, run)
		}
		if p, _ := m.Read(t, p.ID); p.Status != c.status {
			t.Errorf("%s: the payment is %s", card, p.Status)
		}
	}
	sent := <-requests
	if sent.Header.Get("Idempotency-Key") == "" || sent.Header.Get("X-Signature-Primary") != "" || !strings.Contains(string(sent.Body), `"eventType":"PAYMENT.STATUS"`) {
		t.Errorf("sent %v %s", sent.Header, sent.Body)
	}
	if len(requests) > 0 {
		t.Error("an http_request was tried again")
	}
}

// TestWorkflowVersions checks that a run uses the version that was current at its trigger, whatever
// the version is later (D19).
func TestWorkflowVersions(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	path := m.Workflow(t, apptest.On("AUTHORIZED", `true`, 1, `{"type":"capture","amount":100}`))
	first := m.Paid(t, apptest.CardApproved)
	change := m.Must(t, "PUT", path, m.Headers(), apptest.On("AUTHORIZED", `true`, 0, `{"type":"capture","amount":200}`))
	if !strings.Contains(string(change.Body), `"version":2`) {
		t.Errorf("changed to %s", change.Body)
	}
	second := m.Paid(t, apptest.CardApproved)
	m.Must(t, "POST", path+"/disable", m.Headers(), nil)
	third := m.Paid(t, apptest.CardApproved)
	m.Must(t, "POST", path+"/enable", m.Headers(), nil)
	m.Must(t, "PUT", path, m.Headers(), apptest.On("AUTHORIZED", `true`, 0, `{"type":"capture","amount":200}`)) // the same: no new version
	fourth := m.Paid(t, apptest.CardApproved)
	want := map[string]struct {
		version int
		amount  int64
	}{first.ID: {1, 100}, second.ID: {2, 200}, fourth.ID: {2, 200}}
	found := m.Ran(t, path, 3)
	if len(found) != 3 {
		t.Errorf("%d runs", len(found))
	}
	for _, r := range found {
		if w := want[r.PaymentID]; r.Status != "SUCCEEDED" || r.Workflow.Version != w.version || r.Actions[0].Amount != w.amount {
			t.Errorf("%+v", r)
		}
	}
	if p, _ := m.Read(t, third.ID); p.Status != "AUTHORIZED" {
		t.Errorf("a disabled workflow made the payment %s", p.Status)
	}
}

// TestWorkflowCircle: a capture that fails brings the payment back to AUTHORIZED, which does not
// start the same workflow once more: that is recorded as skipped, with its reason.
func TestWorkflowCircle(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	path := m.Workflow(t, apptest.On("AUTHORIZED", `true`, 0, `{"type":"capture"}`))
	m.Paid(t, apptest.CardNoCapture)
	found := m.Ran(t, path, 2)
	if found[1].Status != "FAILED" || found[0].Status != "SKIPPED" || !strings.Contains(found[0].Condition.Error, "caused by run "+found[1].ID) {
		t.Errorf("%+v", found)
	}
}

// TestWorkflowSettlesLate: an action has succeeded when the processor has confirmed it, and the
// next one comes after.
func TestWorkflowSettlesLate(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	path := m.Workflow(t, apptest.On("AUTHORIZED", `true`, 0, `{"type":"capture"}`, `{"type":"refund","amount":500,"reason":"discount"}`))
	p := m.Paid(t, apptest.CardSettlesLate)
	run := m.Ran(t, path, 1)[0]
	if took := run.Actions[0].EndedAt.Sub(run.Actions[0].RequestedAt); run.Status != "SUCCEEDED" || took < time.Second {
		t.Errorf("after %s: %+v", took, run)
	}
	if p, body := m.Read(t, p.ID); p.Status != "SETTLED" || !strings.Contains(string(body), `"amountRefunded":500`) {
		t.Errorf("ended as %s", body)
	}
}
