package main

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
)

// cardSecond is a card that the first processor answers with a technical error and a second one approves (D13, D15).
const cardSecond = "4000000000005266"

// besideSeen has the fields of an expanded entry that the test reads.
type besideSeen struct {
	Revision int    `json:"revision"`
	Type     string `json:"type"`
	Webhooks []struct {
		EndpointID, EventType, Outcome string
		Dropped                        bool
		Attempts                       []struct {
			Number, StatusCode int
			Failure, Excerpt   string
		}
	} `json:"webhooks"`
	Processor []struct {
		Step, Operation, IdempotencyKey, Processor string
		Amount                                     int64
		Answer                                     *struct {
			Code string
			Raw  *struct{ Body string }
		}
	} `json:"processor"`
	Routing *struct {
		Candidates []struct{ Processor string }
		Chosen     struct{ Processor string }
	} `json:"routing"`
	Workflow *struct {
		Name, ActionID, RunID string
		Version               int
	} `json:"workflow"`
}

// String describes the calls, the routing and the workflow beside an event.
func (b besideSeen) String() string {
	var calls []string
	for _, c := range b.Processor {
		text := fmt.Sprintf("%s %s %s at %s", c.Step, c.Operation, c.IdempotencyKey[strings.IndexByte(c.IdempotencyKey, '.'):], c.Processor)
		if c.Answer != nil && c.Answer.Code != "" {
			text += " " + c.Answer.Code
		}
		if c.Answer != nil && (c.Answer.Raw == nil || !json.Valid([]byte(c.Answer.Raw.Body))) {
			text += " without its body"
		}
		calls = append(calls, text)
	}
	var routing, workflow string
	if r := b.Routing; r != nil {
		routing = r.Chosen.Processor + " of"
		for _, c := range r.Candidates {
			routing += " " + c.Processor
		}
	}
	if w := b.Workflow; w != nil {
		workflow = fmt.Sprintf("%s %d %s", w.Name, w.Version, w.ActionID)
	}
	return fmt.Sprintf("%s: %s; %s; %s", b.Type, strings.Join(calls, ", "), routing, workflow)
}

// sent describes the attempts of the only webhook beside an event.
func (b besideSeen) sent() string {
	if len(b.Webhooks) != 1 || b.Webhooks[0].Outcome != "SUCCEEDED" {
		return ""
	}
	var attempts []string
	for _, a := range b.Webhooks[0].Attempts {
		attempts = append(attempts, fmt.Sprintf("%d %s", a.StatusCode, a.Failure))
	}
	return strings.Join(attempts, ", ")
}

// TestHistoryFull plays a payment whose first processor fails and which a workflow captures. The webhook of its authorization fails once.
// The history shows all of it, from the server and from the folder (I1).
func TestHistoryFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serveProcess(t, "--data", dir, "--webhook-retry-delays", "20ms", "--webhook-allow-cidr", "127.0.0.0/8")
	m := newMerchant(p.ready.API, p.credentials.APIKey)
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
	m.must(t, "POST", "/management/webhook-endpoints", m.headers(), map[string]any{"url": receiver.URL}).decode(t, &endpoint)
	m.must(t, "PUT", "/management/routing", m.headers(), map[string]any{"rules": []any{}, "default": []string{"STRIPE", "WORLDPAY", "ADYEN"}})
	workflow := m.workflow(t, on("AUTHORIZED", "true", 0, `{"type":"capture"}`))
	paid := m.paid(t, cardSecond)
	m.ran(t, workflow, 1)

	path := "/payments/" + paid.ID + "/events"
	seen := m.besideWhen(t, path, func(all []besideSeen) bool {
		return len(all) == 5 && all[2].sent() == "500 STATUS, 200 " && all[4].sent() == "200 "
	})
	m.must(t, "DELETE", "/management/webhook-endpoints/"+endpoint.ID, m.headers(), nil)
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
		if got := count(m.beside(t, path+query)); got != want {
			t.Errorf("%s shows %s, want %s", query, got, want)
		}
	}
	if a, err := m.call("GET", path+"?expand=webhook", m.headers(), nil); err != nil || a.status != 422 || !strings.Contains(string(a.body), "webhooks, processor, routing") {
		t.Errorf("an unknown value: %d %s, %v", a.status, a.body, err)
	}
	m.scoped(t, path)

	source := []string{"--url", p.ready.API, "--api-key", p.credentials.APIKey}
	history := func(flags ...string) string {
		status, text, stderr := invoke(t, append(append([]string{"history", paid.ID}, source...), flags...)...)
		if status != 0 {
			t.Fatalf("history %v exits %d: %s", flags, status, stderr)
		}
		return text
	}
	running := history("--full", "--diff", "--raw")
	for deadline := time.Now().Add(settleDeadline); strings.Contains(running, "not yet in a checkpoint") && time.Now().Before(deadline); {
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
	p.stop()
	source = []string{"--data", dir}
	if stopped := history("--full", "--diff", "--raw"); stopped != running {
		t.Errorf("the stopped folder has\n%s\nand the server has\n%s", stopped, running)
	}
	if history("--full", "--json") != array {
		t.Error("the stopped folder has another array")
	}
}

// count counts the events that have each part.
func count(all []besideSeen) string {
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

// beside reads expanded entries.
func (m *merchant) beside(t *testing.T, path string) []besideSeen {
	t.Helper()
	var answer struct{ Data []besideSeen }
	m.must(t, "GET", path, m.headers(), nil).decode(t, &answer)
	return answer.Data
}

// besideWhen reads a history with all its parts until it is complete.
func (m *merchant) besideWhen(t *testing.T, path string, complete func([]besideSeen) bool) (seen []besideSeen) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(settleDeadline); time.Now().Before(deadline); <-tick.C {
		if seen = m.beside(t, path+"?expand=webhooks,processor&expand=routing,workflow"); complete(seen) {
			return seen
		}
	}
	t.Fatalf("the history is not complete: %+v", seen)
	return nil
}

// scoped checks that webhooks need the scope account:read, and other parts do not (D2).
func (m *merchant) scoped(t *testing.T, path string) {
	t.Helper()
	var key struct{ APIKey string }
	m.must(t, "POST", "/management/api-keys", m.headers(), map[string]any{"name": "reader", "scopes": []string{"transactions:retrieve"}}).decode(t, &key)
	reader := m.headers()
	reader["X-API-KEY"] = key.APIKey
	for query, want := range map[string]int{"?expand=processor,routing,workflow": 200, "?expand=webhooks": 403} {
		if a, err := m.call("GET", path+query, reader, nil); err != nil || a.status != want || want == 403 && !strings.Contains(string(a.body), "account:read") {
			t.Errorf("%s: %d %s, %v", query, a.status, a.body, err)
		}
	}
}
