package httpapi_test

import (
	"strings"
	"sync"
	"testing"
)

// inBrowser makes a call of the customer's browser.
func (r *rig) inBrowser(clientToken, method, path, body string, header ...string) answer {
	r.t.Helper()
	q := request{method: method, path: path, body: body, header: map[string]string{
		"X-Api-Key": "", "X-Api-Version": "", "X-Client-Token": clientToken,
	}}
	for i := 0; i+1 < len(header); i += 2 {
		q.header[header[i]] = header[i+1]
	}
	return r.do(q)
}

// TestConfiguration checks that the configuration has the values that a checkout page needs (D12).
func TestConfiguration(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(someSession)
	a := r.want(r.inBrowser(client, "GET", "/checkout/configuration", ""), 200, "")
	if a.field("session", "amount") != 2420.0 || a.text1("session", "currencyCode") != "EUR" || a.text1("session", "approvalMode") != "AUTO" ||
		a.text1("session", "customer", "email") != "ada@example.com" || a.text1("env") != "SANDBOX" || a.text1("coreUrl") != "https://pay.example" {
		t.Error(a.text)
	}
	if !strings.Contains(a.text, `"paymentMethods":[{"type":"PAYMENT_CARD"}],"vaultedPaymentMethods":[],"captureVaultedCardCvv":false`) || strings.Contains(a.text, client) {
		t.Error(a.text)
	}
	r.want(r.do(request{method: "GET", path: "/checkout/configuration"}), 401, "Unauthorized")
	r.want(r.inBrowser("nonsense.x.y", "GET", "/checkout/configuration", ""), 400, "ClientSessionValidationError")
	r.late.Store(3601)
	r.want(r.inBrowser(client, "GET", "/checkout/configuration", ""), 400, "ClientSessionValidationError")
}

// TestPayInCheckout checks that the browser pays the amount of the session, sees only id and
// status, and only payments of its session (D12).
func TestPayInCheckout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client, other := r.session(someSession), r.session(someSession)
	token := r.tokenize(client, goodCard)
	r.want(r.inBrowser(other, "POST", "/checkout/payments", payWith(token)), 400, "PaymentError")
	made := r.want(r.inBrowser(client, "POST", "/checkout/payments", payWith(token)), 200, "")
	id := made.text1("id")
	if made.text != `{"id":"`+id+`","status":"AUTHORIZED"}` {
		t.Error(made.text)
	}
	whole := r.want(r.get("/payments/"+id), 200, "")
	if whole.field("amount") != 2420.0 || whole.text1("orderId") != "order-1" || whole.text1("customerId") != "customer-7" {
		t.Error(whole.text)
	}
	again := r.want(r.inBrowser(client, "POST", "/checkout/payments", payWith(token)), 400, "PaymentError")
	if again.text1("error", "paymentId") != id || again.text1("error", "paymentStatus") != "AUTHORIZED" {
		t.Error("the repeat does not name its payment:", again.text)
	}
	stranger := r.want(r.inBrowser(other, "POST", "/checkout/payments", payWith(token)), 400, "PaymentError")
	if stranger.field("error", "paymentId") != nil {
		t.Error("a stranger sees the payment:", stranger.text)
	}
	if read := r.want(r.inBrowser(client, "GET", "/checkout/payments/"+id, ""), 200, ""); read.text != made.text {
		t.Error(read.text)
	}
	r.want(r.inBrowser(other, "GET", "/checkout/payments/"+id, ""), 400, "PaymentError")
	r.want(r.inBrowser(client, "GET", "/checkout/payments/none", ""), 400, "PaymentError")
	r.want(r.inBrowser(client, "POST", "/checkout/payments", `{"paymentMethodToken":"x","amount":1}`), 422, "RequestValidationError")
	third := r.session(someSession)
	declined := r.want(r.inBrowser(third, "POST", "/checkout/payments", payWith(r.tokenize(third, declinedCard))), 200, "")
	if declined.text1("status") != "DECLINED" || len(r.books(declined.text1("id"))) != 1 {
		t.Error(declined.text)
	}
	manual := r.session(`{"approvalMode":"MANUAL",` + someSession[1:])
	r.want(r.inBrowser(manual, "POST", "/checkout/payments", payWith(r.tokenize(manual, goodCard))), 400, "PaymentError")
	empty := r.session(`{}`)
	lacking := r.want(r.inBrowser(empty, "POST", "/checkout/payments", payWith(r.tokenize(empty, goodCard))), 422, "RequestValidationError")
	if len(lacking.faults()) != 3 || lacking.text1("error", "description") != "Missing fields for payment." {
		t.Error(lacking.text)
	}
}

