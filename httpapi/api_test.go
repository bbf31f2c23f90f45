package httpapi_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPaymentPath: a session, a card, a payment, read back and replayed (§4, D4, D5, D6, D12).
func TestPaymentPath(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	session := r.want(r.do(request{method: "POST", path: "/client-session", body: someSession}), 200, "")
	if session.field("amount") != 2420.0 || session.field("approvalMode") != "AUTO" || session.field("clientExpirationDate") != session.field("clientTokenExpirationDate") {
		t.Errorf("session %s", session.text)
	}
	if session.text1("customer", "email") != "ada@example.com" || session.text1("customer", "emailAddress") != "ada@example.com" {
		t.Errorf("both spellings of the e-mail: %s", session.text)
	}
	if strings.Contains(session.text, "warnings") {
		t.Errorf("warnings without a reason: %s", session.text)
	}
	clientToken := session.text1("clientToken")
	instrument := r.want(r.browser(clientToken, `{"paymentInstrument":{"number":"4111111111111111","cvv":"737","expirationMonth":"03","expirationYear":"`+expires+`","cardholderName":"Ada Lovelace"},"tokenType":"SINGLE_USE"}`), 200, "")
	if instrument.text1("tokenType") != "SINGLE_USE" || instrument.field("paymentMethodData", "first6Digits") != nil || instrument.text1("paymentMethodData", "last4Digits") != "1111" {
		t.Errorf("instrument %s", instrument.text)
	}
	token := instrument.text1("token")
	paid := r.want(r.do(request{method: "POST", path: "/payments/", body: `{"paymentMethodToken":"` + token + `","metadata":{"shop":"south","run":1e1},"expand":["transactions.events"]}`,
		header: map[string]string{"X-Idempotency-Key": "key-1"}}), 200, "")
	if paid.text1("status") != "AUTHORIZED" || paid.field("amount") != 2420.0 || paid.text1("orderId") != "order-1" ||
		paid.text1("metadata", "shop") != "south" || paid.field("metadata", "run") != 10.0 || paid.field("metadata", "attempt") != 2.0 {
		t.Errorf("payment %s", paid.text)
	}
	sale := paid.field("transactions").([]any)[0].(map[string]any)
	if sale["type"] != "SALE" || sale["transactionType"] != "SALE" || len(sale["events"].([]any)) != 1 {
		t.Errorf("transaction %v", sale)
	}
	id := paid.text1("id")
	read := r.want(r.do(request{method: "GET", path: "/payments/" + id + "?expand=transactions.events"}), 200, "")
	if read.text != paid.text {
		t.Errorf("read back\n%s\nanswered\n%s", read.text, paid.text)
	}
	plain := r.want(r.do(request{method: "GET", path: "/payments/" + id}), 200, "")
	if strings.Contains(plain.text, `"events"`) {
		t.Errorf("events without expand: %s", plain.text)
	}
	again := r.want(r.do(request{method: "POST", path: "/payments", body: `{"paymentMethodToken":"` + token + `"}`, header: map[string]string{"X-Idempotency-Key": "key-1"}}), 409, "IdempotencyKeyAlreadyExists")
	if again.text1("error", "paymentId") != id || again.text1("error", "paymentStatus") != "AUTHORIZED" || again.text1("error", "recoverySuggestion") == "" {
		t.Errorf("repeated key: %s", again.text)
	}
	r.want(r.do(request{method: "POST", path: "/payments", body: `{"paymentMethodToken":"` + token + `"}`}), 400, "PaymentError")
	events := r.want(r.do(request{method: "GET", path: "/payments/" + id + "/events"}), 200, "").field("data").([]any)
	if len(events) != 2 || events[1].(map[string]any)["type"] != "payment.authorized" {
		t.Errorf("history %v", events)
	}
	first := r.want(r.do(request{method: "GET", path: "/payments/" + id + "/events?at=1"}), 200, "").field("data").([]any)
	if len(first) != 1 {
		t.Errorf("history at 1: %v", first)
	}
	for at, says := range map[string]string{"3": "no such revision", "0001-01-01T00:00:00Z": "did not exist", "2020-01-01t00:00:00z": "did not exist", "9999-01-01t00:00:00z": "is in the future"} {
		if a := r.want(r.do(request{method: "GET", path: "/payments/" + id + "/events?at=" + at}), 404, "EntityNotFound"); !strings.Contains(a.text, says) {
			t.Errorf("at %s: %s", at, a.text)
		}
	}
	r.want(r.get("/payments/"+id+"/events?at="+r.now().UTC().Add(30*time.Second).Format("2006-01-02t15:04:05z")), 200, "")
	bad := r.want(r.do(request{method: "GET", path: "/payments/" + id + "/events?at=soon&order=desc"}), 422, "RequestValidationError")
	if !slices.Equal(bad.faults(), []string{"QueryString $.at must be a revision from 1, or a time such as 2026-03-14T09:00:00Z", "QueryString $.order is not a known parameter"}) {
		t.Errorf("faults %q", bad.faults())
	}
	if log := r.log.String(); strings.Contains(log, goodCard) || strings.Contains(log, "737") && strings.Contains(log, "cvv") || strings.Contains(log, "ada@") || strings.Contains(log, clientToken) || strings.Contains(log, r.account.APIKey) {
		t.Errorf("the log holds what it must not:\n%s", log)
	}
}

