package httpapi_test

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain/account"
	"payledger/eventstore/eventstoretest"
	"payledger/notifier"
)

// ids are those of list elements, in their order.
func ids(elements []map[string]any) []string {
	out := []string{}
	for _, e := range elements {
		out = append(out, e["id"].(string))
	}
	return out
}

// full is how many attempts of an endpoint that does not answer are under way.
const full = notifier.AttemptsAtOnce

// everyOutcome is a rig with a delivery of every outcome and of several kinds, for several
// endpoints and payments.
func everyOutcome(t *testing.T) (r *hookRig, endpoints, payments []string) {
	t.Helper()
	r = newHookRig(t, webhooks{retries: []time.Duration{time.Hour}})
	cancelled, planned := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(planned) })
	r.inbox.answer("/cancelled", hanging(cancelled))
	r.inbox.answer("/planned", hanging(planned))
	r.inbox.answer("/bad", status(500, "no"))
	endpoints = append(endpoints, r.takes("/cancelled"))
	for range full + 1 { // the last one waits for the others
		payments = append(payments, r.sold(goodCard, someSession))
	}
	r.arrived("/cancelled", full)
	r.settled("outcome=PLANNED", full+1)
	r.want(r.manage("PATCH", "/webhook-endpoints/"+endpoints[0], `{"enabled":false}`), 200, "")
	close(cancelled)
	r.settled("outcome=CANCELLED", 1)
	r.late.Store(10)
	endpoints = append(endpoints, r.takes("/good"), r.takes("/bad", "PAYMENT.STATUS"))
	payments = append(payments, r.sold(goodCard, someSession))
	r.settled("outcome=FAILED", 1)
	r.late.Store(4100) // the failed one is due, an hour ±10 % later, when its lane wakes
	payments = append(payments, r.sold(declinedCard, someSession))
	r.settled("outcome=EXHAUSTED", 1)
	r.settled("outcome=FAILED", 1)
	r.want(r.post("/payments/"+payments[full+1]+"/capture", ""), 200, "")
	r.want(r.post("/payments/"+payments[full+1]+"/refund", ""), 200, "")
	r.settled("outcome=FAILED", 2)
	endpoints = append(endpoints, r.takes("/planned"))
	r.late.Store(4110)
	payments = append(payments, r.sold(declinedCard, someSession))
	r.settled("outcome=PLANNED", 1)
	r.settled("outcome=FAILED", 3)
	r.settled("endpointId="+endpoints[1]+"&outcome=SUCCEEDED", 5)
	return r, endpoints, payments
}

// countsAll checks that the statistics count the listed deliveries, by endpoint and outcome (D20).
func (r *hookRig) countsAll(listed []map[string]any) {
	r.t.Helper()
	fields := map[string]string{"SUCCEEDED": "succeeded", "FAILED": "retrying", "EXHAUSTED": "exhausted", "CANCELLED": "cancelled", "PLANNED": "waiting"}
	want, got := map[string]float64{}, map[string]float64{}
	for _, d := range listed {
		for _, field := range []string{"deliveries", fields[d["outcome"].(string)]} {
			want[d["endpointId"].(string)+" "+field]++
			want[" "+field]++
		}
	}
	answer := r.want(r.manage("GET", "/statistics?by=hour&from="+r.now().UTC().AddDate(0, 0, -1).Format(time.DateOnly), ""), 200, "")
	webhooks := answer.field("webhooks").(map[string]any)
	count := func(of any, endpoint string) {
		for _, field := range append(slices.Collect(maps.Values(fields)), "deliveries") {
			if n := of.(map[string]any)[field].(float64); n > 0 {
				got[endpoint+" "+field] += n
			}
		}
	}
	count(webhooks, "")
	for _, of := range webhooks["byEndpoint"].([]any) {
		count(of, of.(map[string]any)["endpointId"].(string))
	}
	if !maps.Equal(got, want) {
		r.t.Errorf("the statistics count %v, the list %v", got, want)
	}
	for _, buckets := range []string{"byDay", "byHour"} {
		clear(got)
		for _, of := range webhooks[buckets].([]any) {
			count(of, "")
		}
		for field, n := range got {
			if n != want[field] {
				r.t.Errorf("%s: %g%s, want %g", buckets, n, field, want[field])
			}
		}
	}
	if webhooks["p99Ms"].(float64) < webhooks["p50Ms"].(float64) || webhooks["rate"].(float64) <= 0 {
		r.t.Error(answer.text)
	}
}

