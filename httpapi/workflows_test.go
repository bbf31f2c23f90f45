package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// halves is a workflow that captures half of each payment's amount.
const halves = `{"name":"halves","trigger":{"eventType":"PAYMENT.STATUS","status":"AUTHORIZED"},"condition":"payment.amount > 100","delaySeconds":0,` +
	`"actions":[{"type":"capture","share":0.5,"final":false}]}`

// TestWorkflows checks that workflows are created, changed, enabled and disabled, and returned as
// sent. Only a change of a workflow's behaviour creates a version (D19, D20).
func TestWorkflows(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	made := r.want(r.manage("POST", "/workflows", halves), 200, "")
	id := "/workflows/" + made.text1("id")
	shows := func(a answer, version int, enabled bool) {
		t.Helper()
		r.want(a, 200, "")
		if a.field("version") != float64(version) || a.field("enabled") != enabled {
			t.Errorf("answered %s, want version %d, enabled %v", a.text, version, enabled)
		}
		listed := r.want(r.manage("GET", "/workflows", ""), 200, "")
		if !strings.Contains(listed.text, strings.TrimSpace(a.text)) {
			t.Errorf("the list has %s, not %s", listed.text, a.text)
		}
	}
	shows(made, 1, true)
	if !strings.Contains(made.text, `"actions":[{"type":"capture","share":0.5,"final":false}]`) || strings.Contains(made.text, "delaySeconds") {
		t.Errorf("answered %s", made.text)
	}
	before := r.events()
	shows(r.manage("PUT", id, halves), 1, true)
	shows(r.manage("POST", id+"/enable", ""), 1, true)
	if r.events() != before {
		t.Error("nothing changed, and that was recorded")
	}
	shows(r.manage("POST", id+"/disable", ""), 1, false)
	shows(r.manage("PUT", id, strings.Replace(halves, "0.5", "0.25", 1)), 2, false)
	shows(r.manage("PUT", id, strings.Replace(halves, `{"name"`, `{"enabled":true,"name"`, 1)), 3, true)
	for _, call := range [][2]string{{"PUT", ""}, {"POST", "/enable"}, {"POST", "/disable"}, {"GET", "/runs"}} {
		body := ""
		if call[0] == "PUT" {
			body = halves
		}
		r.want(r.manage(call[0], "/workflows/unknown"+call[1], body), 404, "EntityNotFound")
	}
	r.want(r.manage("POST", "/workflows/unknown/simulate", "{}"), 404, "EntityNotFound")
	for i := range 49 {
		r.want(r.manage("POST", "/workflows", strings.Replace(halves, "halves", fmt.Sprint("halves ", i), 1)), 200, "")
	}
	full := r.want(r.manage("POST", "/workflows", halves), 422, "RequestValidationError")
	if !slices.Contains(full.faults(), "WorkflowRequest $ the account has the maximum of 50 workflows; change an existing one") {
		t.Errorf("the 51st: %q", full.faults())
	}
	first := r.want(r.manage("GET", "/workflows?limit=30", ""), 200, "")
	second := r.want(r.manage("GET", "/workflows?limit=30&cursor="+first.text1("nextCursor"), ""), 200, "")
	if len(first.field("data").([]any)) != 30 || len(second.field("data").([]any)) != 20 || second.text1("nextCursor") != "" {
		t.Error("the pages do not add up")
	}
}

