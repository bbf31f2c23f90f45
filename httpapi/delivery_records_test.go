package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"payledger/domain/account"
)

// records reads all pages of GET /webhook-deliveries.
func (r *rig) records(limit int) (all []map[string]any, text string) {
	r.t.Helper()
	for after := 0; ; {
		a := r.want(r.get(fmt.Sprintf("/webhook-deliveries?limit=%d&after=%d", limit, after)), 200, "")
		text += a.text
		for _, e := range a.field("data").([]any) {
			all = append(all, e.(map[string]any))
		}
		next, more := a.field("nextAfter").(float64)
		if !more {
			return all, text
		}
		after = int(next)
	}
}

// TestDeliveryRecords checks that GET /webhook-deliveries has every record of the account's
// deliveries once and in order, in pages of any size: the newest one of a delivery agrees with the
// management's list. No record has a receiver's answer, a URL or a secret.
func TestDeliveryRecords(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	r.takes("/good")
	secret := r.want(r.manage("GET", "/signing-secret", ""), 200, "").text
	r.takes("/bad", "PAYMENT.STATUS")
	r.inbox.answer("/bad", status(500, "Ada Lovelace lives at Main Street"))
	payments := []string{r.sold(goodCard, someSession), r.sold(declinedCard, someSession)}
	r.settled("outcome=EXHAUSTED", 2)
	r.settled("outcome=SUCCEEDED", 2)
	r.inbox.answer("/bad", nil)
	again := r.settled("outcome=EXHAUSTED", 2)[0]["id"].(string)
	r.want(r.resend(again), 200, "")
	listed, _ := r.deliveries("")

	all, text := r.records(1000)
	newest, place := map[any]map[string]any{}, 0.0
	for _, d := range all {
		if d["place"].(float64) <= place || d["accountId"] != string(r.account.AccountID) {
			t.Errorf("after %v: %v", place, d)
		}
		place = d["place"].(float64)
		if d["outcome"] == "PLANNED" && (d["attemptCount"] != 0.0 || d["firstAttemptAt"] != nil || newest[d["id"]] != nil) {
			t.Errorf("planned: %v", d)
		}
		newest[d["id"]] = d
	}
	if len(all) != 4+4+1 || len(newest) != len(listed) || len(listed) != 4 {
		t.Fatalf("%d records of %d deliveries, listed %d: %s", len(all), len(newest), len(listed), text)
	}
	for _, l := range listed {
		d := newest[l["id"]]
		for _, field := range []string{"endpointId", "eventType", "eventId", "outcome", "plannedAt", "attemptCount", "lastStatusCode", "lastFailure"} {
			if d[field] != l[field] {
				t.Errorf("%s is %v, listed %v", field, d[field], l[field])
			}
		}
		failed, delivered := 0.0, d["outcome"] == "SUCCEEDED"
		if d["outcome"] == "EXHAUSTED" || d["id"] == again {
			failed = 1
		}
		one := d["attemptCount"] == 1.0
		if d["failedAttemptCount"] != failed || (d["deliveredAt"] != nil) != delivered || (d["firstAttemptAt"] == d["lastAttemptAt"]) != one || d["aggregateId"] != l["paymentId"] {
			t.Errorf("%v\nlisted %v", d, l)
		}
	}
	if newest[again]["attemptCount"] != 2.0 || newest[again]["outcome"] != "SUCCEEDED" {
		t.Errorf("sent again: %v", newest[again])
	}
	for _, hidden := range []string{"Ada", "Main Street", r.inbox.url, "excerpt", "keys", r.account.SigningSecret, secret} {
		if strings.Contains(text, hidden) {
			t.Errorf("the records have %q: %s", hidden, text)
		}
	}
	if !strings.Contains(text, payments[0]) || !strings.Contains(text, payments[1]) {
		t.Errorf("a payment is missing in %s", text)
	}
	for _, limit := range []int{1, 2, 5} {
		if parts, _ := r.records(limit); fmt.Sprint(parts) != fmt.Sprint(all) {
			t.Errorf("pages of %d differ from the whole", limit)
		}
	}
	as := func(key, query string) answer {
		return r.do(request{method: "GET", path: "/webhook-deliveries" + query, header: map[string]string{"X-Api-Key": key}})
	}
	if a := r.want(as(r.otherMerchant(), ""), 200, ""); a.text != `{"data":[]}` {
		t.Errorf("another account sees %s", a.text)
	}
	r.want(as(r.keyWith(account.ScopeAccountRead), ""), 403, "MissingScope")
	r.webhooksOfHistory(payments[0])
	r.want(as(r.keyWith(account.ScopeEventsRead), "?after="+fmt.Sprint(int(place))), 200, "")
	r.want(r.get("/webhook-deliveries?after="+fmt.Sprint(int(place)+1)), 404, "EntityNotFound")
	r.want(r.get("/webhook-deliveries?limit=1001"), 422, "RequestValidationError")
}

// webhooksOfHistory checks that the webhooks of a payment's history need the scope of the records,
// and that they show the receivers' answers and the names of secrets only with the scope of the
// management's list, which shows them, too (D2).
func (r *hookRig) webhooksOfHistory(id string) {
	r.t.Helper()
	const reads, events, manages = account.ScopeTransactionsRetrieve, account.ScopeEventsRead, account.ScopeAccountRead
	path := "/payments/" + id + "/events?expand=webhooks"
	with := func(path string, scopes ...string) answer {
		return r.do(request{method: "GET", path: path, header: map[string]string{"X-Api-Key": r.keyWith(scopes...)}})
	}
	for _, lacks := range [][]string{{reads}, {reads, manages}} {
		if a := r.want(with(path, lacks...), 403, "MissingScope"); !strings.Contains(a.text, "lacks the scope events:read, which expand=webhooks needs") {
			r.t.Error(a.text)
		}
	}
	const answered = `"excerpt":"(withheld: the answer repeats the webhook` // it has the customer's name
	records := r.want(with(path, reads, events), 200, "")
	if strings.Contains(records.text, answered) || !strings.Contains(records.text, `"outcome":"EXHAUSTED"`) && !strings.Contains(records.text, `"outcome":"SUCCEEDED"`) || !strings.Contains(records.text, `"excerpt":"","keys":[]`) {
		r.t.Errorf("events:read shows the answers, or no webhooks: %d bytes", len(records.text))
	}
	for _, all := range []answer{with(path, reads, events, manages), with("/management"+path, manages)} {
		if r.want(all, 200, ""); !strings.Contains(all.text, answered) || strings.Contains(all.text, `"keys":[]`) {
			r.t.Errorf("account:read does not show the answers: %d bytes", len(all.text))
		}
	}
}