// TestClickStorm checks that one token pays once, however many requests the browser sends at the
// same time. Every other answer names the payment (D5, D12).
func TestClickStorm(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(someSession)
	token := r.tokenize(client, goodCard)
	answers := make([]answer, 30)
	var clicks sync.WaitGroup
	for i := range answers {
		clicks.Go(func() { answers[i] = r.inBrowser(client, "POST", "/checkout/payments", payWith(token)) })
	}
	clicks.Wait()
	made, ids := 0, map[string]bool{}
	for _, a := range answers {
		switch {
		case a.status == 200:
			made++
			ids[a.text1("id")] = true
		case a.status == 400 && a.errorID() == "PaymentError":
			ids[a.text1("error", "paymentId")] = true
		default:
			t.Error(a.status, a.text)
		}
	}
	if made != 1 || len(ids) != 1 || len(r.books("")) != 1 {
		t.Errorf("%d payments made, ids %v, %d operations in the books", made, ids, len(r.books("")))
	}
}

// TestTabs checks that a session has at most one active payment, whichever card another tab pays
// with, at the same time or later. After a failed payment the session accepts another (§2.5, D12).
func TestTabs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(someSession)
	declined := r.want(r.inBrowser(client, "POST", "/checkout/payments", payWith(r.tokenize(client, declinedCard))), 200, "")
	answers, tokens := make([]answer, 8), make([]string, 8)
	for i := range tokens {
		tokens[i] = r.tokenize(client, goodCard)
	}
	var tabs sync.WaitGroup
	for i, token := range tokens {
		tabs.Go(func() { answers[i] = r.inBrowser(client, "POST", "/checkout/payments", payWith(token)) })
	}
	tabs.Wait()
	var paid string
	for _, a := range answers {
		switch {
		case a.status == 200 && paid == "":
			paid = a.text1("id")
		case a.status != 400 || a.errorID() != "PaymentError":
			t.Error(a.status, a.text)
		}
	}
	later := r.want(r.inBrowser(client, "POST", "/checkout/payments", payWith(r.tokenize(client, goodCard)), "X-Idempotency-Key", "another"), 400, "PaymentError")
	if later.text1("error", "paymentId") != paid || later.text1("error", "paymentStatus") != "AUTHORIZED" {
		t.Error("another card does not see the payment:", later.text)
	}
	again := r.inBrowser(client, "POST", "/checkout/payments", payWith(tokens[0]))
	if again.status != 400 || paid == "" || len(r.books("")) != 2 || declined.text1("status") != "DECLINED" {
		t.Error(again.text, paid, r.books(""))
	}
}

// TestCheckoutKeys: a browser's idempotency key is its session's own, never the merchant's (D9,
// D12).
func TestCheckoutKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const key = "X-Idempotency-Key"
	one, two := r.session(someSession), r.session(someSession)
	merchants := r.want(r.pay(payWith(r.tokenize(one, goodCard)), key, "k"), 200, "").text1("id")
	first := r.want(r.inBrowser(one, "POST", "/checkout/payments", payWith(r.tokenize(one, goodCard)), key, "k"), 200, "").text1("id")
	repeat := r.want(r.inBrowser(one, "POST", "/checkout/payments", payWith(r.tokenize(one, goodCard)), key, "k"), 409, "IdempotencyKeyAlreadyExists")
	other := r.want(r.inBrowser(two, "POST", "/checkout/payments", payWith(r.tokenize(two, goodCard)), key, "k"), 200, "").text1("id")
	if repeat.text1("error", "paymentId") != first || merchants == first || first == other || merchants == other {
		t.Error(merchants, first, other, repeat.text)
	}
	r.want(r.inBrowser(one, "POST", "/checkout/payments", payWith("x"), key, "a b"), 422, "RequestValidationError")
}

// TestResumeInCheckout: the customer's action goes round in the browser alone (D12).
func TestResumeInCheckout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for outcome, status := range map[string]string{"AUTHENTICATED": "AUTHORIZED", "FAILED": "DECLINED"} {
		client, other := r.session(someSession), r.session(someSession)
		made := r.want(r.inBrowser(client, "POST", "/checkout/payments", payWith(r.tokenize(client, challengedCard))), 200, "")
		at := "/checkout/payments/" + made.text1("id")
		if made.text1("status") != "PENDING" || made.text1("requiredAction", "name") != "3DS_AUTHENTICATION" {
			t.Fatal(made.text)
		}
		if seen := r.want(r.inBrowser(client, "GET", at, ""), 200, ""); seen.text != made.text {
			t.Error(seen.text)
		}
		resume := `{"resumeToken":"` + r.want(r.complete(made.text1("requiredAction", "clientToken"), outcome), 200, "").text1("resumeToken") + `"}`
		r.want(r.inBrowser(other, "POST", at+"/resume", resume), 400, "PaymentError")
		r.want(r.inBrowser(client, "POST", at+"/resume", `{"resumeToken":"x"}`), 422, "RequestValidationError")
		done := r.want(r.inBrowser(client, "POST", at+"/resume", resume), 200, "")
		if done.text1("status") != status || done.field("requiredAction") != nil {
			t.Error(done.text)
		}
		r.want(r.inBrowser(client, "POST", at+"/resume", resume), 400, "InvalidPaymentStatus")
	}
}
