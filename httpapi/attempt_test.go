package httpapi_test

import (
	"strings"
	"sync"
	"testing"

	"payledger/domain"
	attempts "payledger/domain/attempt"
	"payledger/eventstore"
)

// manualSession is someSession with manual approval.
var manualSession = `{"approvalMode":"MANUAL",` + someSession[1:]

// attempt requests a payment with manual approval in the browser, and returns the attempt's id.
func (r *rig) attempt(clientToken, token string) string {
	r.t.Helper()
	return r.want(r.inBrowser(clientToken, "POST", "/payment-attempts", payWith(token)), 202, "").text1("currentAttempt", "id")
}

func (r *rig) decide(id, what, body string) answer {
	r.t.Helper()
	return r.do(request{method: "POST", path: "/payment-attempts/" + id + "/" + what, body: body})
}

// attemptStatus reads an attempt in the browser.
func (r *rig) attemptStatus(clientToken, id string) string {
	r.t.Helper()
	return r.want(r.inBrowser(clientToken, "GET", "/payment-attempts/"+id, ""), 200, "").text1("approvalStatus")
}

// TestApprove: the payment of an approved attempt is made once, from the session, and both sides
// get an answer (§3.3, D5, D12).
func TestApprove(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(manualSession)
	token := r.tokenize(client, goodCard)
	started := r.want(r.inBrowser(client, "POST", "/payment-attempts", payWith(token)), 202, "")
	id := started.text1("currentAttempt", "id")
	if started.text != `{"currentAttempt":{"id":"`+id+`","approvalStatus":"REQUIRES_APPROVAL","paymentMethodToken":"`+token+`"}}` {
		t.Error(started.text)
	}
	if again := r.attempt(client, token); again != id {
		t.Error("a repeat made another attempt:", again)
	}
	if seen := r.want(r.inBrowser(client, "GET", "/payment-attempts/"+id, ""), 200, ""); seen.text != `{"id":"`+id+`","approvalStatus":"REQUIRES_APPROVAL"}` {
		t.Error(seen.text)
	}
	configuration := r.want(r.inBrowser(client, "GET", "/checkout/configuration", ""), 200, "")
	if configuration.text1("session", "currentAttemptId") != id {
		t.Error(configuration.text)
	}
	if len(r.books("")) != 0 {
		t.Error("a processor was asked before the approval")
	}
	for _, body := range []string{"", "{}", "null"} {
		approved := r.want(r.decide(id, "approve", body), 200, "")
		payment := approved.text1("paymentId")
		if approved.text != `{"paymentAttemptId":"`+id+`","paymentId":"`+payment+`"}` {
			t.Error(approved.text)
		}
		paid := r.want(r.get("/payments/"+payment), 200, "")
		if paid.text1("status") != "AUTHORIZED" || paid.field("amount") != 2420.0 || paid.text1("orderId") != "order-1" || paid.text1("customer", "email") != "ada@example.com" {
			t.Error(paid.text)
		}
		seen := r.want(r.inBrowser(client, "GET", "/payment-attempts/"+id, ""), 200, "")
		if seen.text1("approvalStatus") != "APPROVED" || seen.text1("paymentId") != payment {
			t.Error(seen.text)
		}
		r.want(r.inBrowser(client, "GET", "/checkout/payments/"+payment, ""), 200, "")
	}
	if lines := r.books(""); len(lines) != 1 {
		t.Error(lines)
	}
	refused := r.want(r.decide(id, "abort", ""), 409, "PaymentAttemptNotPending")
	if !strings.Contains(refused.text, "APPROVED") {
		t.Error(refused.text)
	}
	r.late.Store(3601) // a completed approval has the same answer at any later time
	r.want(r.decide(id, "approve", ""), 200, "")
}

