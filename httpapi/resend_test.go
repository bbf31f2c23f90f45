package httpapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/webhook"
	"payledger/eventstore/commands"
)

// resend makes one attempt of a delivery.
func (r *hookRig) resend(id string) answer {
	r.t.Helper()
	return r.manage("POST", "/webhook-deliveries/"+id+"/resend", "")
}

// lastAttempt is the newest attempt of a delivery's answer.
func (a answer) lastAttempt() map[string]any {
	attempts, _ := a.field("attempts").([]any)
	if len(attempts) == 0 {
		return nil
	}
	return attempts[len(attempts)-1].(map[string]any)
}

// TestResendDelivery checks that a resend makes one attempt, whatever the delivery's outcome. A
// success ends the delivery, and a failure leaves its outcome unchanged. The answer, the delivery
// and the list are equal afterwards (D18, D20).
func TestResendDelivery(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	r.takes("/")
	r.inbox.answer("/", status(500, "down"))
	r.sold(goodCard, someSession)
	id := r.settled("outcome=EXHAUSTED", 1)[0]["id"].(string)
	first := r.arrived("/", 1)[0]
	for i, c := range []struct {
		code    int
		outcome string
	}{{503, "EXHAUSTED"}, {204, "SUCCEEDED"}, {200, "SUCCEEDED"}, {302, "SUCCEEDED"}, {404, "SUCCEEDED"}} {
		r.inbox.answer("/", status(c.code, ""))
		a := r.want(r.resend(id), 200, "")
		last, failed := a.lastAttempt(), c.code > 299
		if a.text1("outcome") != c.outcome || a.field("attemptCount") != float64(i+2) || last["number"] != float64(i+2) ||
			last["statusCode"] != float64(c.code) || last["manual"] != true || (last["failure"] == "STATUS") != failed {
			t.Errorf("answered %s", a.text)
		}
		if read := r.want(r.manage("GET", "/webhook-deliveries/"+id, ""), 200, ""); withoutBody(t, read.text) != withoutBody(t, a.text) {
			t.Errorf("read %s\nanswered %s", read.text, a.text)
		}
		if row, _ := r.deliveries("outcome=" + c.outcome); len(row) != 1 || row[0]["attemptCount"] != float64(i+2) || row[0]["updatedAt"] != a.text1("updatedAt") {
			t.Errorf("listed %v", row)
		}
		came := r.inbox.at("/")
		if h := came[len(came)-1]; len(came) != i+2 || h.eventID != first.eventID || h.eventType != first.eventType || unsigned(t, h) != unsigned(t, first) {
			t.Errorf("resent %v\nfirst %v", h, first)
		}
	}
}

// TestResendAfterACrash: the service crashed after the record of a request and before its attempt.
// A repeat with the same key makes the attempt, once, and the request stays one entry of the audit
// log; another key and none are requests of their own (D18, D20).
func TestResendAfterACrash(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	endpoint := r.takes("/")
	r.sold(goodCard, someSession)
	id := r.settled("outcome=SUCCEEDED", 1)[0]["id"].(string)
	by := commands.Caller{Account: r.account.AccountID, Actor: "user:before-the-crash", RequestID: "request"}
	requested := webhook.ResendRequested{Delivery: id, Endpoint: domain.EndpointID(endpoint), EventType: "PAYMENT.STATUS"}
	must(t, r.service.RecordResend(t.Context(), by, requested, "key"))
	for i, c := range []struct {
		key            string
		entries, comes int
	}{{"key", 1, 2}, {"key", 1, 2}, {"other", 2, 3}, {"", 3, 4}, {"", 4, 5}} {
		header := map[string]string{"X-Api-Version": ""}
		if c.key != "" {
			header["X-Idempotency-Key"] = c.key
		}
		a := r.want(r.do(request{method: "POST", path: "/management/webhook-deliveries/" + id + "/resend", header: header}), 200, "")
		entries, came := len(r.audit("type=webhook.resend_requested")), len(r.inbox.at("/"))
		if entries != c.entries || came != c.comes || a.field("attemptCount") != float64(c.comes) {
			t.Errorf("time %d: %d entries, %d webhooks: %s", i+1, entries, came, a.text)
		}
	}
	if entries := r.audit("type=webhook.resend_requested"); len(entries) != 4 || entries[3]["actor"] != by.Actor {
		t.Errorf("recorded are %v", entries)
	}
}

