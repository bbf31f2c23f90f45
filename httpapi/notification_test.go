package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/eventstoretest"
	"payledger/httpapi"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
)

// Cards of processors that answer later (D13).
const (
	laterCard   = "4000000000003220" // authorized by notification
	settlesCard = "4000000000005175" // captures confirmed by notification
)

// notify sends a notification as a processor does; signature "" leaves the header away.
func (r *rig) notify(name, body, signature string) answer {
	r.t.Helper()
	header := http.Header{"Content-Type": {"application/json"}}
	if signature != "" {
		header.Set(protocol.HeaderSignature, signature)
	}
	return r.send("POST", "/processors/"+name+"/notifications", header, strings.NewReader(body))
}

// signedNotify sends it with the right signature.
func (r *rig) signedNotify(name, body string) answer {
	r.t.Helper()
	return r.notify(name, body, protocol.Sign(processorSecret, []byte(body)))
}

// TestNotifications: the simulator notifies a later outcome, and the payment shows it (D14).
func TestNotifications(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct{ card, call, waits, status string }{
		{laterCard, "", "PENDING", "AUTHORIZED"},
		{settlesCard, "/capture", "SETTLING", "SETTLED"},
	} {
		at := r.paid(c.card, "")
		if c.call != "" {
			r.want(r.post(at+c.call, ""), 200, "")
		}
		if read := r.want(r.get(at), 200, ""); read.text1("status") != c.waits {
			t.Errorf("%s: %s", c.card, read.text)
		}
		if _, err := r.sim.Settle(context.Background()); err != nil {
			t.Fatal(err)
		}
		r.until(at, "status", c.status)
	}
	r.untilLogged(`"route":"/processors/{name}/notifications","status":200`, 2)
	if !strings.Contains(r.log.String(), `"actor":"processor:ADYEN"`) {
		t.Error("the log does not tell who notified")
	}
}

// untilLogged waits until the log has a text that many times.
func (r *rig) untilLogged(text string, times int) {
	r.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); strings.Count(r.log.String(), text) < times; <-tick.C {
		if time.Now().After(deadline) {
			r.t.Fatalf("the log has %q fewer than %d times\n%s", text, times, r.log.String())
		}
	}
}

// unheard withholds later outcomes of the processors: they send no notifications, and look-ups by
// key get no answer.
func (r *rig) unheard() {
	r.t.Helper()
	must(r.t, r.sim.SetFault(r.t.Context(), protocol.Fault{Mode: protocol.Reorder, DelayMs: 600_000}))
	cut := func(q *http.Request) bool {
		return q.Method == http.MethodGet && strings.Contains(q.URL.Path, "/operations/")
	}
	r.cut.Store(&cut)
}

// captured returns the notification of a capture's result.
func captured(t *testing.T, reference, key string) string {
	t.Helper()
	body, err := json.Marshal(protocol.Notification{
		ID: "nt_1", Processor: processor.Adyen, Type: processor.Capture, IdempotencyKey: domain.OperationKey(key),
		Reference: domain.PaymentID(reference), Answer: &processor.Answer{
			State: processor.Succeeded, ProcessorTransactionID: "tx_1", At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		},
	})
	must(t, err)
	return string(body)
}

