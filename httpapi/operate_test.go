package httpapi_test

import (
	"slices"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore/eventstoretest"
	"payledger/processorsim/protocol"
)

// post makes a merchant's call; header contains alternating names and values.
func (r *rig) post(path, body string, header ...string) answer {
	r.t.Helper()
	q := request{method: "POST", path: path, body: body, header: map[string]string{}}
	for i := 0; i < len(header); i += 2 {
		q.header[header[i]] = header[i+1]
	}
	return r.do(q)
}

// paid makes a payment of 2420 EUR with a card and returns its path; more is added to the request.
func (r *rig) paid(card, more string) string {
	r.t.Helper()
	body := strings.TrimSuffix(payWith(r.tokenize(r.session(someSession), card)), "}") + more + "}"
	return "/payments/" + r.want(r.pay(body), 200, "").text1("id")
}

// events returns the transaction events of an expanded answer, those of the sale before those of
// the refunds.
func (a answer) events() (out []map[string]any) {
	transactions, _ := a.field("transactions").([]any)
	for _, transaction := range transactions {
		events, _ := transaction.(map[string]any)["events"].([]any)
		for _, e := range events {
			out = append(out, e.(map[string]any))
		}
	}
	return out
}

// types are the types of events.
func types(events []map[string]any) (out []string) {
	for _, e := range events {
		out = append(out, e["type"].(string))
	}
	return out
}

const (
	expanded = `"expand":["transactions.events"]`
	events   = "?expand=transactions.events"
)

// TestCaptureAndRefund: in parts, expanded, targeted, until nothing is left (§4, D7, D10).
func TestCaptureAndRefund(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.paid(goodCard, "")
	part := r.want(r.post(at+"/capture", `{"amount":1e3,"final":false,"metadata":{"parcel":1.0,"shop":"south"},`+expanded+`}`), 200, "")
	if part.text1("status") != "PARTIALLY_SETTLED" || part.field("processor", "amountCaptured") != 1000.0 ||
		part.field("metadata", "parcel") != 1.0 || part.text1("metadata", "shop") != "south" || part.field("metadata", "gift") != true {
		t.Errorf("captured in part: %s", part.text)
	}
	if got := types(part.events()); !slices.Equal(got, []string{"AUTHORIZATION_SUCCEEDED", "CAPTURE_SUCCEEDED"}) {
		t.Fatalf("events %q", got)
	}
	if read := r.want(r.get(at+events), 200, ""); read.text != part.text {
		t.Errorf("read back\n%s\nanswered\n%s", read.text, part.text)
	}
	target := part.events()[1]["id"].(string)
	rest := r.want(r.post(at+"/capture", ""), 200, "")
	if rest.text1("status") != "SETTLED" || rest.field("processor", "amountCaptured") != 2420.0 || strings.Contains(rest.text, `"events"`) {
		t.Errorf("captured the rest: %s", rest.text)
	}
	above := r.want(r.post(at+"/refund", `{"amount":1001,"transactionEventId":"`+target+`"}`), 422, "UnprocessableRefundAmount")
	if above.text1("error", "paymentStatus") != "SETTLED" || !strings.HasSuffix(at, above.text1("error", "paymentId")) {
		t.Errorf("above what is left: %s", above.text)
	}
	back := r.want(r.post(at+"/refund", `{"transactionEventId":"`+target+`","orderId":"return-1","reason":"damaged",`+expanded+`}`), 200, "")
	refunded := back.field("transactions").([]any)[1].(map[string]any)
	if back.field("processor", "amountRefunded") != 1000.0 || refunded["type"] != "REFUND" || refunded["orderId"] != "return-1" || refunded["reason"] != "damaged" || refunded["amount"] != 1000.0 {
		t.Errorf("refunded one capture: %s", back.text)
	}
	wrong := r.want(r.post(at+"/refund", `{"transactionEventId":"3f2b8c1e-7a64-4b0e-9d51-0c8f2a6e4b17"}`), 422, "RequestValidationError")
	if got := wrong.faults(); !slices.Equal(got, []string{"PaymentRefund $.transactionEventId must be the transactionEventId of a capture of this payment"}) {
		t.Errorf("faults %q", got)
	}
	if all := r.want(r.post(at+"/refund", "null"), 200, ""); all.field("processor", "amountRefunded") != 2420.0 || all.text1("status") != "SETTLED" {
		t.Errorf("refunded the rest: %s", all.text)
	}
	r.want(r.post(at+"/refund", "{}"), 409, "PaymentAlreadyRefunded")
	r.want(r.post(at+"/capture", ""), 400, "InvalidPaymentStatus")
}