// TestResendCancelled checks that a delivery to a disabled endpoint is refused, and is sent once
// the endpoint is enabled. A delivery to a deleted endpoint is not found by the resend, and stays
// readable (D18, D20).
func TestResendCancelled(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{retries: []time.Duration{time.Hour}})
	gate := make(chan struct{})
	r.inbox.answer("/", hanging(gate))
	endpoint := r.takes("/")
	for range full + 1 { // the last one waits for the others
		r.sold(goodCard, someSession)
	}
	r.arrived("/", full)
	r.settled("outcome=PLANNED", full+1)
	change := func(fields string) {
		t.Helper()
		r.want(r.manage("PATCH", "/webhook-endpoints/"+endpoint, fields), 200, "")
	}
	change(`{"enabled":false}`)
	close(gate)
	cancelled := r.settled("outcome=CANCELLED", 1)[0]
	id := cancelled["id"].(string)
	if _, waits := cancelled["nextAttemptAt"]; waits || cancelled["attemptCount"] != 0.0 {
		t.Errorf("cancelled as %v", cancelled)
	}
	if a := r.want(r.resend(id), 422, "RequestValidationError"); !strings.Contains(a.text1("error", "description"), "disabled") {
		t.Errorf("refused with %s", a.text)
	}
	if n := len(r.inbox.at("/")); n != full {
		t.Errorf("%d webhooks came", n)
	}
	change(`{"enabled":true}`)
	if n := r.counted(replayOf(endpoint, `,"onlyFailed":true`)); n != 1 { // it did not succeed
		t.Errorf("a replay of what failed sends %d", n)
	}
	r.inbox.answer("/", status(500, ""))
	if a := r.want(r.resend(id), 200, ""); a.text1("outcome") != "CANCELLED" || a.lastAttempt()["failure"] != "STATUS" {
		t.Errorf("a resend that fails: %s", a.text)
	}
	r.inbox.answer("/", nil)
	if a := r.want(r.resend(id), 200, ""); a.text1("outcome") != "SUCCEEDED" {
		t.Errorf("a resend that succeeds: %s", a.text)
	}
	r.want(r.manage("DELETE", "/webhook-endpoints/"+endpoint, ""), 200, "")
	r.want(r.resend(id), 404, "EntityNotFound")
	if a := r.want(r.manage("GET", "/webhook-deliveries/"+id, ""), 200, ""); a.field("attemptCount") != 2.0 {
		t.Errorf("kept as %s", a.text)
	}
	r.settled("endpointId="+endpoint, full+1)
	if n := len(r.inbox.at("/")); n != full+2 {
		t.Errorf("%d webhooks came", n)
	}
}

// TestResendUnreached: a receiver that is not there is no error of the call (D18).
func TestResendUnreached(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	endpoint := r.takes("/")
	r.sold(goodCard, someSession)
	id := r.settled("outcome=SUCCEEDED", 1)[0]["id"].(string)
	r.want(r.manage("PATCH", "/webhook-endpoints/"+endpoint, `{"url":"http://127.0.0.1:1/"}`), 200, "")
	a := r.want(r.resend(id), 200, "")
	last := a.lastAttempt()
	if _, answered := last["statusCode"]; answered || last["failure"] != "CONNECTION_REFUSED" || last["excerpt"] != "" || a.text1("lastFailure") != "CONNECTION_REFUSED" || a.text1("outcome") != "SUCCEEDED" {
		t.Errorf("answered %s", a.text)
	}
}