// TestAbort checks that an aborted attempt makes no payment, and that its token cannot be used
// again (§3.3, D5).
func TestAbort(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(manualSession)
	token := r.tokenize(client, goodCard)
	id := r.attempt(client, token)
	for _, body := range []string{`{"reason":"the items are gone"}`, "", "null"} {
		if a := r.want(r.decide(id, "abort", body), 200, ""); a.text != `{"paymentAttemptId":"`+id+`","approvalStatus":"ABORTED"}` {
			t.Error(a.text)
		}
	}
	r.want(r.decide(id, "approve", ""), 409, "PaymentAttemptNotPending")
	if status := r.attemptStatus(client, id); status != "ABORTED" {
		t.Error(status)
	}
	r.want(r.inBrowser(client, "POST", "/payment-attempts", payWith(token)), 400, "PaymentError")
	r.want(r.pay(payWith(token)), 400, "PaymentError")
	if seen := r.want(r.inBrowser(client, "GET", "/checkout/configuration", ""), 200, ""); seen.field("session", "currentAttemptId") != nil {
		t.Error("an aborted attempt is active:", seen.text)
	}
	next := r.attempt(client, r.tokenize(client, goodCard)) // another card
	r.want(r.decide(next, "approve", ""), 200, "")
	if len(r.books("")) != 1 {
		t.Error(r.books(""))
	}
}

// TestAttemptRefusals checks the errors for unknown attempts, attempts of others, and attempts that
// are over (D3, D5, D12).
func TestAttemptRefusals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	automatic, client, other := r.session(someSession), r.session(manualSession), r.session(manualSession)
	r.want(r.inBrowser(automatic, "POST", "/payment-attempts", payWith(r.tokenize(automatic, goodCard))), 400, "ClientSessionValidationError")
	token := r.tokenize(client, goodCard)
	r.want(r.inBrowser(other, "POST", "/payment-attempts", payWith(token)), 400, "PaymentError")
	r.want(r.inBrowser(client, "POST", "/payment-attempts", payWith("none")), 400, "PaymentError")
	r.want(r.inBrowser(client, "POST", "/payment-attempts", `{}`), 422, "RequestValidationError")
	id, another := r.attempt(client, token), r.otherMerchant()
	r.want(r.inBrowser(other, "GET", "/payment-attempts/"+id, ""), 404, "EntityNotFound")
	r.want(r.inBrowser(client, "GET", "/payment-attempts/none", ""), 404, "EntityNotFound")
	for _, what := range []string{"approve", "abort"} {
		r.want(r.decide("none", what, ""), 404, "EntityNotFound")
		stranger := r.do(request{method: "POST", path: "/payment-attempts/" + id + "/" + what, header: map[string]string{"X-Api-Key": another}})
		r.want(stranger, 404, "EntityNotFound")
		r.want(r.do(request{method: "POST", path: "/payment-attempts/" + id + "/" + what, header: map[string]string{"X-Api-Version": ""}}), 400, "ApiVersionMissing")
		r.want(r.do(request{method: "POST", path: "/payment-attempts/" + id + "/" + what, header: map[string]string{"X-Api-Key": "", "X-Client-Token": client}}), 401, "Unauthorized")
	}
	r.want(r.decide(id, "abort", `{"reason":"`+goodCard+`"}`), 422, "RequestValidationError")
	empty := r.session(`{"approvalMode":"MANUAL"}`)
	lacking := r.attempt(empty, r.tokenize(empty, goodCard))
	refused := r.want(r.decide(lacking, "approve", ""), 422, "RequestValidationError")
	if len(refused.faults()) != 3 || r.attemptStatus(empty, lacking) != "REQUIRES_APPROVAL" {
		t.Error(refused.text)
	}
	r.late.Store(3600)
	r.want(r.inBrowser(client, "GET", "/payment-attempts/"+id, ""), 400, "ClientSessionValidationError")
	expired := r.want(r.decide(id, "approve", ""), 409, "PaymentAttemptNotPending")
	if !strings.Contains(expired.text, "EXPIRED") {
		t.Error(expired.text)
	}
	r.want(r.decide(id, "abort", ""), 200, "") // ends it for good
	if len(r.books("")) != 0 {
		t.Error(r.books(""))
	}
}