// TestWorkflowFaults: one error names all faults, those of a condition with line and column (D3,
// D19).
func TestWorkflowFaults(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	for body, want := range map[string][]string{
		`{}`: {"$.actions is required", "$.condition is required", "$.name is required", "$.trigger is required"},
		`{"name":"n","trigger":{"eventType":"PAYMENT.STATUS","status":"AUTHORIZED"},"condition":"payment.amout > 1 &&\n payment.currency == 1","actions":[{"type":"cancel"}]}`: {
			"$.condition line 1, column 8: undefined field 'amout'", "$.condition line 2, column 9: undefined field 'currency'",
		},
		`{"name":"n","trigger":{"eventType":"PAYMENT.STATUS","status":"AUTHORIZED"},"condition":"payment.amount","actions":[{"type":"cancel"}]}`: {
			"$.condition line 1, column 1: must be a boolean, not int",
		},
		`{"name":"n","trigger":{"eventType":"PAYMENT.STATUS"},"condition":"dispute.amount > 1","actions":[{"type":"cancel"}]}`: {
			"$.condition line 1, column 1: undeclared reference to 'dispute'", "$.trigger.status must be a payment status",
		},
		`{"name":"n","trigger":{"eventType":"PAYMENT.REFUND","status":"SETTLED"},"condition":"true","delaySeconds":7776001,"actions":[{"type":"capture","share":0},` +
			`{"type":"capture","share":0.1234567},{"type":"capture","share":1,"amount":5},{"type":"cancel","amount":5,"final":true},{"type":"http_request"},{"type":"refund","share":0.5}]}`: {
			"$.actions[0].share must be above 0 and have at most 6 decimals", "$.actions[1].share must be above 0 and have at most 6 decimals",
			"$.actions[2].share must not be sent together with amount", "$.actions[3].amount must be absent for this type of action",
			"$.actions[3].final must be absent for this type of action", "$.actions[4].url is required", "$.actions[5].share must be absent for this type of action",
			"$.delaySeconds must be an integer between 0 and 7776000", "$.trigger.status goes with PAYMENT.STATUS only",
		},
		`{"name":"n","trigger":{"eventType":"PAYMENT.REFUND"},"condition":"true","actions":[{"type":"http_request","url":"http://10.0.0.1/x"},{"type":"http_request","url":"http://10.0.0.1/y"}]}`: {
			"$.actions[0].url must not lead to a private address", "$.actions[1].url must not lead to a private address",
		},
		`{"name":"4111 1111 1111 1111","trigger":{"eventType":"PAYMENT.REFUND"},"condition":"true","actions":[{"type":"refund","reason":"4111111111111111"}]}`: {
			"$.actions[0].reason must not hold a card number: it holds 16 digits in a row, with a prefix of VISA and a right check digit", "$.name must not hold a card number: it holds 16 digits divided as on a card, with a prefix of VISA and a right check digit",
		},
		`{"name":"n","trigger":{"eventType":"PAYMENT.REFUND"},"condition":"true","actions":[{"type":"http_request","url":"https://127.0.0.1/of/4111111111111111"},` +
			`{"type":"http_request","url":"https://127.0.0.1/?card=4111-1111-1111-1111"},{"type":"http_request","url":"https://127.0.0.1/?a=%34%31%31%31111111111111"},` +
			`{"type":"http_request","url":"https://127.0.0.1/#4111111111111111"},{"type":"http_request","url":"https://127.0.0.1/of/4111111111111112?n=12345678901234"}]}`: {
			"$.actions[0].url must not hold a card number: it holds 16 digits in a row, with a prefix of VISA and a right check digit", "$.actions[1].url must not hold a card number: it holds 16 digits divided as on a card, with a prefix of VISA and a right check digit",
			"$.actions[2].url must not hold a card number: it holds 16 digits in a row, with a prefix of VISA and a right check digit", "$.actions[3].url must not hold a card number: it holds 16 digits in a row, with a prefix of VISA and a right check digit",
		},
		`{"name":"n","trigger":{"eventType":"PAYMENT.REFUND"},"condition":"[1].map(a, [a, a]).exists(z, z == z)","actions":[{"type":"cancel"}]}`: {
			"$.condition line 1, column 1: map cannot be used in conditions; all, exists and exists_one can",
		},
	} {
		refused := r.want(r.manage("POST", "/workflows", body), 422, "RequestValidationError")
		var got []string
		for _, f := range refused.faults() {
			got = append(got, strings.TrimPrefix(f, "WorkflowRequest "))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\n got %q\nwant %q", body, got, want)
		}
	}
	dispute := `{"name":"n","trigger":{"eventType":"DISPUTE.OPENED"},"condition":"dispute.amount > 1 && payment.amount > 1","actions":[{"type":"http_request","url":"https://shop.example"}]}`
	r.want(r.manage("POST", "/workflows", dispute), 200, "")
}