// TestEmptyBodies: nothing, null and {} take all that is left (D1, D10).
func TestEmptyBodies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, body := range []string{"", "null", "{}"} {
		at := r.paid(goodCard, "")
		captured := r.want(r.post(at+"/capture", body), 200, "")
		if captured.text1("status") != "SETTLED" || captured.field("processor", "amountCaptured") != 2420.0 {
			t.Errorf("capture with %q: %s", body, captured.text)
		}
		if back := r.want(r.post(at+"/refund", body), 200, ""); back.field("processor", "amountRefunded") != 2420.0 {
			t.Errorf("refund with %q: %s", body, back.text)
		}
		if gone := r.want(r.post(r.paid(goodCard, "")+"/cancel", body), 200, ""); gone.text1("status") != "CANCELLED" {
			t.Errorf("cancel with %q: %s", body, gone.text)
		}
	}
	for _, body := range []string{"", "null"} {
		r.want(r.post("/payments/x/resume", body), 400, "MalformedJson")
		r.want(r.post("/payments/x/adjust-authorization", body), 400, "MalformedJson")
		r.want(r.post("/payments", body), 400, "MalformedJson")
	}
}

// TestProcessorRefuses checks that a refusal by the processor is answered 200 with the unchanged
// payment (D7, D13). A settled payment is the exception.
func TestProcessorRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	void := r.paid("4000000000005159", "") // D13: every cancel fails at the processor
	at := r.paid(goodCard, `,"paymentMethod":{"authorizationType":"ESTIMATED"}`)
	refuse := func(kind processor.Kind, path, body, status, event string) {
		t.Helper()
		once := 1
		if kind != processor.Void {
			must(t, r.sim.SetFault(t.Context(), protocol.Fault{Operation: kind, Mode: protocol.TechnicalError, Count: &once}))
		}
		refused := r.want(r.post(path, body), 200, "")
		events := r.want(r.get(path[:strings.LastIndex(path, "/")]+events), 200, "").events()
		newest := slices.MaxFunc(events, func(a, b map[string]any) int { return strings.Compare(a["date"].(string), b["date"].(string)) })
		if refused.text1("status") != status || newest["type"] != event || newest["reason"] == nil || refused.field("statusReason") != nil {
			t.Errorf("%s: %s, %v", path, refused.text, newest)
		}
	}
	refuse(processor.Void, void+"/cancel", "", "AUTHORIZED", "CANCELLATION_FAILED")
	refuse(processor.Adjust, at+"/adjust-authorization", `{"amount":3000}`, "AUTHORIZED", "AUTHORIZATION_ADJUSTMENT_FAILED")
	refuse(processor.Capture, at+"/capture", "", "AUTHORIZED", "CAPTURE_FAILED")
	r.want(r.post(at+"/capture", ""), 200, "")
	refuse(processor.Refund, at+"/refund", "", "SETTLED", "REFUND_FAILED")
	settled := r.want(r.post(at+"/cancel", `{"reason":"too late"}`), 400, "InvalidPaymentStatus")
	if settled.text1("error", "paymentStatus") != "SETTLED" || !strings.HasSuffix(at, settled.text1("error", "paymentId")) {
		t.Errorf("cancelled a settled payment: %s", settled.text)
	}
	held := r.paid(goodCard, "")
	above := r.want(r.post(held+"/capture", `{"amount":2421}`), 422, "RequestValidationError")
	if got := above.faults(); len(got) != 1 || !strings.HasPrefix(got[0], "PaymentCapture $.amount ") {
		t.Errorf("above the authorization: %s", above.text)
	}
	if got := types(r.get(held + events).events()); !slices.Equal(got, []string{"AUTHORIZATION_SUCCEEDED", "CAPTURE_FAILED"}) {
		t.Errorf("an attempt that our books refuse: %q", got)
	}
}