// TestDecline: a declined payment is a success of the call (D5).
func TestDecline(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	token := r.tokenize(r.session(someSession), declinedCard)
	paid := r.want(r.do(request{method: "POST", path: "/payments", body: `{"paymentMethodToken":"` + token + `","orderId":"other","amount":7}`}), 200, "")
	if paid.text1("status") != "DECLINED" || paid.text1("statusReason", "type") != "ISSUER_DECLINED" || paid.text1("statusReason", "code") != "DO_NOT_HONOR" ||
		paid.text1("orderId") != "other" || paid.field("amount") != 7.0 {
		t.Errorf("payment %s", paid.text)
	}
}

// TestRefusals: the errors of the first calls (D3, D4, D5).
func TestRefusals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	post := func(path, body string) answer { return r.do(request{method: "POST", path: path, body: body}) }
	bare := r.want(post("/client-session", `{}`), 200, "")
	var warnings []string
	for _, w := range bare.field("warnings").([]any) {
		warnings = append(warnings, w.(map[string]any)["message"].(string))
	}
	if !slices.Equal(warnings, []string{"A checkout needs orderId.", "A checkout needs currencyCode.", "A checkout needs order.lineItems."}) {
		t.Errorf("warnings %q", warnings)
	}
	r.want(post("/client-session", `{"amount":1}`), 400, "ClientSessionValidationError")
	r.want(post("/client-session", `{"order":{"lineItems":[{"amount":1}]}}`), 400, "ClientSessionValidationError")
	r.want(post("/client-session", `{"metadata":{"":"x"}}`), 400, "MetadataContainsEmptyKey")
	r.want(post("/client-session", `{"metadata":{"":"x"},"approvalMode":"LATER"}`), 422, "RequestValidationError")
	before := r.events()
	four := r.want(post("/payments", `{"paymentMethodToken":"t","currencyCode":"XXZ","amount":-5,"nope":1,"orderId":"`+strings.Repeat("o", 256)+`"}`), 422, "RequestValidationError")
	if want := []string{"PaymentCreation $.amount must be an integer between 0 and 9007199254740991", "PaymentCreation $.currencyCode must be an active ISO 4217 currency code",
		"PaymentCreation $.nope is not a known field", "PaymentCreation $.orderId must be at most 255 characters long"}; !slices.Equal(four.faults(), want) {
		t.Errorf("faults %q", four.faults())
	}
	if after := r.events(); after != before {
		t.Errorf("a refused payment left %d events", after-before)
	}
	both := r.want(post("/payments?dry=1", `{"amount":-5}`), 422, "RequestValidationError")
	if want := []string{"QueryString $.dry is not a known parameter", "PaymentCreation $.amount must be an integer between 0 and 9007199254740991",
		"PaymentCreation $.paymentMethodToken is required"}; !slices.Equal(both.faults(), want) {
		t.Errorf("faults %q", both.faults())
	}
	token := r.tokenize(bare.text1("clientToken"), goodCard)
	missing := r.want(post("/payments", `{"paymentMethodToken":"`+token+`"}`), 422, "RequestValidationError")
	if missing.text1("error", "description") != "Missing fields for payment." || len(missing.faults()) != 3 {
		t.Errorf("missing %s", missing.text)
	}
	for _, unknown := range []string{"01abc", "*", ">", "a.b", "é"} { // an id never reaches the log as a pattern
		r.want(post("/payments", `{"paymentMethodToken":"`+unknown+`","orderId":"o","currencyCode":"EUR","amount":1}`), 400, "PaymentError")
	}
	for _, unknown := range []string{"01abc", "*", "%3E", "a.b", "%20", strings.Repeat("x", 5000)} {
		r.want(r.do(request{method: "GET", path: "/payments/" + unknown}), 400, "PaymentError")
		r.want(r.do(request{method: "GET", path: "/payments/" + unknown + "/events"}), 400, "PaymentError")
	}
	keyed := r.do(request{method: "POST", path: "/payments", body: `{"paymentMethodToken":"t"}`, header: map[string]string{"X-Idempotency-Key": strings.Repeat("k", 256)}})
	if got := r.want(keyed, 422, "RequestValidationError").faults(); !slices.Equal(got, []string{"Headers $['X-Idempotency-Key'] must be one header of 1 to 255 visible ASCII characters"}) {
		t.Errorf("faults %q", got)
	}
}

