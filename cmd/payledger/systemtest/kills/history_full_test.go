//go:build system

package kills

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
)

// cardSecond is a card that the first processor answers with a technical error and a second one
// approves (D13, D15).
const cardSecond = "4000000000005266"

// TestHistoryFull plays a payment whose first processor fails and which a workflow captures. The
// webhook of its authorization fails once. The history shows all of it, from the server and from
// the folder (I1).
func TestHistoryFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := apptest.ServeProcess(t, "--data", dir, "--webhook-retry-delays", "20ms", "--webhook-allow-cidr", "127.0.0.0/8")
	m := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey)
	var authorized atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Payment struct{ Status string } }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		if body.Payment.Status == "AUTHORIZED" && authorized.Add(1) == 1 { // the webhook of the capture may come before it
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, "no \x1b[31mroom\u202e\"")
		}
	}))
	defer receiver.Close()
	var endpoint struct{ ID string }
	m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": receiver.URL}).Decode(t, &endpoint)
	m.Must(t, "PUT", "/management/routing", m.Headers(), map[string]any{"rules": []any{}, "default": []string{"STRIPE", "WORLDPAY", "ADYEN"}})
	workflow := m.Workflow(t, apptest.On("AUTHORIZED", "true", 0, `{"type":"capture"}`))
	paid := m.Paid(t, cardSecond)
	m.Ran(t, workflow, 1)

	path := "/payments/" + paid.ID + "/events"
	seen := m.BesideWhen(t, path, func(all []apptest.BesideSeen) bool {
		return len(all) == 5 && all[2].Sent() == "500 STATUS, 200 " && all[4].Sent() == "200 "
	})
	m.Must(t, "DELETE", "/management/webhook-endpoints/"+endpoint.ID, m.Headers(), nil)
	for i, want := range []string{
		"payment.created: REQUESTED authorize .1 at STRIPE; STRIPE of STRIPE WORLDPAY ADYEN; ",
		"payment.authorization_rerouted: ANSWERED authorize .1 at STRIPE technical_error, REQUESTED authorize .2 at WORLDPAY; WORLDPAY of WORLDPAY ADYEN; ",
		"payment.authorized: ANSWERED authorize .2 at WORLDPAY; ; ",
		"payment.capture_requested: REQUESTED capture .4 at WORLDPAY; ; on AUTHORIZED 1 1-capture",
		"payment.captured: ANSWERED capture .4 at WORLDPAY; ; on AUTHORIZED 1 1-capture",
	} {
		if got := seen[i].String(); got != want {
			t.Errorf("event %d: %s\nwant %s", i+1, got, want)
		}
	}
	for query, want := range map[string]string{"": "0 0 0 0", "?expand=workflow": "0 0 0 2", "?expand=processor,routing&after=1": "0 4 1 0", "?expand=webhooks": "2 0 0 0"} {
		if got := count(m.Beside(t, path+query)); got != want {
			t.Errorf("%s shows %s, want %s", query, got, want)
		}
	}
	if a, err := m.Call("GET", path+"?expand=webhook", m.Headers(), nil); err != nil || a.Status != 422 || !strings.Contains(string(a.Body), "webhooks, processor, routing") {
		t.Errorf("an unknown value: %d %s, %v", a.Status, a.Body, err)
	}
	m.Scoped(t, path)

	source := []string{"--url", p.Ready.API, "--api-key", p.Credentials.APIKey}
	history := func(flags ...string) string {
		status, text, stderr := apptest.Invoke(t, append(append([]string{"history", paid.ID}, source...), flags...)...)
		if status != 0 {
			t.Fatalf("history %v exits %d: %s", flags, status, stderr)
		}
		return text
	}
	running := history("--full", "--diff", "--raw")
	for deadline := time.Now().Add(apptest.SettleDeadline); strings.Contains(running, "not yet in a checkpoint") && time.Now().Before(deadline); {
		running = history("--full", "--diff", "--raw")
	}
	for _, line := range []string{
		`     call of STRIPE "[^"]+": authorize of 25\.00 EUR, key ` + paid.ID + `\.1`, `     routing: WORLDPAY of WORLDPAY "[^"]+", ADYEN "[^"]+"`,
		`     answer of STRIPE to authorize of 25\.00 EUR, key ` + paid.ID + `\.1, .*code "technical_error", "technical error"
       \{.*"code":"technical_error".*\}`,
		`     workflow "on AUTHORIZED" version 1, action 1-capture of run \S+, started by PAYMENT\.STATUS \S+`,
		`     webhook PAYMENT\.STATUS to endpoint ` + endpoint.ID + `: SUCCEEDED
       attempt 1 at \S+, \d+ ms: status 500 STATUS, answered "no \[31mroom'"
       attempt 2 at \S+, \d+ ms: status 200`,
	} {
		if !regexp.MustCompile("(?m)^" + line + "$").MatchString(running) {
			t.Errorf("history --full does not show\n%s\nbut\n%s", line, running)
		}
	}
	array := history("--full", "--json")
	p.Stop()
	source = []string{"--data", dir}
	if stopped := history("--full", "--diff", "--raw"); stopped != running {
		t.Errorf("the stopped folder has\n%s\nand the server has\n%s", stopped, running)
	}
	if history("--full", "--json") != array {
		t.Error("the stopped folder has another array")
	}
}

// count counts the events that have each part.
func count(all []apptest.BesideSeen) string {
	var n [4]int
	for _, b := range all {
		for i, has := range []bool{len(b.Webhooks) > 0, len(b.Processor) > 0, b.Routing != nil, b.Workflow != nil} {
			if has {
				n[i]++
			}
		}
	}
	return fmt.Sprintf("%d %d %d %d", n[0], n[1], n[2], n[3])
}