// TestAdjustAuthorization: ESTIMATED payments, the new total (D10).
func TestAdjustAuthorization(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const adjust = "/adjust-authorization"
	at := r.paid(goodCard, `,"paymentMethod":{"authorizationType":"ESTIMATED"}`)
	for _, total := range []string{"3000", "3000", "1000"} {
		adjusted := r.want(r.post(at+adjust, `{"amount":`+total+`}`), 200, "")
		if adjusted.text1("status") != "AUTHORIZED" || !strings.Contains(adjusted.text, `"amount":`+total) {
			t.Errorf("adjusted to %s: %s", total, adjusted.text)
		}
	}
	if captured := r.want(r.post(at+"/capture", ""), 200, ""); captured.field("processor", "amountCaptured") != 1000.0 {
		t.Errorf("captured %s", captured.text)
	}
	r.want(r.post(at+adjust, `{"amount":3000}`), 400, "InvalidPaymentStatus")
	r.want(r.post(r.paid(goodCard, "")+adjust, `{"amount":3000}`), 400, "IncorrectPaymentAuthorizationType")
	waiting := r.paid(challengedCard, `,"paymentMethod":{"authorizationType":"ESTIMATED"}`)
	r.want(r.post(waiting+adjust, `{"amount":3000}`), 400, "PaymentIsNotAuthorizedYet")
}

// operations are the later calls on a payment, with a valid body, their scope, and their error for
// an unknown payment.
var operations = []struct {
	call, body, scope string
	status            int
	errorID           string
}{
	{"/resume", `{"resumeToken":"t"}`, account.ScopeTransactionsAuthorize, 400, "PaymentError"},
	{"/cancel", `{}`, account.ScopeTransactionsCancel, 400, "PaymentError"},
	{"/capture", `{}`, account.ScopeTransactionsCapture, 400, "PaymentError"},
	{"/refund", `{}`, account.ScopeTransactionsRefund, 400, "PaymentError"},
	{"/adjust-authorization", `{"amount":1}`, account.ScopeTransactionsAuthorize, 404, "EntityNotFound"},
}

// TestOperationGuards: authentication → version → scope → path → JSON → body validation → payment
// known → idempotency key → status (D3), for every call on a payment. Each request is wrong in
// everything from its row on.
func TestOperationGuards(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	used := "/payments/" + r.want(r.pay(payWith(r.tokenize(r.session(someSession), declinedCard)), "X-Idempotency-Key", "used"), 200, "").text1("id")
	before := r.events()
	for _, o := range operations {
		others := slices.DeleteFunc(slices.Clone(account.Scopes), func(s string) bool { return s == o.scope })
		poor := r.keyWith(others...)
		before++ // the key
		for _, c := range []struct {
			name, apiKey, version, at, query, body, key string
			status                                      int
			errorID                                     string
		}{
			{"no key", "", "", "/payments/none", "?x=1", "{", "a b", 401, "Unauthorized"},
			{"no version", poor, "", "/payments/none", "?x=1", "{", "a b", 400, "ApiVersionMissing"},
			{"no scope", poor, "2.4", "/payments/none", "?x=1", "{", "a b", 403, "MissingScope"},
			{"no JSON", r.account.APIKey, "2.4", "/payments/none", "?x=1", "{", "a b", 400, "MalformedJson"},
			{"an unknown field", r.account.APIKey, "2.4", "/payments/none", "", `{"x":1}`, "a b", 422, "RequestValidationError"},
			{"an unknown parameter", r.account.APIKey, "2.4", "/payments/none", events, o.body, "a b", 422, "RequestValidationError"},
			{"an unknown payment", r.account.APIKey, "2.4", "/payments/none", "", o.body, "a b", o.status, o.errorID},
			{"an unknown payment, a used key", r.account.APIKey, "2.4", "/payments/none", "", o.body, "used", o.status, o.errorID},
			{"a malformed key", r.account.APIKey, "2.4", used, "", o.body, "a b", 422, "RequestValidationError"},
			{"a used key", r.account.APIKey, "2.4", used, "", o.body, "used", 409, "IdempotencyKeyAlreadyExists"},
			{"a declined payment", r.account.APIKey, "2.4", used, "", o.body, "new", 400, "InvalidPaymentStatus"},
		} {
			a := r.post(c.at+o.call+c.query, c.body, "X-Api-Key", c.apiKey, "X-Api-Version", c.version, "X-Idempotency-Key", c.key)
			if a.status != c.status || a.errorID() != c.errorID {
				t.Errorf("%s: %s: %d %s, want %d %s", o.call, c.name, a.status, a.text, c.status, c.errorID)
			}
			if onHeaders := len(a.faults()) > 0 && strings.HasPrefix(a.faults()[0], "Headers "); onHeaders != (c.name == "a malformed key") {
				t.Errorf("%s: %s: %q", o.call, c.name, a.faults())
			}
		}
	}
	if after := r.events(); after != before {
		t.Errorf("refused requests left %d events", after-before)
	}
}

