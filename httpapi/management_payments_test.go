package httpapi_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/eventstore"
)

// TestManagedPayments: the management's calls about payments answer as the merchant's calls of the
// same name, with the scopes of the management and without a version (D20).
func TestManagedPayments(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.paid(goodCard, "")
	id := strings.TrimPrefix(at, "/payments/")
	same := func(path string) {
		t.Helper()
		merchant, managed := r.want(r.get(path), 200, ""), r.want(r.manage("GET", path, ""), 200, "")
		if merchant.text != managed.text {
			t.Errorf("%s: the merchant gets %s, the management %s", path, merchant.text, managed.text)
		}
	}
	same(at)
	same(at + events)
	same(at + "/events")
	same("/payments?status=AUTHORIZED&order_id=order-1&last_4_digits=1111&min_amount=1")
	same("/payments?status=SETTLED")
	r.want(r.manage("GET", "/payments?min_amount=2&max_amount=1", ""), 422, "RequestValidationError")
	r.want(r.manage("GET", "/payments/unknown", ""), 400, "PaymentError")

	captured := r.want(r.manage("POST", at+"/capture", `{"amount":1000,"final":false,"metadata":null,`+expanded+`}`), 200, "") // null is absent (D21)
	if captured.text1("status") != "PARTIALLY_SETTLED" || !slices.Contains(types(captured.events()), "CAPTURE_SUCCEEDED") {
		t.Errorf("captured: %s", captured.text)
	}
	keyed := func(key, path, body string) answer {
		return r.post("/management"+path, body, "X-Api-Version", "", "X-Idempotency-Key", key)
	}
	r.want(keyed("once", at+"/refund", `{"amount":400,"reason":"damaged"}`), 200, "")
	repeated := r.want(r.post(at+"/refund", `{"amount":400}`, "X-Idempotency-Key", "once"), 409, "IdempotencyKeyAlreadyExists") // one space of keys
	if repeated.text1("error", "paymentId") != id {
		t.Errorf("repeated: %s", repeated.text)
	}
	r.want(r.manage("POST", at+"/refund", `{"amount":601}`), 422, "UnprocessableRefundAmount")
	r.want(r.manage("POST", at+"/capture", `{"amount":-1}`), 422, "RequestValidationError")
	r.want(r.manage("POST", at+"/capture", `{"metadata":{"":1}}`), 400, "MetadataContainsEmptyKey")
	if cancelled := r.want(r.manage("POST", at+"/cancel", ``), 200, ""); cancelled.text1("status") != "SETTLED" { // the rest is released
		t.Errorf("cancelled: %s", cancelled.text)
	}
	r.want(r.manage("POST", at+"/cancel", `{"reason":"again"}`), 400, "InvalidPaymentStatus")
	r.want(r.manage("POST", "/payments/unknown/refund", `{}`), 400, "PaymentError")
	same(at)

	reads, writes, merchants := r.keyWith("account:read"), r.keyWith("account:write", "transactions:refund"), r.keyWith("transactions:retrieve", "transactions:capture", "transactions:refund", "transactions:cancel")
	for _, path := range []string{"/payments", at, at + "/events", at + "/events?expand=webhooks"} {
		r.want(r.with(reads, "GET", path, ""), 200, "")
		r.want(r.with(writes, "GET", path, ""), 403, "MissingScope")
		r.want(r.with(merchants, "GET", path, ""), 403, "MissingScope")
	}
	for _, path := range []string{at + "/capture", at + "/refund", at + "/cancel"} {
		r.want(r.with(reads, "POST", path, `{}`), 403, "MissingScope")
		r.want(r.with(merchants, "POST", path, `{}`), 403, "MissingScope")
	}
	r.want(r.with(writes, "POST", at+"/refund", `{"amount":1}`), 200, "")
	other := r.otherMerchant()
	for _, path := range []string{at, at + "/events", at + "/proof"} {
		r.want(r.with(other, "GET", path, ""), 400, "PaymentError")
	}
	r.want(r.with(other, "POST", at+"/refund", `{}`), 400, "PaymentError")
}

// TestOriginOfChanges: an event of a change through the management has the client's address, and an
// event of a merchant's call has none. The address is in the log only: no answer but the bytes of a
// history has it (D20).
func TestOriginOfChanges(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	at := r.paid(goodCard, "")
	r.want(r.post(at+"/capture", `{"amount":100,"final":false}`), 200, "")
	r.want(r.manage("POST", at+"/capture", `{"amount":100,"final":false}`), 200, "")
	r.want(r.manage("PATCH", "/settings", `{"displayName":"North"}`), 200, "")
	r.want(r.manage("POST", "/workflows", `{"name":"w","trigger":{"eventType":"PAYMENT.STATUS","status":"AUTHORIZED"},"condition":"true","actions":[{"type":"cancel","reason":"r"}],"enabled":false}`), 200, "")
	r.want(r.manage("POST", at+"/erase", ""), 400, "PaymentError") // of a customer, no guest
	r.want(r.manage("POST", "/customers/customer-7/erase", ""), 200, "")
	origins := func(key eventstore.Key) (all []string) {
		t.Helper()
		history, err := r.store.History(context.Background(), key)
		must(t, err)
		for _, e := range history {
			all = append(all, strings.TrimSpace(e.Type+" "+e.Origin()))
		}
		return all
	}
	account := r.account.AccountID
	for _, c := range []struct {
		key  eventstore.Key
		want []string
	}{
		{eventstore.Payments.Key(account, strings.TrimPrefix(at, "/payments/")), []string{
			"payment.created", "payment.authorized", "payment.capture_requested", "payment.captured", "payment.capture_requested 127.0.0.1", "payment.captured",
		}},
		{eventstore.Accounts.Key(account, string(account)), []string{"account.created", "account.settings_changed 127.0.0.1"}},
		{eventstore.Workflows.Key(account, string(account)), []string{"workflow.created 127.0.0.1"}},
	} {
		if got := origins(c.key); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.key, got, c.want)
		}
	}
	if text := r.answers.String(); strings.Contains(text, "127.0.0.1") {
		t.Error("an answer has the client's address")
	}
	r.want(r.get(at+"/events"), 200, "")
	r.want(r.get(at+events), 200, "")
	if text := r.answers.String(); strings.Contains(text, "127.0.0.1") {
		t.Error("an answer about the payment has the client's address")
	}
}