// TestExcerptSecrets checks that the excerpt of a receiver's answer stores and shows no secret: not
// the webhook, its customer or the signing secret, anywhere in the answer, and no card number (D2,
// D18).
func TestExcerptSecrets(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	r.takes("/")
	r.sold(goodCard, someSession)
	id := r.settled("outcome=SUCCEEDED", 1)[0]["id"].(string)
	secret := r.account.SigningSecret
	for name, c := range map[string]struct {
		say    http.HandlerFunc
		hidden []string
	}{
		"the webhook":      {func(w http.ResponseWriter, q *http.Request) { _, _ = io.Copy(w, q.Body) }, []string{"notificationConfig", "PAYMENT.STATUS", "eventId"}},
		"the secret":       {status(500, "wrong signature for "+secret), []string{secret}},
		"a secret cut off": {status(500, strings.Repeat("x", 490)+secret), []string{secret[:16]}},
		"the customer":     {status(200, "thanks, ADA@example.com"), []string{"ADA@example.com"}},
		"a card number":    {status(400, "what is 4242 4242 4242 4242?"), []string{"4242 4242 4242 4242"}},
		"plain digits":     {status(400, "what is 5555555555554444?"), []string{"5555555555554444"}},
		"an API key":       {status(401, "not "+r.account.APIKey), []string{r.account.APIKey}},
	} {
		r.inbox.answer("/", c.say)
		a := r.want(r.resend(id), 200, "")
		excerpt, _ := a.lastAttempt()["excerpt"].(string)
		for _, text := range c.hidden {
			if strings.Contains(excerpt, text) {
				t.Errorf("an answer that holds %s is shown as %q", name, excerpt)
			}
			if strings.Contains(r.log.String(), text) && strings.ContainsAny(text, "0123456789@") {
				t.Errorf("the log holds %s", name)
			}
		}
		if excerpt == "" {
			t.Errorf("the attempt shows nothing of an answer that holds %s", name)
		}
	}
	r.inbox.answer("/", status(200, "order order-1 of 1774000000000 taken"))
	if got := r.want(r.resend(id), 200, "").lastAttempt()["excerpt"]; got != "order order-1 of 1774000000000 taken" {
		t.Errorf("a harmless answer is shown as %q", got)
	}
	for where, content := range r.kept() {
		for _, text := range []string{secret, r.account.APIKey, "4242 4242 4242 4242"} {
			if strings.Contains(string(content), text) {
				t.Errorf("%s holds %s", where, text)
			}
		}
	}
}

// TestDroppedDelivery: a delivery that is older than the retention period shows as dropped, without
// its attempts, and cannot be sent again; nor is it by a replay.
func TestDroppedDelivery(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{keep: time.Second})
	endpoint := r.takes("/")
	r.sold(goodCard, someSession)
	r.arrived("/", 1)
	var row map[string]any
	r.eventually(func() bool {
		r.late.Add(1) // time goes by
		rows, _ := r.deliveries("")
		row = rows[0]
		return row["dropped"] == true
	}, func() string { return "it is not dropped" })
	if row["outcome"] != "SUCCEEDED" || row["attemptCount"] != 1.0 || row["lastStatusCode"] != 200.0 {
		t.Errorf("listed %v", row)
	}
	id := row["id"].(string)
	a := r.want(r.manage("GET", "/webhook-deliveries/"+id, ""), 200, "")
	if attempts, ok := a.field("attempts").([]any); !ok || len(attempts) != 0 || a.field("dropped") != true {
		t.Errorf("read %s", a.text)
	}
	if a := r.want(r.resend(id), 422, "RequestValidationError"); !strings.Contains(a.text, "older than the retention period") {
		t.Errorf("answered %s", a.text)
	}
	if n := r.counted(replayOf(endpoint, "")); n != 0 {
		t.Errorf("a replay would send %d", n)
	}
	if came := r.inbox.at("/"); len(came) != 1 {
		t.Errorf("it came %d times", len(came))
	}
}

// withoutBody returns a delivery's JSON without the webhook's body, which only a read has.
func withoutBody(t *testing.T, text string) string {
	t.Helper()
	var fields map[string]any
	must(t, json.Unmarshal([]byte(text), &fields))
	delete(fields, "body")
	rest, err := json.Marshal(fields)
	must(t, err)
	return string(rest)
}