// TestDeliveryFilters: each filter alone, with several values, with others, and with nothing that
// fits (D20).
func TestDeliveryFilters(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r, endpoints, payments := everyOutcome(t)
	all := r.settled("", full+1+5+4+1)
	r.countsAll(all)
	if sorted := slices.IsSortedFunc(all, func(a, b map[string]any) int {
		return strings.Compare(b["plannedAt"].(string), a["plannedAt"].(string))
	}); !sorted {
		t.Errorf("not newest first: %v", all)
	}
	is := func(field string, values ...string) func(map[string]any) bool {
		return func(d map[string]any) bool { return slices.Contains(values, d[field].(string)) }
	}
	middle := all[5]["plannedAt"].(string)
	since := func(d map[string]any) bool { return d["plannedAt"].(string) >= middle }
	until := func(d map[string]any) bool { return d["plannedAt"].(string) <= middle }
	none := func(map[string]any) bool { return false }
	failed := is("outcome", "FAILED", "EXHAUSTED") // nothing was resent
	at, err := time.Parse(time.RFC3339Nano, middle)
	must(t, err)
	offset := at.In(time.FixedZone("", -5*3600)).Format(time.RFC3339Nano)
	type fits = func(map[string]any) bool
	for query, c := range map[string]struct {
		count int // -1: some, and not all
		fits  []fits
	}{
		of("outcome", "PLANNED"):                                 {1, []fits{is("outcome", "PLANNED")}},
		of("outcome", "FAILED"):                                  {3, []fits{is("outcome", "FAILED")}},
		of("outcome", "SUCCEEDED"):                               {full + 5, []fits{is("outcome", "SUCCEEDED")}},
		of("outcome", "EXHAUSTED"):                               {1, []fits{is("outcome", "EXHAUSTED")}},
		of("outcome", "CANCELLED"):                               {1, []fits{is("outcome", "CANCELLED")}},
		of("outcome", "PLANNED,CANCELLED", "outcome", "FAILED"):  {5, []fits{is("outcome", "PLANNED", "CANCELLED", "FAILED")}},
		of("eventType", "PAYMENT.REFUND"):                        {1, []fits{is("eventType", "PAYMENT.REFUND")}},
		of("eventType", "PAYMENT.STATUS"):                        {full + 10, []fits{is("eventType", "PAYMENT.STATUS")}},
		of("eventType", "DISPUTE.OPENED,PAYMENT.CAPTURE.FAILED"): {0, []fits{none}},
		of("eventType", "DISPUTE.OPENED,PAYMENT.REFUND"):         {1, []fits{is("eventType", "PAYMENT.REFUND")}},
		of("endpointId", endpoints[0]):                           {full + 1, []fits{is("endpointId", endpoints[0])}},
		of("endpointId", endpoints[1]):                           {5, []fits{is("endpointId", endpoints[1])}},
		of("endpointId", "none"):                                 {0, []fits{none}},
		of("paymentId", payments[full+1]):                        {5, []fits{is("paymentId", payments[full+1])}},
		of("paymentId", payments[0]):                             {1, []fits{is("paymentId", payments[0])}},
		of("paymentId", "none"):                                  {0, []fits{none}},
		of("from", middle):                                       {-1, []fits{since}},
		of("from", strings.TrimSuffix(middle, "Z")):              {-1, []fits{since}},
		of("to", offset):                                         {-1, []fits{until}},
		of("from", middle, "to", offset):                         {-1, []fits{since, until}},
		of("to", "2001-01-01T00:00:00Z"):                         {0, []fits{none}},
		of("from", "0001-01-01T00:00:00Z"):                       {full + 11, nil},
		of("outcome", "SUCCEEDED", "endpointId", endpoints[1], "paymentId", payments[full+1], "eventType", "PAYMENT.STATUS"): {
			2, []fits{is("outcome", "SUCCEEDED"), is("endpointId", endpoints[1]), is("paymentId", payments[full+1]), is("eventType", "PAYMENT.STATUS")}},
		of("outcome", "EXHAUSTED,FAILED", "endpointId", endpoints[2], "from", middle): {
			-1, []fits{is("outcome", "EXHAUSTED", "FAILED"), is("endpointId", endpoints[2]), since}},
		of("outcome", "CANCELLED", "endpointId", endpoints[1]): {0, []fits{none}},
		of("everFailed", "true"):                               {4, []fits{failed}},
		of("everFailed", "false"):                              {full + 11, nil},
		of("everFailed", "true", "outcome", "SUCCEEDED"):       {0, []fits{none}},
	} {
		want := slices.DeleteFunc(slices.Clone(all), func(d map[string]any) bool {
			return slices.ContainsFunc(c.fits, func(fits fits) bool { return !fits(d) })
		})
		if n := len(want); c.count >= 0 && n != c.count || c.count < 0 && (n == 0 || n == len(all)) {
			t.Errorf("%s: %d fit, want %d", query, n, c.count)
		}
		if got, a := r.deliveries(query); !slices.Equal(ids(got), ids(want)) || a.text1("nextCursor") != "" {
			t.Errorf("%s: %s\nwant %v", query, a.text, ids(want))
		}
	}
}

