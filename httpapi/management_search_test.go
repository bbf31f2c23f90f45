package httpapi_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// find returns the results of a search as "kind id by field".
func (r *rig) find(key, text string) (all []string) {
	r.t.Helper()
	for _, f := range r.want(r.with(key, "GET", "/search?q="+url.QueryEscape(text), ""), 200, "").field("data").([]any) {
		f := f.(map[string]any)
		all = append(all, f["kind"].(string)+" "+f["id"].(string)+" by "+f["matched"].(string))
	}
	return all
}

// TestSearch checks that everything with an id is found by its id, and payments also by the
// merchants' and the processors' ids. A part of an id finds nothing, nor does another account
// (D20).
func TestSearch(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newHookRig(t, webhooks{})
	endpoint := r.endpoint(`{"url":"` + r.inbox.url + `/a","description":"my shop"}`).text1("id")
	workflow := r.want(r.manage("POST", "/workflows", `{"name":"Cancel","trigger":{"eventType":"PAYMENT.STATUS","status":"DECLINED"},"condition":"true","actions":[{"type":"cancel","reason":"r"}]}`), 200, "").text1("id")
	client := r.session(someSession)
	paid := r.want(r.post("/payments", `{"paymentMethodToken":"`+r.tokenize(client, goodCard)+`"}`, "X-Idempotency-Key", "checkout-77"), 200, "")
	id := paid.text1("id")
	captured := r.want(r.post("/payments/"+id+"/capture", `{"amount":100,"final":false}`), 200, "")
	sale := captured.field("transactions").([]any)[0].(map[string]any)["processorTransactionId"].(string)
	refunded := r.want(r.post("/payments/"+id+"/refund", `{"amount":100}`), 200, "")
	refund := refunded.field("transactions").([]any)[1].(map[string]any)["processorTransactionId"].(string)
	declined := strings.TrimPrefix(r.paid(declinedCard, `,"customerId":"customer-8","orderId":"order-2"`), "/payments/")
	var run, delivery string
	r.rig.eventually(func() bool {
		runs := r.want(r.manage("GET", "/workflows/"+workflow+"/runs", ""), 200, "").field("data").([]any)
		sent := r.want(r.manage("GET", "/webhook-deliveries?paymentId="+id, ""), 200, "").field("data").([]any)
		if len(runs) == 0 || len(sent) == 0 {
			return false
		}
		run, delivery = runs[0].(map[string]any)["id"].(string), sent[0].(map[string]any)["id"].(string)
		return true
	})
	keyID, reads := r.newKey(`"account:read"`)
	manual := r.session(manualSession)
	attempt := r.attempt(manual, r.tokenize(manual, goodCard))
	state, _ := r.views.Account(r.account.AccountID)

	payment := func(of, by string) string { return "payment " + of + " by " + by }
	for text, want := range map[string][]string{
		id:                        {payment(id, "id")},
		" " + id + " ":            {payment(id, "id")},
		"order-1":                 {payment(id, "orderId")},
		"order-2":                 {payment(declined, "orderId")},
		"customer-7":              {payment(id, "customerId"), "customer customer-7 by customerId"},
		"customer-8":              {payment(declined, "customerId"), "customer customer-8 by customerId"},
		"checkout-77":             {payment(id, "idempotencyKey")},
		sale:                      {payment(id, "processorTransactionId")},
		refund:                    {payment(id, "processorTransactionId")},
		"ada@example.com":         {payment(declined, "emailAddress"), payment(id, "emailAddress")},
		"ADA@example.com":         {payment(declined, "emailAddress"), payment(id, "emailAddress")},
		run:                       {"workflow_run " + run + " by id"},
		workflow:                  {"workflow " + workflow + " by id"},
		endpoint:                  {"webhook_endpoint " + endpoint + " by id"},
		delivery:                  {"webhook_delivery " + delivery + " by id"},
		keyID:                     {"api_key " + keyID + " by id"},
		attempt:                   {"payment_attempt " + attempt + " by id"},
		string(state.Users[0].ID): {"user " + string(state.Users[0].ID) + " by id"},
		id[:len(id)-1]:            nil,
		"order":                   nil,
		"ada@example":             nil,
		"%":                       nil,
		reads:                     nil, // a secret is not looked up
	} {
		got := r.find(reads, text)
		if text == "customer-7" { // the attempt's session names the customer, too
			got = slices.DeleteFunc(got, func(f string) bool { return !slices.Contains(want, f) })
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	other := r.otherMerchant()
	for _, text := range []string{id, "order-1", "customer-7", "checkout-77", sale, "ada@example.com", run, workflow, endpoint, delivery, keyID, attempt} {
		if got := r.find(other, text); len(got) != 0 {
			t.Errorf("another account finds %q by %q", got, text)
		}
	}
	r.want(r.manage("POST", "/customers/customer-8/erase", ""), 200, "")
	if got := r.find(reads, "ada@example.com"); !slices.Equal(got, []string{payment(id, "emailAddress")}) {
		t.Errorf("after the erasure: %q", got)
	}
	for query, fault := range map[string]string{"": "QueryString $.q is required", "?q=%20": "QueryString $.q must not be blank", "?q=": "QueryString $.q must not be empty"} {
		if a := r.want(r.manage("GET", "/search"+query, ""), 422, "RequestValidationError"); !slices.Equal(a.faults(), []string{fault}) {
			t.Errorf("%s: %q", query, a.faults())
		}
	}
	r.want(r.with(r.keyWith("account:write"), "GET", "/search?q=x", ""), 403, "MissingScope")
}
