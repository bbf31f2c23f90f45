package httpapi_test

import (
	"strings"
	"sync"
	"testing"
)

// TestRepeatedResend: requests with one idempotency key make one attempt, also at the same time;
// another key makes another one.
func TestRepeatedResend(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	r.inbox.answer("/", status(500, "no"))
	r.takes("/")
	r.sold(goodCard, someSession)
	path := "/management/webhook-deliveries/" + r.settled("outcome=EXHAUSTED", 1)[0]["id"].(string) + "/resend"
	resend := func(key string) answer { return r.post(path, "", "X-Api-Version", "", "X-Idempotency-Key", key) }
	var together sync.WaitGroup
	for range 3 {
		together.Go(func() {
			if a := resend("one"); a.status != 200 || a.field("attemptCount") != 2.0 {
				t.Errorf("answered %d %s", a.status, a.text)
			}
		})
	}
	together.Wait()
	if a := r.want(resend("two"), 200, ""); a.field("attemptCount") != 3.0 {
		t.Errorf("another key: %s", a.text)
	}
	if n := len(r.inbox.at("/")); n != 3 {
		t.Errorf("%d webhooks came", n)
	}
	r.want(resend("spaces are not allowed"), 422, "RequestValidationError")
}

// TestRepeatedReplay: a repeat with an idempotency key answers the first replay and sends nothing
// more, also after the endpoint was disabled. Another replay with the key is refused; a dry run
// uses no key.
func TestRepeatedReplay(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	endpoint := r.takes("/")
	r.sold(goodCard, someSession)
	r.sold(goodCard, someSession)
	r.settled("outcome=SUCCEEDED", 2)
	const period = `"from":"2020-01-01T00:00:00Z","to":"2099-01-01T00:00:00Z"`
	body := `{"endpointId":"` + endpoint + `",` + period + `}`
	start := func(key, body string) answer {
		return r.post("/management/webhook-replays", body, "X-Api-Version", "", "X-Idempotency-Key", key)
	}
	if dry := r.want(start("one", strings.TrimSuffix(body, "}")+`,"dryRun":true}`), 200, ""); dry.text != `{"count":2}` {
		t.Errorf("the dry run: %s", dry.text)
	}
	var together sync.WaitGroup
	answers := make([]answer, 3)
	for i := range answers {
		together.Go(func() { answers[i] = start("one", body) })
	}
	together.Wait()
	first := r.want(answers[0], 200, "")
	r.until("/management/webhook-replays/"+first.text1("id"), "state", "DONE")
	r.want(r.manage("PATCH", "/webhook-endpoints/"+endpoint, `{"enabled":false}`), 200, "")
	for _, again := range append(answers, start("one", body)) {
		if again.status != 200 || again.text != first.text {
			t.Errorf("a repeat: %d %s, first %s", again.status, again.text, first.text)
		}
	}
	r.arrived("/", 4)
	if n := len(r.inbox.at("/")); n != 4 {
		t.Errorf("%d webhooks came, 2 at first", n)
	}
	for _, other := range []string{
		`{"endpointId":"` + endpoint + `","from":"2020-01-01T00:00:00Z","to":"2098-01-01T00:00:00Z"}`,
		strings.TrimSuffix(body, "}") + `,"onlyFailed":true}`, strings.TrimSuffix(body, "}") + `,"eventTypes":["PAYMENT.REFUND"]}`,
	} {
		if a := r.want(start("one", other), 409, "IdempotencyKeyAlreadyExists"); !strings.Contains(a.text, first.text1("id")) {
			t.Errorf("the refusal does not name the replay: %s", a.text)
		}
	}
}