// TestNotificationRefusals checks that unsigned and malformed notifications, and those for unknown
// processors, are refused (D14).
func TestNotificationRefusals(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRigWaiting(t, time.Minute) // no time-out is recorded
	r.forged.Store(true)
	r.unheard()
	at := r.paid(settlesCard, "")
	id := strings.TrimPrefix(at, "/payments/")
	r.want(r.post(at+"/capture", ""), 200, "")
	lines, err := r.sim.Books(context.Background(), adapter.Filter{Reference: domain.PaymentID(id)})
	must(t, err)
	good := strings.Replace(captured(t, id, id+".3"), "tx_1", lines[len(lines)-1].ProcessorTransactionID, 1)
	before := r.events()
	const early = "01k3v9t7hq2m5c8z0x4w6n1r3b00"
	for _, c := range []struct {
		name, processor, body, signature string
		status                           int
		errorID                          string
	}{
		{"no signature", "ADYEN", good, "", 401, "Unauthorized"},
		{"another secret", "ADYEN", good, protocol.Sign([]byte("other"), []byte(good)), 401, "Unauthorized"},
		{"of another body", "ADYEN", good + " ", protocol.Sign(processorSecret, []byte(good)), 401, "Unauthorized"},
		{"no signature, no JSON", "ADYEN", "{", "", 401, "Unauthorized"},
		{"an unknown processor", "ACME", good, "", 404, "NotFound"},
		{"another spelling", "adyen", good, protocol.Sign(processorSecret, []byte(good)), 404, "NotFound"},
		{"another processor's", "STRIPE", good, protocol.Sign(processorSecret, []byte(good)), 400, "MalformedJson"},
		{"no JSON", "ADYEN", "{", protocol.Sign(processorSecret, []byte("{")), 400, "MalformedJson"},
		{"empty", "ADYEN", "", protocol.Sign(processorSecret, nil), 400, "MalformedJson"},
		{"over 1 MiB", "ADYEN", strings.Repeat(" ", 1<<20+1), "", 413, "RequestTooLarge"},
	} {
		if a := r.notify(c.processor, c.body, c.signature); a.status != c.status || a.errorID() != c.errorID {
			t.Errorf("%s: %d %s, want %d %s", c.name, a.status, a.text, c.status, c.errorID)
		}
	}
	r.want(r.send("POST", "/processors/ADYEN/notifications", http.Header{"Content-Type": {"text/plain"}}, strings.NewReader(good)), 415, "UnsupportedMediaType")
	r.want(r.send("GET", "/processors/ADYEN/notifications", http.Header{}, nil), 405, "MethodNotAllowed")
	for _, key := range []string{early + ".3", id + ".x", id} {
		r.want(r.signedNotify("ADYEN", captured(t, id, key)), 422, "RequestValidationError")
	}
	if after := r.events(); after != before {
		t.Errorf("refused notifications left %d events", after-before)
	}
	for i, key := range []string{id + ".1", id + ".99", early + ".3"} { // .1 is the authorization: kept, and not true
		reference, _, _ := strings.Cut(key, ".")
		r.want(r.signedNotify("ADYEN", strings.Replace(captured(t, reference, key), "nt_1", fmt.Sprint("nt_odd_", i), 1)), 200, "")
	}
	if after := r.events(); after != before+5 {
		t.Errorf("two that cannot be true and an early one left %d events", after-before)
	}
	before = r.events()
	later := strings.Replace(good, "{", `{"disputes":[],"attempt":2,`, 1)
	for range 3 { // once, twice, late: the same (D14)
		if a := r.want(r.signedNotify("ADYEN", later), 200, ""); a.text != "{}" {
			t.Errorf("answered %s", a.text)
		}
	}
	if read := r.want(r.get(at), 200, ""); read.text1("status") != "SETTLED" {
		t.Errorf("notified: %s", read.text)
	}
	if after := r.events(); after != before+3 { // it was received, led to payment.captured, and is applied
		t.Errorf("three notifications of one result left %d events", after-before)
	}
	r.serve(func(c *httpapi.Config) { c.Notifications = nil })
	r.want(r.signedNotify("ADYEN", good), 404, "NotFound")
}

// TestNotificationsThatCannotBeTrue checks that a notification that contradicts the outcome of a
// payment, and an unreadable dispute, are accepted and shown in the payment's history as rejected,
// with the reason. The payment does not change (D14, D16).
func TestNotificationsThatCannotBeTrue(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.paid("4000000000000002", "")
	id := strings.TrimPrefix(at, "/payments/")
	result := strings.Replace(captured(t, id, id+".1"), `"capture"`, `"authorize"`, 1)
	dispute := `{"id":"nt_2","processor":"ADYEN","type":"dispute","reference":"` + id + `","dispute":{"disputePspReference":"dp_1","disputeType":"Chargeback",` +
		`"disputeStatus":"Reopened","reasonCode":"10.4","disputedAmount":{"value":100,"currency":"EUR"},"eventDate":"2026-03-01T12:00:00Z"}}`
	for _, body := range []string{result, dispute} {
		r.want(r.signedNotify("ADYEN", body), 200, "")
	}
	history := r.want(r.get(at+"/events"), 200, "")
	shown := map[string]string{}
	for _, entry := range history.field("data").([]any) {
		notices, _ := entry.(map[string]any)["notifications"].([]any)
		for _, n := range notices {
			n := n.(map[string]any)
			if n["outcome"] != "REJECTED" || n["body"] == nil {
				t.Errorf("%v", n)
			}
			shown[n["id"].(string)] = fmt.Sprint(n["refusal"])
		}
	}
	for notice, why := range map[string]string{
		"nt_1": "The authorize is already DECLINED and cannot be SUCCEEDED.", "nt_2": "It cannot be read: the status of its dispute is not known.",
	} {
		if shown[notice] != why {
			t.Errorf("%s: %q\n%s", notice, shown[notice], history.text)
		}
		r.untilLogged(`"notification":"`+notice+`"`, 1)
	}
	if read := r.want(r.get(at), 200, ""); read.text1("status") != "DECLINED" {
		t.Errorf("the payment is %s", read.text)
	}
}