// TestSupersededAttempt checks that a session has one active attempt: a new card's attempt replaces
// the waiting one (§2.5).
func TestSupersededAttempt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(manualSession)
	first, second := r.tokenize(client, declinedCard), r.tokenize(client, goodCard)
	one := r.attempt(client, first)
	two := r.attempt(client, second)
	if one == two || r.attemptStatus(client, one) != "ABORTED" || r.attemptStatus(client, two) != "REQUIRES_APPROVAL" {
		t.Error(one, two)
	}
	r.want(r.decide(one, "approve", ""), 409, "PaymentAttemptNotPending")
	r.want(r.decide(two, "approve", ""), 200, "")
	again := r.want(r.inBrowser(client, "POST", "/payment-attempts", payWith(second)), 202, "") // its answer was lost
	if again.text1("currentAttempt", "id") != two || again.text1("currentAttempt", "approvalStatus") != "APPROVED" {
		t.Error(again.text)
	}
	card := payWith(r.tokenize(client, goodCard))
	paid := r.want(r.inBrowser(client, "POST", "/payment-attempts", card), 400, "PaymentError") // once is enough
	r.want(r.post("/payments/"+paid.text1("error", "paymentId")+"/cancel", ""), 200, "")
	retry := r.want(r.inBrowser(client, "POST", "/payment-attempts", card), 202, "").text1("currentAttempt", "id")
	if r.attemptStatus(client, retry) != "REQUIRES_APPROVAL" || r.attemptStatus(client, two) != "APPROVED" {
		t.Error(retry)
	}
}

// TestAttemptsRace checks that of several attempts started at the same time one waits, and the
// others are aborted (§2.5).
func TestAttemptsRace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(manualSession)
	tokens := make([]string, 6)
	for i := range tokens {
		tokens[i] = r.tokenize(client, goodCard)
	}
	ids := make([]string, len(tokens))
	var browsers sync.WaitGroup
	for i, token := range tokens {
		browsers.Go(func() { ids[i] = r.attempt(client, token) })
	}
	browsers.Wait()
	statuses := map[string]int{}
	for _, id := range ids {
		statuses[r.attemptStatus(client, id)]++
	}
	if statuses["REQUIRES_APPROVAL"] != 1 || statuses["ABORTED"] != len(ids)-1 {
		t.Error(statuses)
	}
}

// TestApprovedBeforePaid: between the decision and its payment, as a crash leaves it, the customer
// sees the approval and no payment yet; a repeat of the approval makes it (§3.3, D12).
func TestApprovedBeforePaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(manualSession)
	id := r.attempt(client, r.tokenize(client, goodCard))
	owner := r.account.AccountID
	meta, err := r.store.NewMeta("test", "request")
	must(t, err)
	payment := domain.PaymentIDForAttempt(owner, domain.AttemptID(id))
	_, err = eventstore.Execute(t.Context(), r.store, eventstore.Attempts, eventstore.Attempts.Key(owner, id), meta, func(s attempts.State) (attempts.Event, error) {
		return attempts.DecideApprove(s, attempts.Approve{At: meta.At, Payment: payment, Terms: 2})
	})
	must(t, err)
	if seen := r.want(r.inBrowser(client, "GET", "/payment-attempts/"+id, ""), 200, ""); seen.text != `{"id":"`+id+`","approvalStatus":"APPROVED"}` {
		t.Error(seen.text)
	}
	r.want(r.inBrowser(client, "GET", "/checkout/payments/"+string(payment), ""), 400, "PaymentError")
	if approved := r.want(r.decide(id, "approve", ""), 200, ""); approved.text1("paymentId") != string(payment) {
		t.Error(approved.text)
	}
	if seen := r.want(r.inBrowser(client, "GET", "/payment-attempts/"+id, ""), 200, ""); seen.text1("paymentId") != string(payment) {
		t.Error(seen.text)
	}
}