// TestDeliveryFields checks the fields of the list and of the single delivery, and that both are
// equal (D18, D20).
func TestDeliveryFields(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{retries: []time.Duration{time.Hour}})
	r.inbox.answer("/", status(503, "come\n back \x00later"))
	endpoint := r.takes("/")
	payment := r.sold(goodCard, someSession)
	row := r.settled("outcome=FAILED", 1)[0]
	sent := r.arrived("/", 1)[0]
	planned, err := time.Parse(time.RFC3339Nano, row["plannedAt"].(string))
	must(t, err)
	next, err := time.Parse(time.RFC3339Nano, row["nextAttemptAt"].(string))
	must(t, err)
	if wait := next.Sub(planned); wait < 54*time.Minute || wait > 67*time.Minute { // an hour, ±10 %
		t.Errorf("the next attempt is due after %s", wait)
	}
	want := map[string]any{
		"id": row["id"], "endpointId": endpoint, "eventType": "PAYMENT.STATUS", "eventId": sent.eventID, "paymentId": payment, "outcome": "FAILED",
		"plannedAt": row["plannedAt"], "updatedAt": row["updatedAt"], "nextAttemptAt": row["nextAttemptAt"], "attemptCount": 1.0,
		"lastStatusCode": 503.0, "lastFailure": "STATUS",
	}
	if !reflect.DeepEqual(row, want) {
		t.Errorf("listed %v\nwant %v", row, want)
	}
	detail := r.want(r.manage("GET", "/webhook-deliveries/"+row["id"].(string), ""), 200, "")
	attempts := detail.field("attempts").([]any)
	one := attempts[0].(map[string]any)
	if started := one["startedAt"].(string); len(attempts) != 1 || started < row["plannedAt"].(string) || started > row["updatedAt"].(string) {
		t.Errorf("attempts %v", attempts)
	}
	same := maps.Clone(detail.json)
	delete(same, "attempts")
	delete(same, "body") // TestDeliveryBody
	if !reflect.DeepEqual(same, want) {
		t.Errorf("read %v\nwant %v", same, want)
	}
	wantOne := map[string]any{
		"number": 1.0, "startedAt": one["startedAt"], "durationMs": one["durationMs"], "statusCode": 503.0, "failure": "STATUS", "manual": false,
		"excerpt": "come  back later", "keys": []any{"signing-secret." + string(r.account.AccountID) + ".1"},
	}
	if !reflect.DeepEqual(one, wantOne) {
		t.Errorf("attempt %v\nwant %v", one, wantOne)
	}
}

// TestDeliveryPages checks that reading all pages returns each delivery that existed at the
// beginning once, while new ones are added (D20).
func TestDeliveryPages(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newHookRig(t, webhooks{})
	r.takes("/")
	r.takes("/other")
	total := 0
	add := func() {
		r.sold(goodCard, someSession)
		total += 2 // for two endpoints
	}
	for range 5 {
		add()
	}
	before := ids(r.settled("outcome=SUCCEEDED", total))
	for query, want := range map[string][]string{"": before, "eventType=PAYMENT.STATUS": before, "outcome=SUCCEEDED": before} {
		for _, limit := range []int{1, 3, 10} {
			r.settled("outcome=SUCCEEDED", total)
			fresh := total - len(want)
			var got []string
			for cursor, n := "", 0; ; n++ {
				page, a := r.deliveries(fmt.Sprintf("%s&limit=%d%s", query, limit, cursor))
				got = append(got, ids(page)...)
				if n < 2 {
					add()
				}
				next := a.text1("nextCursor")
				if next == "" {
					break
				}
				if len(page) != limit {
					t.Fatalf("a page of %d with a cursor: %s", limit, a.text)
				}
				cursor = "&cursor=" + url.QueryEscape(next)
			}
			if !slices.Equal(got[min(fresh, len(got)):], want) {
				t.Errorf("%q by %d: %v\nwant %v after %d that came later", query, limit, got, want, fresh)
			}
		}
	}
}

