package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// always is a range that contains every event.
const (
	alwaysFrom = "2001-01-01T00:00:00Z"
	alwaysTo   = "2099-01-01T00:00:00Z"
)

// replayOf is a request for all events of an endpoint; more is put into it.
func replayOf(endpoint, more string) string {
	return `{"endpointId":"` + endpoint + `","from":"` + alwaysFrom + `","to":"` + alwaysTo + `"` + more + `}`
}

// counted makes a dry run, which sends nothing and has no id, and returns its count.
func (r *hookRig) counted(body string) int {
	r.t.Helper()
	dry := r.want(r.manage("POST", "/webhook-replays", strings.TrimSuffix(body, "}")+`,"dryRun":true}`), 200, "")
	if names := len(dry.json); names != 1 {
		r.t.Errorf("a dry run answers %s", dry.text)
	}
	return int(dry.field("count").(float64))
}

// replays checks that a dry run and the started replay both count n, and returns the replay's path.
func (r *hookRig) replays(body string, n int) string {
	r.t.Helper()
	dry := r.counted(body)
	real := r.want(r.manage("POST", "/webhook-replays", body), 200, "")
	if count := int(real.field("count").(float64)); dry != n || count != n {
		r.t.Errorf("%s: a dry run of %d, then %d, want %d", body, dry, count, n)
	}
	return "/management/webhook-replays/" + real.text1("id")
}

// finished waits for the end of a replay, which must be that all n are done.
func (r *hookRig) finished(path string, n int) answer {
	r.t.Helper()
	a := r.until(path, "state", "DONE")
	if a.field("count") != float64(n) || a.field("done") != float64(n) || a.field("failure") != nil {
		r.t.Errorf("it ended %s, want %d", a.text, n)
	}
	return a
}

// payAll makes n payments, of which the even ones are captured and refunded: 2n webhooks in all for
// even n.
func (r *hookRig) payAll(n int) {
	r.t.Helper()
	session := r.session(someSession)
	for i := range n {
		made := r.want(r.pay(payWith(r.tokenize(session, goodCard))), 200, "").text1("id")
		if i%2 == 0 {
			r.want(r.post("/payments/"+made+"/capture", ""), 200, "")
			r.want(r.post("/payments/"+made+"/refund", ""), 200, "")
		}
	}
}

// texts returns the sorted webhooks, without the fields of the endpoint and the attempt.
func texts(t *testing.T, came []hook) (out []string) {
	t.Helper()
	for _, h := range came {
		out = append(out, unsigned(t, h))
	}
	slices.Sort(out)
	return out
}