// TestManagement: keys and endpoints (D20, D2, D18).
func TestManagement(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	call := func(method, path, body string) answer {
		return r.do(request{method: method, path: "/management" + path, body: body, header: map[string]string{"X-Api-Version": ""}})
	}
	made := r.want(call("POST", "/api-keys", `{"name":"shop","scopes":["account:read"],"expiresAt":"2099-01-01T02:00:00+02:00"}`), 200, "")
	key := made.text1("apiKey")
	if !strings.HasPrefix(key, "plk_sandbox_") || made.text1("expiresAt") != "2099-01-01T00:00:00.000000Z" {
		t.Errorf("key %s", made.text)
	}
	r.want(call("POST", "/api-keys", `{"name":"old","scopes":["account:read"],"expiresAt":"2020-01-01T00:00:00"}`), 422, "RequestValidationError")
	listed := r.want(r.do(request{method: "GET", path: "/management/api-keys", header: map[string]string{"X-Api-Key": key}}), 200, "")
	if strings.Contains(listed.text, key) || strings.Contains(listed.text, "sha256") || len(listed.field("data").([]any)) != 2 {
		t.Errorf("keys %s", listed.text)
	}
	denied := r.want(r.do(request{method: "POST", path: "/management/api-keys", body: `{}`, header: map[string]string{"X-Api-Key": key}}), 403, "MissingScope")
	if !strings.Contains(denied.text1("error", "description"), "keys:write") {
		t.Errorf("denied %s", denied.text)
	}
	for _, url := range []string{"https://one.example/", "https://two.example/", "https://three.example/"} {
		r.want(call("POST", "/webhook-endpoints", `{"url":"`+url+`","description":"d","eventTypes":["PAYMENT.STATUS"]}`), 200, "")
	}
	private := r.want(call("POST", "/webhook-endpoints", `{"url":"http://10.0.0.1/"}`), 422, "RequestValidationError")
	if !slices.Equal(private.faults(), []string{"WebhookEndpointRequest $.url must not lead to a private address"}) {
		t.Errorf("faults %q", private.faults())
	}
	var seen []string
	for cursor := ""; ; {
		page := r.want(call("GET", "/webhook-endpoints?limit=2&cursor="+cursor, ""), 200, "")
		for _, e := range page.field("data").([]any) {
			seen = append(seen, e.(map[string]any)["url"].(string))
		}
		if cursor = page.text1("nextCursor"); cursor == "" {
			break
		}
	}
	if !slices.Equal(seen, []string{"https://one.example/", "https://two.example/", "https://three.example/"}) {
		t.Errorf("endpoints %q", seen)
	}
	first := r.want(call("GET", "/webhook-endpoints?limit=1", ""), 200, "")
	r.want(call("DELETE", "/webhook-endpoints/"+first.field("data").([]any)[0].(map[string]any)["id"].(string), ""), 200, "")
	if rest := r.want(call("GET", "/webhook-endpoints?limit=1&cursor="+first.text1("nextCursor"), ""), 200, ""); !strings.Contains(rest.text, "https://two.example/") {
		t.Errorf("behind a deleted endpoint: %s", rest.text)
	}
	r.want(call("GET", "/webhook-endpoints?cursor=foreign", ""), 422, "RequestValidationError")
	r.want(call("GET", "/api-keys?limit=0", ""), 422, "RequestValidationError")
}

// TestOperation: health, readiness and the document (I1, I2).
func TestOperation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	nobody := map[string]string{"X-Api-Key": "", "X-Api-Version": ""}
	get := func(path string) answer { return r.do(request{method: "GET", path: path, header: nobody}) }
	r.want(get("/healthz"), 200, "")
	r.want(get("/readyz/"), 200, "")
	if doc := r.want(get("/openapi.yaml"), 200, ""); !strings.HasPrefix(doc.text, "openapi: 3.0.3") {
		t.Errorf("document %.60s", doc.text)
	}
	if doc := r.want(get("/asyncapi.yaml"), 200, ""); !strings.Contains(doc.text, "\nasyncapi: \"3.0.0\"\n") {
		t.Errorf("document %.60s", doc.text)
	}
	behind := error(errBehindTheLog)
	r.ready.Store(&behind)
	red := r.want(get("/readyz"), 503, "ServiceUnavailable")
	if !strings.Contains(red.text, "behind the log") || red.header.Get("Retry-After") == "" {
		t.Errorf("readyz %v %s", red.header, red.text)
	}
	r.want(get("/healthz"), 200, "")
	var lines []map[string]any
	for line := range strings.Lines(r.log.String()) {
		var l map[string]any
		must(t, json.Unmarshal([]byte(line), &l))
		if l["requestId"] != nil || l["message"] == "request" {
			lines = append(lines, l)
		}
	}
	if len(lines) != 6 || lines[4]["errorId"] != "ServiceUnavailable" || lines[4]["route"] != "/readyz" || lines[4]["requestId"] != red.text1("error", "diagnosticsId") {
		t.Errorf("log lines %v", lines)
	}
}

type constError string

func (e constError) Error() string { return string(e) }

const errBehindTheLog = constError("the views are behind the log")
