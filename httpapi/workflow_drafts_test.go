package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestWorkflowByKey checks that repeated requests with one idempotency key create one workflow.
// With another definition the key is refused (D20).
func TestWorkflowByKey(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	create := func(key, body string) answer {
		return r.do(request{method: "POST", path: "/management/workflows", body: body, header: map[string]string{"X-Api-Version": "", "X-Idempotency-Key": key}})
	}
	made := r.want(create("key-1", halves), 200, "")
	before := r.events()
	if again := r.want(create("key-1", halves), 200, ""); again.text != made.text {
		t.Errorf("the repeat answers %s, not %s", again.text, made.text)
	}
	other := strings.Replace(halves, "0.5", "0.25", 1)
	if refused := r.want(create("key-1", other), 409, "IdempotencyKeyAlreadyExists"); !strings.Contains(refused.text, made.text1("id")) {
		t.Errorf("the refusal does not name the workflow: %s", refused.text)
	}
	if n := r.events() - before; n != 0 {
		t.Errorf("repeats recorded %d events", n)
	}
	if second := r.want(create("key-2", halves), 200, ""); second.text1("id") == made.text1("id") {
		t.Error("two keys made one workflow")
	}
	r.want(create("not a key", halves), 422, "RequestValidationError")
}

// TestWorkflowVersions: each version is listed with its definition and who made it; enabling makes
// none (D20).
func TestWorkflowVersions(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	made := r.want(r.manage("POST", "/workflows", halves), 200, "")
	id := "/workflows/" + made.text1("id")
	other := "/workflows/" + r.want(r.manage("POST", "/workflows", halves), 200, "").text1("id")
	for i := range 4 {
		r.want(r.manage("PUT", id, strings.Replace(halves, "> 100", fmt.Sprint("> 10", i+1), 1)), 200, "")
		r.want(r.manage("POST", id+"/disable", ""), 200, "")
		r.want(r.manage("PUT", other, strings.Replace(halves, "> 100", fmt.Sprint("> 20", i+1), 1)), 200, "")
		r.want(r.manage("POST", id+"/enable", ""), 200, "")
	}
	if got := r.want(r.manage("GET", id, ""), 200, ""); got.field("version") != 5.0 || got.text1("condition") != "payment.amount > 104" {
		t.Errorf("the workflow is %s", got.text)
	}
	var seen []string
	for cursor := ""; ; {
		page := r.want(r.manage("GET", id+"/versions?limit=2"+cursor, ""), 200, "")
		for _, v := range page.field("data").([]any) {
			m := v.(map[string]any)
			seen = append(seen, fmt.Sprint(m["version"], " ", m["condition"], " ", m["actorName"]))
		}
		if page.text1("nextCursor") == "" {
			break
		}
		r.want(r.manage("GET", other+"/versions?cursor="+page.text1("nextCursor"), ""), 422, "RequestValidationError")
		cursor = "&cursor=" + page.text1("nextCursor")
	}
	want := "[5 payment.amount > 104 init 4 payment.amount > 103 init 3 payment.amount > 102 init 2 payment.amount > 101 init 1 payment.amount > 100 init]"
	if fmt.Sprint(seen) != want {
		t.Errorf("versions %s, want %s", seen, want)
	}
	for _, path := range []string{"", "/versions"} {
		r.want(r.manage("GET", "/workflows/unknown"+path, ""), 404, "EntityNotFound")
	}
}

// TestWorkflowCheck: a condition is compiled for its event type, and nothing is recorded (D20).
func TestWorkflowCheck(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	before := r.events()
	check := func(kind, condition string) string {
		a := r.want(r.manage("POST", "/workflows/check", `{"eventType":"`+kind+`","condition":"`+condition+`"}`), 200, "")
		return fmt.Sprint(a.field("valid"), a.field("faults"))
	}
	for _, c := range [][3]string{
		{"PAYMENT.STATUS", "payment.amount > 1", "true []"},
		{"DISPUTE.OPENED", "dispute.amount > 1", "true []"},
		{"PAYMENT.REFUND", "dispute.amount > 1", "false [map[column:1 line:1 message:undeclared reference to 'dispute']]"},
		{"PAYMENT.STATUS", `true &&\n payment.x`, "false [map[column:9 line:2 message:undefined field 'x']]"},
		{"PAYMENT.STATUS", "payment.amount", "false [map[column:1 line:1 message:must be a boolean, not int]]"},
	} {
		if got := check(c[0], c[1]); got != c[2] {
			t.Errorf("%s %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
	r.want(r.manage("POST", "/workflows/check", `{"eventType":"PAYMENT.CREATED","condition":""}`), 422, "RequestValidationError")
	if n := r.events() - before; n != 0 {
		t.Errorf("%d events were recorded", n)
	}
}

// TestSimulateDraft: a definition that is not stored is simulated as a stored one, and its faults
// are named as when it is created (D20).
func TestSimulateDraft(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	r.paid(goodCard, "")
	id := r.want(r.manage("POST", "/workflows", halves), 200, "").text1("id")
	stored := r.want(r.manage("POST", "/workflows/"+id+"/simulate", `{}`), 200, "")
	before := r.events()
	draft := r.want(r.manage("POST", "/workflows/simulate", halves), 200, "")
	if draft.text != stored.text || draft.field("runs") != 1.0 {
		t.Errorf("the draft: %s, the stored one: %s", draft.text, stored.text)
	}
	with := func(more string) answer {
		return r.manage("POST", "/workflows/simulate", strings.Replace(halves, `{"name"`, `{`+more+`,"name"`, 1))
	}
	r.want(with(`"workflowId":"`+id+`"`), 200, "")
	r.want(with(`"workflowId":"unknown"`), 404, "EntityNotFound")
	if none := r.want(with(`"to":"2001-01-01T00:00:00Z"`), 200, ""); none.field("events") != 0.0 {
		t.Errorf("before all events: %s", none.text)
	}
	bad := r.want(r.manage("POST", "/workflows/simulate", `{"name":"n","trigger":{"eventType":"PAYMENT.STATUS","status":"AUTHORIZED"},"condition":"payment.x",`+
		`"actions":[{"type":"cancel","amount":5}],"from":"2026-03-02T00:00:00Z","to":"2026-03-01T00:00:00Z"}`), 422, "RequestValidationError")
	for _, want := range []string{"$.condition line 1, column 8", "$.actions[0].amount must be absent", "$.from must not be after to"} {
		if !strings.Contains(strings.Join(bad.faults(), "\n"), want) {
			t.Errorf("%q lacks %s", bad.faults(), want)
		}
	}
	r.want(r.manage("POST", "/workflows/simulate", strings.Replace(halves, `{"type":"capture","share":0.5,"final":false}`, `{"type":"http_request","url":"http://10.0.0.1/"}`, 1)), 422, "RequestValidationError")
	if n := r.events() - before; n != 0 {
		t.Errorf("%d events were recorded", n)
	}
}