// TestUnknownPayments checks that any unknown id in the path, and payments of others, are not found
// (D3).
func TestUnknownPayments(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	theirs, other := r.paid(goodCard, ""), r.otherMerchant()
	for _, o := range operations {
		for _, id := range []string{"01abc", "*", "%3E", "a.b", "%20", goodCard, strings.Repeat("x", 5000)} {
			r.want(r.post("/payments/"+id+o.call, o.body), o.status, o.errorID)
			r.want(r.post("/payments/"+id+o.call, o.body, "X-Idempotency-Key", "k"), o.status, o.errorID)
		}
		r.want(r.post(theirs+o.call, o.body, "X-Api-Key", other), o.status, o.errorID)
		r.want(r.post(theirs+o.call, o.body, "X-Api-Key", other, "X-Idempotency-Key", "a b"), o.status, o.errorID)
		r.want(r.do(request{method: "GET", path: theirs + o.call}), 405, "MethodNotAllowed")
	}
	if read := r.want(r.get(theirs), 200, ""); read.text1("status") != "AUTHORIZED" {
		t.Errorf("another merchant changed it: %s", read.text)
	}
}

// TestOperationKeys: one key, one operation, over all calls (D9).
func TestOperationKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const key = "X-Idempotency-Key"
	at, other := r.paid(goodCard, ""), r.paid(goodCard, "")
	r.want(r.post(at+"/capture", `{"amount":100,"final":false}`, key, "once"), 200, "")
	for _, again := range []string{at + "/capture", at + "/refund", at + "/cancel", other + "/capture"} {
		a := r.want(r.post(again, `{}`, key, "once"), 409, "IdempotencyKeyAlreadyExists")
		if !strings.HasSuffix(at, a.text1("error", "paymentId")) || a.text1("error", "paymentStatus") != "PARTIALLY_SETTLED" || a.text1("error", "recoverySuggestion") == "" {
			t.Errorf("%s: %s", again, a.text)
		}
	}
	r.want(r.pay(payWith(r.tokenize(r.session(someSession), goodCard)), key, "once"), 409, "IdempotencyKeyAlreadyExists")
	claim := "/payments/" + string(domain.PaymentIDForKey(r.account.AccountID, "once")) // the stream that records the key; not a payment
	for _, o := range operations {
		r.want(r.post(claim+o.call, o.body), o.status, o.errorID)
		r.want(r.post(claim+o.call, o.body, key, "a b"), o.status, o.errorID)
	}
	r.want(r.get(claim), 400, "PaymentError")
	r.want(r.get(claim+"/events"), 400, "PaymentError")
	r.want(r.post(at+"/capture", `{"amount":0}`, key, "kept"), 422, "RequestValidationError")
	r.want(r.post(other+"/refund", ``, key, "kept"), 400, "InvalidPaymentStatus")
	r.want(r.post(at+"/capture", `{"amount":9999}`, key, "spent"), 422, "RequestValidationError") // an attempt, recorded (D7)
	r.want(r.post(at+"/capture", `{"amount":1}`, key, "spent"), 409, "IdempotencyKeyAlreadyExists")
	if read := r.want(r.post(at+"/capture", `{"amount":20,"final":false}`, key, "kept"), 200, ""); read.field("processor", "amountCaptured") != 120.0 {
		t.Errorf("captured %s", read.text)
	}
	if lines := r.books(strings.TrimPrefix(at, "/payments/")); len(lines) != 3 {
		t.Errorf("the processor's books have %d lines", len(lines))
	}
}

// TestOperationTimeout checks that an operation returns the current payment at the payment timeout,
// and continues without the caller (D8).
func TestOperationTimeout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.paid(goodCard, "")
	r.atTimeout(operationAt{kind: processor.Capture})
	late := r.want(r.post(at+"/capture", ""), 200, "")
	if late.text1("status") != "AUTHORIZED" || late.text1("statusReason", "type") != "GATEWAY_TIMEOUT" || late.field("processor", "amountCaptured") != 0.0 {
		t.Errorf("not known in time: %s", late.text)
	}
	r.cut.Store(nil)
	if done := r.until(at, "status", "SETTLED"); done.field("statusReason") != nil || done.field("processor", "amountCaptured") != 2420.0 {
		t.Errorf("in the end: %s", done.text)
	}
	if lines := r.books(strings.TrimPrefix(at, "/payments/")); len(lines) != 2 {
		t.Errorf("the processor's books have %d lines", len(lines))
	}
}