// TestStatisticsCall checks the days of the call, its counts, and which callers it accepts (D20).
func TestStatisticsCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	day := func(offset int) string { return r.now().UTC().AddDate(0, 0, offset).Format(time.DateOnly) }
	noon := r.now().UTC().Truncate(24 * time.Hour).Add(36 * time.Hour) // the day does not end during the test
	r.late.Store(int64(time.Until(noon) / time.Second))
	began := day(0)
	r.want(r.post(r.paid(goodCard, "")+"/capture", `{"amount":420}`), 200, "")
	r.paid(declinedCard, "")
	got := r.want(r.manage("GET", "/statistics", ""), 200, "")
	totals := `[{"currencyCode":"EUR","payments":2,"total":4840,"totalCaptured":420,"totalRefunded":0}]`
	for _, part := range []string{
		`"from":"` + began + `","to":"` + began + `","payments":2,"currencies":` + totals,
		`{"status":"DECLINED","payments":1,"currencies":[{"currencyCode":"EUR","payments":1,"total":2420,"totalCaptured":0,"totalRefunded":0}]}`,
		`{"processor":"ADYEN","payments":2,"currencies":` + totals + `,"authorizations":{"approved":1,"declined":1,"failed":0,"rate":0.5}}`,
		`"byDay":[{"day":"` + began + `","payments":2,`, `"statuses":[{"status":"DECLINED","payments":1},{"status":"SETTLED","payments":1}],"authorizations":{"approved":1,"declined":1,"failed":0,"rate":0.5},`,
		`"funnel":{"sessions":2,"cards":2,"payments":2,"authorized":1,"captured":1}`, `"reasons":[{"status":"DECLINED","reason":"DO_NOT_HONOR","payments":1}]`,
	} {
		if !strings.Contains(got.text, part) {
			t.Errorf("%s is not in %s", part, got.text)
		}
	}
	if got.header.Get("Payledger-Lag") == "" {
		t.Error("no header Payledger-Lag")
	}
	week := r.want(r.manage("GET", "/statistics?from="+day(-6)+"&to="+day(0), ""), 200, "")
	if days := week.field("byDay").([]any); len(days) != 7 || week.field("payments") != 2.0 {
		t.Errorf("a week: %s", week.text)
	}
	hours := r.want(r.manage("GET", "/statistics?by=hour&currencyCode=EUR&status=SETTLED", ""), 200, "")
	if of := hours.field("byHour").([]any); len(of) != 24 || hours.field("payments") != 1.0 || !strings.Contains(hours.text, `{"status":"SETTLED","payments":1,"total":2420,"totalCaptured":420,"totalRefunded":0}`) {
		t.Errorf("by hour, of the settled payments: %s", hours.text)
	}
	before := r.want(r.manage("GET", "/statistics?to="+day(-1), ""), 200, "")
	if before.field("payments") != 0.0 || before.text1("from") != day(-1) {
		t.Errorf("the day before: %s", before.text)
	}
	for query, fault := range map[string]string{
		"?from=" + day(1):                "QueryString $.from must not be after to, which is today if it is absent",
		"?from=2024-01-01&to=2025-01-01": "QueryString $.from must be less than 366 days before to",
		"?from=2026-02-30":               "QueryString $.from is no day: write it as 2026-03-14",
		"?to=2026-03-14T00:00:00Z":       "QueryString $.to must be at most 10 characters long",
		"?to=14.03.2026":                 "QueryString $.to must be a day such as 2026-03-14",
		"?day=1":                         "QueryString $.day is not a known parameter",
		"?by=month":                      "QueryString $.by must be one of day, hour",
		"?currencyCode=euro":             "QueryString $.currencyCode must be at most 3 characters long",
	} {
		if a := r.want(r.manage("GET", "/statistics"+query, ""), 422, "RequestValidationError"); !slices.Equal(a.faults(), []string{fault}) {
			t.Errorf("%s: %q", query, a.faults())
		}
	}
	if a := r.want(r.with(r.otherMerchant(), "GET", "/statistics", ""), 200, ""); a.field("payments") != 0.0 {
		t.Errorf("another account sees %s", a.text)
	}
	r.want(r.with(r.keyWith("account:write"), "GET", "/statistics", ""), 403, "MissingScope")
}