// TestWorkflowRuns: runs are listed newest first in stable pages, of their own workflow (D20).
func TestWorkflowRuns(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	id := "/workflows/" + r.want(r.manage("POST", "/workflows", halves), 200, "").text1("id")
	other := "/workflows/" + r.want(r.manage("POST", "/workflows", strings.Replace(halves, "> 100", "> 1000000", 1)), 200, "").text1("id")
	ran := func(path string, n int) []any {
		for deadline := time.Now().Add(patience); ; {
			data := r.want(r.manage("GET", path+"/runs", ""), 200, "").field("data").([]any)
			done := 0
			for _, run := range data {
				if s := run.(map[string]any)["status"]; s == "SUCCEEDED" || s == "SKIPPED" {
					done++
				}
			}
			if done == n || time.Now().After(deadline) {
				return data
			}
		}
	}
	var paid []string
	for i := range 5 { // one after the other: the events of two payments may begin their runs side by side
		paid = append(paid, strings.TrimPrefix(r.paid(goodCard, ""), "/payments/"))
		ran(id, i+1)
	}
	all := ran(id, len(paid))
	for i, run := range all {
		if m := run.(map[string]any); m["status"] != "SUCCEEDED" || m["paymentId"] != paid[len(paid)-1-i] {
			t.Errorf("run %d is %v", i, m)
		}
	}
	for _, run := range ran(other, len(paid)) {
		if m := run.(map[string]any); m["status"] != "SKIPPED" || len(m["actions"].([]any)) != 0 {
			t.Errorf("not skipped: %v", m)
		}
	}
	for path, counts := range map[string][2]float64{id: {5, 0}, other: {0, 5}} { // succeeded, skipped
		for i, status := range []string{"SUCCEEDED", "SKIPPED"} {
			page := r.want(r.manage("GET", path+"/runs?status=FAILED&limit=4&status="+status, ""), 200, "")
			n := page.field("counts").(map[string]any)[status]
			if got := float64(len(page.field("data").([]any))); got != min(4, counts[i]) || n != counts[i] || (page.text1("nextCursor") != "") != (counts[i] > 4) {
				t.Errorf("%s: %v runs are listed and %v counted as %s: %s", path, got, n, status, page.text)
			}
			if next := page.text1("nextCursor"); next != "" {
				rest := r.want(r.manage("GET", path+"/runs?limit=4&status=FAILED&status="+status+"&cursor="+next, ""), 200, "").field("data").([]any)
				if len(rest) != 1 {
					t.Errorf("the next page has %v", rest)
				}
				r.want(r.manage("GET", path+"/runs?cursor="+next, ""), 422, "RequestValidationError")
			}
		}
	}
	r.want(r.manage("GET", id+"/runs?status=DONE", ""), 422, "RequestValidationError")
	var got []any
	for cursor := ""; ; {
		page := r.want(r.manage("GET", id+"/runs?limit=2"+cursor, ""), 200, "")
		got = append(got, page.field("data").([]any)...)
		if page.text1("nextCursor") == "" {
			break
		}
		r.want(r.manage("GET", other+"/runs?cursor="+page.text1("nextCursor"), ""), 422, "RequestValidationError")
		cursor = "&cursor=" + page.text1("nextCursor")
	}
	if fmt.Sprint(got) != fmt.Sprint(all) {
		t.Errorf("pages give %v, want %v", got, all)
	}
}

// TestWorkflowSimulateSums: sums above the largest amount are answered as the largest amount (§8,
// D20).
func TestWorkflowSimulateSums(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	for range 3 {
		client := r.session(`{"orderId":"o","currencyCode":"EUR","amount":9007199254740991}`)
		r.want(r.pay(payWith(r.tokenize(client, goodCard))), 200, "")
	}
	id := "/workflows/" + r.want(r.manage("POST", "/workflows", halves), 200, "").text1("id")
	got := r.want(r.manage("POST", id+"/simulate", `{}`), 200, "")
	if !strings.Contains(got.text, `"count":3,"refused":0,"payments":3,"amount":9007199254740991}`) {
		t.Errorf("%s", got.text)
	}
}

// TestWorkflowSimulate: past events are replayed against a workflow without acting (D20).
func TestWorkflowSimulate(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	before := time.Now().Add(-time.Hour)
	settled := r.paid(goodCard, "")
	r.paid(goodCard, "")
	r.want(r.post(settled+"/capture", `{"amount":100,"final":false}`), 200, "")
	id := "/workflows/" + r.want(r.manage("POST", "/workflows", strings.Replace(halves, `"type":"capture","share":0.5,"final":false}`,
		`"type":"capture","share":0.5,"final":false},{"type":"capture","share":0.25},{"type":"refund"}`, 1)), 200, "").text1("id")
	events, books := r.events(), len(r.books(""))
	got := r.want(r.manage("POST", id+"/simulate", `{}`), 200, "")
	if got.field("triggered") != 2.0 || got.field("runs") != 2.0 || got.field("distinctPayments") != 2.0 || got.field("errors") != 0.0 || len(got.field("payments").([]any)) != 2 {
		t.Errorf("%s", got.text)
	}
	amount := 2420.0 // of someSession
	sums := fmt.Sprint(got.field("sums"))
	want := fmt.Sprintf("[map[action:1 amount:%g count:2 currencyCode:EUR payments:2 refused:0 type:capture] map[action:2 amount:%g count:2 currencyCode:EUR payments:2 refused:0 type:capture] "+
		"map[action:3 amount:%g count:2 currencyCode:EUR payments:2 refused:0 type:refund]]", amount, amount/2, amount*1.5)
	if sums != want {
		t.Errorf("sums %s, want %s", sums, want)
	}
	if r.events() != events || len(r.books("")) != books {
		t.Error("a simulation acted")
	}
	none := r.want(r.manage("POST", id+"/simulate", `{"to":"`+before.Add(-time.Hour).UTC().Format(time.RFC3339)+`"}`), 200, "")
	if none.field("triggered") != 0.0 || none.field("events") != 0.0 {
		t.Errorf("before all events: %s", none.text)
	}
	if all := r.want(r.manage("POST", id+"/simulate", `{"from":"`+before.UTC().Format(time.RFC3339)+`"}`), 200, ""); all.field("runs") != 2.0 {
		t.Errorf("from before all events: %s", all.text)
	}
}