// TestDeliveryCursors checks that a cursor of another account, of other filters or of another list,
// and an invented cursor, are refused (D20).
func TestDeliveryCursors(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	endpoint := r.takes("/")
	for range 3 {
		r.sold(goodCard, someSession)
	}
	r.settled("outcome=SUCCEEDED", 3)
	_, a := r.deliveries("limit=1&outcome=SUCCEEDED,FAILED")
	cursor := a.text1("nextCursor")
	if rest, _ := r.deliveries("limit=100&outcome=FAILED&outcome=SUCCEEDED&cursor=" + cursor); len(rest) != 2 { // the same filters
		t.Errorf("the cursor finds %v", rest)
	}
	_, payments := r.listed("limit=1")
	other := r.otherMerchant()
	changed := []byte(cursor)
	changed[len(changed)/2] ^= 1
	for name, c := range map[string]struct{ query, key string }{
		"another account": {"outcome=SUCCEEDED,FAILED&cursor=" + cursor, other}, "no filter": {"cursor=" + cursor, ""},
		"one value less": {"outcome=SUCCEEDED&cursor=" + cursor, ""},
		"one more":       {"outcome=SUCCEEDED,FAILED&endpointId=" + endpoint + "&cursor=" + cursor, ""},
		"payments":       {"cursor=" + payments.text1("nextCursor"), ""}, "nonsense": {"cursor=x", ""}, "cut": {"outcome=SUCCEEDED,FAILED&cursor=" + cursor[1:], ""},
		"changed": {"outcome=SUCCEEDED,FAILED&cursor=" + string(changed), ""}, "more": {"outcome=SUCCEEDED,FAILED&cursor=" + cursor + "AAAA", ""},
	} {
		q := request{method: "GET", path: "/management/webhook-deliveries?" + c.query, header: map[string]string{}}
		if c.key != "" {
			q.header["X-Api-Key"] = c.key
		}
		a := r.want(r.do(q), 422, "RequestValidationError")
		want := "QueryString $.cursor is not a cursor of this list"
		if name == "no filter" || strings.HasPrefix(name, "one ") {
			want = "QueryString $.cursor is a cursor of this list with other filters; send it with the parameters of the page that it came from, or leave it out"
		}
		if !slices.Equal(a.faults(), []string{want}) {
			t.Errorf("%s: %s", name, a.text)
		}
	}
	_, mine := r.deliveries("limit=1")
	r.want(r.get("/payments?cursor="+mine.text1("nextCursor")), 422, "RequestValidationError")
}