// TestReplayBackfill: an endpoint that was made today gets the webhooks of all events from the
// first on, as they were at their events; the endpoint beside it gets nothing. Again, it gets them
// once more (D17, D18, D20).
func TestReplayBackfill(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	r.takes("/old")
	r.payAll(12)
	r.settled("outcome=SUCCEEDED", 24)
	want := texts(t, r.arrived("/old", 24))
	endpoint := r.takes("/new")
	for round := 1; round <= 2; round++ {
		path := r.replays(replayOf(endpoint, ""), 24)
		r.finished(path, 24)
		came := r.inbox.at("/new")
		if len(came) != round*24 {
			t.Fatalf("%d webhooks came, want %d", len(came), round*24)
		}
		if got := texts(t, came[(round-1)*24:]); !slices.Equal(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	for _, d := range r.settled("endpointId="+endpoint, 24) {
		if d["outcome"] != "SUCCEEDED" || d["attemptCount"] != 2.0 {
			t.Errorf("listed as %v", d)
		}
	}
	if n := len(r.inbox.at("/old")); n != 24 {
		t.Errorf("the old endpoint got %d", n)
	}
}

// TestReplayFields checks the fields of a replay. Without eventTypes a replay sends the types of
// the endpoint (D20).
func TestReplayFields(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	endpoint := r.takes("/", "PAYMENT.REFUND", "PAYMENT.CAPTURE.FAILED")
	for body, want := range map[string]map[string]any{
		`{"endpointId":"` + endpoint + `","from":"2026-03-01T01:00:00+01:00","to":"2026-03-02T00:00:00.5"}`: {
			"from": "2026-03-01T00:00:00.000000Z", "to": "2026-03-02T00:00:00.500000Z", "onlyFailed": false, "eventTypes": []any{"PAYMENT.CAPTURE.FAILED", "PAYMENT.REFUND"},
		},
		`{"endpointId":"` + endpoint + `","from":"2026-03-01T00:00:00Z","to":"2026-03-01T00:00:00Z","onlyFailed":true,"eventTypes":["PAYMENT.STATUS"]}`: {
			"from": "2026-03-01T00:00:00.000000Z", "to": "2026-03-01T00:00:00.000000Z", "onlyFailed": true, "eventTypes": []any{"PAYMENT.STATUS"},
		},
	} {
		made := r.want(r.manage("POST", "/webhook-replays", body), 200, "")
		sameJSON(t, "started", made, fmt.Sprintf(`{"id":%q,"count":0}`, made.text1("id")))
		got := r.finished("/management/webhook-replays/"+made.text1("id"), 0)
		if at, err := time.Parse(time.RFC3339Nano, got.text1("createdAt")); err != nil || time.Since(at) > time.Hour {
			t.Errorf("created %s", got.text1("createdAt"))
		}
		want["id"], want["endpointId"], want["createdAt"], want["state"] = made.text1("id"), endpoint, got.text1("createdAt"), "DONE"
		want["count"], want["done"] = 0.0, 0.0
		if !reflect.DeepEqual(got.json, want) {
			t.Errorf("%s: %v\nwant %v", body, got.json, want)
		}
	}
}

// TestReplayRanges checks that from and to select the events, both ends included, and that
// eventTypes select the webhooks, also types outside the endpoint's. A dry run counts the webhooks
// that a replay sends (D20).
func TestReplayRanges(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	r.takes("/old")
	r.payAll(4)
	r.settled("outcome=SUCCEEDED", 8)
	old := r.arrived("/old", 8)
	dates := []string{}
	for _, h := range old {
		var body struct{ Date string }
		must(t, json.Unmarshal([]byte(h.body), &body))
		dates = append(dates, body.Date)
	}
	slices.Sort(dates)
	endpoint := r.takes("/new", "PAYMENT.REFUND")
	within := func(from, to, kinds string) (n int) {
		for _, h := range old {
			var body struct{ Date string }
			must(t, json.Unmarshal([]byte(h.body), &body))
			if body.Date >= from && body.Date <= to && strings.Contains(kinds, h.eventType) {
				n++
			}
		}
		return n
	}
	sent := 0
	for _, c := range []struct{ from, to, kinds string }{
		{alwaysFrom, alwaysTo, ""}, {alwaysFrom, alwaysTo, `"PAYMENT.STATUS"`}, {dates[2], dates[5], `"PAYMENT.STATUS","PAYMENT.REFUND"`},
		{dates[0], dates[0], `"PAYMENT.STATUS"`}, {alwaysFrom, dates[7], `"PAYMENT.REFUND"`}, {dates[7], alwaysTo, `"PAYMENT.STATUS","PAYMENT.REFUND"`},
		{"2001-01-01T00:00:00Z", "2002-01-01T00:00:00Z", `"PAYMENT.STATUS"`}, {alwaysFrom, alwaysTo, `"DISPUTE.OPENED"`},
	} {
		kinds := c.kinds
		if kinds == "" {
			kinds = "PAYMENT.REFUND"
		}
		n := within(c.from, c.to, kinds)
		body := fmt.Sprintf(`{"endpointId":%q,"from":%q,"to":%q,"eventTypes":[%s]}`, endpoint, c.from, c.to, c.kinds)
		r.finished(r.replays(body, n), n)
		if sent += n; len(r.inbox.at("/new")) != sent {
			t.Errorf("%s: %d webhooks came in all, want %d", body, len(r.inbox.at("/new")), sent)
		}
	}
	if sent == 0 {
		t.Error("nothing was sent")
	}
}

// TestReplayOnlyFailed checks that a replay with onlyFailed sends the existing deliveries without
// success once more, and creates no new ones (D20).
func TestReplayOnlyFailed(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	r.payAll(2) // before the endpoint: no delivery
	endpoint := r.takes("/")
	r.inbox.answer("/", status(500, ""))
	r.payAll(2)
	failed := r.settled("outcome=EXHAUSTED", 4)
	r.inbox.answer("/", nil)
	r.payAll(2)
	r.settled("outcome=SUCCEEDED", 4)
	body := replayOf(endpoint, `,"onlyFailed":true`)
	r.inbox.answer("/", status(500, ""))
	r.finished(r.replays(body, 4), 4) // it fails again: that is no failure of the replay
	r.settled("outcome=EXHAUSTED", 4)
	r.inbox.answer("/", nil)
	r.finished(r.replays(body, 4), 4)
	r.settled("outcome=EXHAUSTED", 0)
	came := r.arrived("/", 16)[12:]
	for _, d := range failed {
		if !slices.ContainsFunc(came, func(h hook) bool { return h.eventID == d["eventId"] && h.eventType == d["eventType"] }) {
			t.Errorf("%v was not sent", d)
		}
	}
	r.finished(r.replays(body, 0), 0)
	r.settled("", 8)
	if n := len(r.inbox.at("/")); n != 16 {
		t.Errorf("%d webhooks came", n)
	}
}

// TestReplayProgress: a replay in progress shows its counts; when its endpoint is disabled it ends
// and shows the reason (D20).
func TestReplayProgress(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{rate: 10_000})
	r.payAll(40)
	gate := make(chan struct{})
	var came atomic.Int64
	r.inbox.answer("/", func(w http.ResponseWriter, q *http.Request) {
		if came.Add(1) > 64 {
			hanging(gate)(w, q)
		}
	})
	endpoint := r.takes("/")
	path := r.replays(replayOf(endpoint, ""), 80)
	r.arrived("/", 66)
	r.eventually(func() bool { return r.get(path).field("done") == 64.0 }, func() string { return r.get(path).text })
	if a := r.want(r.get(path), 200, ""); a.text1("state") != "RUNNING" || a.field("count") != 80.0 {
		t.Errorf("under way as %s", a.text)
	}
	if n := r.counted(replayOf(endpoint, "")); n != 80 { // while it runs
		t.Errorf("counted %d", n)
	}
	close(gate)
	r.finished(path, 80)

	stuck := make(chan struct{})
	r.inbox.answer("/", hanging(stuck))
	path = r.replays(replayOf(endpoint, ""), 80)
	r.arrived("/", 81)
	r.want(r.manage("PATCH", "/webhook-endpoints/"+endpoint, `{"enabled":false}`), 200, "")
	close(stuck)
	a := r.until(path, "state", "FAILED")
	if done := a.field("done").(float64); a.text1("failure") != "the endpoint is disabled" || done > 79 {
		t.Errorf("it ended %s", a.text)
	}
	before := len(r.inbox.at("/"))
	faults := r.want(r.manage("POST", "/webhook-replays", replayOf(endpoint, "")), 422, "RequestValidationError").faults()
	if want := []string{"WebhookReplayRequest $.endpointId names an endpoint that is disabled"}; !slices.Equal(faults, want) {
		t.Errorf("refused with %q", faults)
	}
	r.want(r.manage("DELETE", "/webhook-endpoints/"+endpoint, ""), 200, "")
	r.want(r.manage("POST", "/webhook-replays", replayOf(endpoint, "")), 404, "EntityNotFound")
	if n := len(r.inbox.at("/")); n != before {
		t.Errorf("%d webhooks came since", n-before)
	}
}

// TestReplayRate: all replays together keep to the rate (D20).
func TestReplayRate(t *testing.T) {
	t.Parallel()
	const perSecond = 20
	r := newHookRig(t, webhooks{rate: perSecond})
	r.payAll(8)
	one, other := r.takes("/one"), r.takes("/other")
	start := time.Now()
	paths := []string{r.replays(replayOf(one, ""), 16), r.replays(replayOf(other, ""), 16)}
	for _, path := range paths {
		r.finished(path, 16)
	}
	if least := 31 * time.Second / perSecond; time.Since(start) < least {
		t.Errorf("32 were sent within %s, at %d a second that takes %s", time.Since(start), perSecond, least)
	}
}

// TestReplayFaults: every fault of the request at once, and one account has four replays under way
// at most (D1, D20).
func TestReplayFaults(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	endpoint := r.takes("/")
	kinds := " must be one of " + strings.NewReplacer(`"`, "", "[", "", "]", "", ",", ", ").Replace(allKinds)
	for body, want := range map[string][]string{
		`{}`: {"$.endpointId is required", "$.from is required", "$.to is required"},
		`{"endpointId":"","from":"yesterday","to":5,"eventTypes":["PAYMENT.LOST"],"onlyFailed":"no","dryRun":1,"id":"x"}`: {
			"$.dryRun must be true or false", "$.endpointId must not be empty", "$.eventTypes[0]" + kinds, "$.from must be an RFC 3339 date",
			"$.id is not a known field", "$.onlyFailed must be true or false", "$.to must be a string",
		},
		`{"endpointId":"` + endpoint + `","from":"2026-03-02T00:00:00Z","to":"2026-03-01T00:00:00Z"}`: {"$.from must not be after to"},
		replayOf(endpoint, `,"eventTypes":["PAYMENT.STATUS","PAYMENT.STATUS"]`):                       {"$.eventTypes must not name anything twice"},
	} {
		for i := range want {
			want[i] = "WebhookReplayRequest " + want[i]
		}
		if a := r.want(r.manage("POST", "/webhook-replays", body), 422, "RequestValidationError"); !slices.Equal(a.faults(), want) {
			t.Errorf("%s: %q", body, a.faults())
		}
	}
	r.want(r.manage("POST", "/webhook-replays", ""), 400, "MalformedJson")
	r.want(r.manage("POST", "/webhook-replays", replayOf("none", "")), 404, "EntityNotFound")
	r.want(r.manage("GET", "/webhook-replays", ""), 405, "MethodNotAllowed")
	r.payAll(2)
	r.settled("outcome=SUCCEEDED", 4)
	gate := make(chan struct{})
	r.inbox.answer("/", hanging(gate))
	var paths []string
	for range 4 {
		paths = append(paths, r.replays(replayOf(endpoint, ""), 4))
	}
	a := r.want(r.manage("POST", "/webhook-replays", replayOf(endpoint, "")), 422, "RequestValidationError")
	if !strings.Contains(a.text, "the limit of 4 replays") {
		t.Errorf("the fifth is refused with %s", a.text)
	}
	r.counted(replayOf(endpoint, "")) // a dry run is allowed even then
	close(gate)
	for _, path := range paths {
		r.finished(path, 4)
	}
	r.eventually(func() bool { return r.manage("POST", "/webhook-replays", replayOf(endpoint, "")).status == 200 }, func() string { return "none can be started" })
}