// TestDeliveryFaults: every fault of the query is named, all at once (D1, D20).
func TestDeliveryFaults(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	const notDate = "must be an RFC 3339 date, a + in it written as %2B"
	outcomes := "$.outcome must be one of PLANNED, FAILED, SUCCEEDED, EXHAUSTED, CANCELLED"
	kinds := "$.eventType must be one of " + strings.NewReplacer(`"`, "", "[", "", "]", "", ",", ", ").Replace(allKinds)
	for query, want := range map[string][]string{
		"outcome=": {outcomes}, "outcome=failed": {outcomes}, "outcome=FAILED,&outcome=SUCCEEDED": {outcomes},
		"outcome=" + strings.Repeat("FAILED,", 10) + "FAILED": {"$.outcome must have at most 10 values"},
		"eventType=PAYMENT.LOST":                              {kinds}, "endpointId=": {"$.endpointId must not be empty"},
		"paymentId=" + strings.Repeat("x", 65): {"$.paymentId must be at most 64 characters long"},
		"paymentId=a&paymentId=b":              {"$.paymentId must be sent once"},
		"everFailed=yes":                       {"$.everFailed must be true or false"},
		"limit=101":                            {"$.limit must be an integer between 1 and 100"},
		"status=FAILED":                        {"$.status is not a known parameter"},
		"from=2026-03-02T00:00:00Z&to=2026-03-02T00:59:59%2B01:00": {"$.from must not be after to"},
		"from=2026-03-14&to=x&outcome=x&eventType=y&endpointId=&paymentId=&limit=0&cursor=z": {
			"$.cursor is not a cursor of this list", "$.endpointId must not be empty", kinds, "$.from " + notDate,
			"$.limit must be an integer between 1 and 100", outcomes, "$.paymentId must not be empty", "$.to " + notDate,
		},
	} {
		a := r.want(r.manage("GET", "/webhook-deliveries?"+query, ""), 422, "RequestValidationError")
		for i := range want {
			want[i] = "QueryString " + strings.TrimPrefix(want[i], "QueryString ")
		}
		if !slices.Equal(a.faults(), want) {
			t.Errorf("%.100s:\n%s\nwant\n%s", query, strings.Join(a.faults(), "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestDeliveryGuards: each call needs its scope, and shows and does nothing for another account
// (D2, D20).
func TestDeliveryGuards(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	endpoint := r.takes("/")
	payment := r.sold(goodCard, someSession)
	id := r.settled("outcome=SUCCEEDED", 1)[0]["id"].(string)
	body := `{"endpointId":"` + endpoint + `","from":"2020-01-01T00:00:00Z","to":"2099-01-01T00:00:00Z"}`
	replay := r.want(r.manage("POST", "/webhook-replays", body), 200, "").text1("id")
	r.until("/management/webhook-replays/"+replay, "state", "DONE")
	sent := len(r.arrived("/", 2))
	other := r.otherMerchant()
	for _, c := range []struct{ method, path, body, scope, foreign string }{
		{"GET", "?paymentId=" + payment, "", account.ScopeAccountRead, ""},
		{"GET", "?endpointId=" + endpoint, "", account.ScopeAccountRead, ""},
		{"GET", "", "", account.ScopeAccountRead, ""},
		{"GET", "/" + id, "", account.ScopeAccountRead, "EntityNotFound"},
		{"POST", "/" + id + "/resend", "", account.ScopeSettingsWrite, "EntityNotFound"},
		{"POST", "../webhook-replays", body, account.ScopeSettingsWrite, "EntityNotFound"},
		{"GET", "../webhook-replays/" + replay, "", account.ScopeAccountRead, "EntityNotFound"},
	} {
		path := "/management/webhook-deliveries" + c.path
		if below, is := strings.CutPrefix(c.path, ".."); is {
			path = "/management" + below
		}
		as := func(key string) answer {
			return r.do(request{method: c.method, path: path, body: c.body, header: map[string]string{"X-Api-Version": "", "X-Api-Key": key}})
		}
		others := slices.DeleteFunc(slices.Clone(account.Scopes), func(s string) bool { return s == c.scope || s == account.ScopeAccountWrite })
		r.want(as(""), 401, "Unauthorized")
		if a := r.want(as(r.keyWith(others...)), 403, "MissingScope"); !strings.Contains(a.text, c.scope) {
			t.Errorf("%s %s: %s", c.method, path, a.text)
		}
		if c.foreign != "" {
			r.want(as(other), 404, c.foreign)
		} else if a := r.want(as(other), 200, ""); a.text != `{"data":[]}` {
			t.Errorf("%s: another account sees %s", path, a.text)
		}
	}
	if n := len(r.inbox.at("/")); n != sent {
		t.Errorf("%d webhooks were sent", n-sent)
	}
	for _, key := range []string{r.keyWith(account.ScopeAccountRead)} {
		q := request{method: "GET", path: "/management/webhook-deliveries/" + id, header: map[string]string{"X-Api-Key": key, "X-Api-Version": ""}}
		r.want(r.do(q), 200, "")
	}
	for _, unknown := range []string{"none", "%20", strings.ToUpper(id), id + "0"} {
		r.want(r.manage("GET", "/webhook-deliveries/"+unknown, ""), 404, "EntityNotFound")
		r.want(r.manage("POST", "/webhook-deliveries/"+unknown+"/resend", ""), 404, "EntityNotFound")
		r.want(r.manage("GET", "/webhook-replays/"+unknown, ""), 404, "EntityNotFound")
	}
}
