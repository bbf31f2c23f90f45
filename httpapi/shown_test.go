package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// twentyFive is a session of €25.00.
const twentyFive = `{"orderId":"o-1","customerId":"customer-7","currencyCode":"EUR","amount":2500}`

// payShown returns the request of a browser that showed its customer a price.
func payShown(token string, amount int, currency string) string {
	return fmt.Sprintf(`{"paymentMethodToken":%q,"amount":%d,"currencyCode":%q}`, token, amount, currency)
}

// TestAmountBehindThePage: a session that was changed behind the page is not charged (D4, D12).
func TestAmountBehindThePage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(twentyFive)
	if _, _, page := r.page("/checkout?clientToken=" + client); !strings.Contains(page, "Pay €25.00") || !strings.Contains(page, `data-amount="2500" data-currency="EUR"`) {
		t.Fatal(page)
	}
	token := r.tokenize(client, goodCard)
	for _, change := range []string{`"amount":990000`, `"amount":2500,"currencyCode":"USD"`} {
		r.want(r.patch(client, change), 200, "")
		refused := r.want(r.inBrowser(client, "POST", "/checkout/payments", payShown(token, 2500, "EUR"), "X-Idempotency-Key", "k"), 409, "AmountChanged")
		if refused.text1("error", "recoverySuggestion") == "" {
			t.Error(refused.text)
		}
	}
	if lines := r.books(""); len(lines) != 0 {
		t.Errorf("the processor was asked: %v", lines)
	}
	paid := r.want(r.inBrowser(client, "POST", "/checkout/payments", payShown(token, 2500, "USD"), "X-Idempotency-Key", "k"), 200, "")
	if p := r.get("/payments/" + paid.text1("id")); p.field("amount") != 2500.0 || p.text1("currencyCode") != "USD" {
		t.Error(p.text)
	}
	r.want(r.patch(client, `"amount":1`), 200, "")
	repeat := r.want(r.inBrowser(client, "POST", "/checkout/payments", payShown(token, 2500, "USD"), "X-Idempotency-Key", "k"), 409, "IdempotencyKeyAlreadyExists")
	if repeat.text1("error", "paymentId") != paid.text1("id") {
		t.Error("a repeat does not find its payment:", repeat.text)
	}
}

// TestAmountWhileItChanges alternates the session's amount while the customer pays. The payment
// must charge only the shown amount, at any moment.
func TestAmountWhileItChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	outcomes := map[int]int{}
	for n := 0; n < 24 || n < 400 && (outcomes[200] == 0 || outcomes[409] == 0); n++ {
		client := r.session(twentyFive)
		token := r.tokenize(client, goodCard)
		var changes sync.WaitGroup
		began, paid := make(chan struct{}), make(chan struct{})
		changes.Go(func() {
			for i := 1; ; i++ {
				r.patch(client, fmt.Sprintf(`"amount":%d`, 2500+100*(i%2)))
				if i == 1+n%4 {
					close(began)
				}
				select {
				case <-paid:
					return
				default:
				}
			}
		})
		<-began
		answer := r.inBrowser(client, "POST", "/checkout/payments", payShown(token, 2500, "EUR"))
		close(paid)
		changes.Wait()
		outcomes[answer.status]++
		if answer.status == 200 && r.get("/payments/"+answer.text1("id")).field("amount") != 2500.0 || answer.status != 200 && answer.errorID() != "AmountChanged" {
			t.Errorf("charged behind the page: %s", answer.text)
		}
	}
	if outcomes[200] == 0 || outcomes[409] == 0 {
		t.Errorf("not both ends were met: %v", outcomes)
	}
	t.Log(outcomes)
}

// TestShownFaults: an amount and its currency, or neither (D12).
func TestShownFaults(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(twentyFive)
	for path, model := range map[string]string{"/checkout/payments": "CheckoutPaymentRequest", "/payment-attempts": "PaymentAttemptRequest"} {
		for body, want := range map[string]string{
			`"amount":2500`:                        "$.currencyCode must be sent with amount",
			`"currencyCode":"EUR"`:                 "$.amount must be sent with currencyCode",
			`"amount":2500,"currencyCode":"eur"`:   "$.currencyCode must be an active ISO 4217 currency code",
			`"amount":-1,"currencyCode":"EUR"`:     "$.amount must be an integer between 0 and 9007199254740991",
			`"amount":"2500","currencyCode":"EUR"`: "$.amount must be an integer between 0 and 9007199254740991, in minor units: 1050 for 10.50 EUR",
		} {
			a := r.want(r.inBrowser(client, "POST", path, `{"paymentMethodToken":"x",`+body+`}`), 422, "RequestValidationError")
			if !slices.Equal(a.faults(), []string{model + " " + want}) {
				t.Errorf("%s %s: %q", path, body, a.faults())
			}
		}
	}
}

// TestAmountBehindTheAttempt checks that neither an attempt nor its approval charges an amount that
// the customer did not see (§3.3, D12).
func TestAmountBehindTheAttempt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(`{"approvalMode":"MANUAL",` + twentyFive[1:])
	token := r.tokenize(client, goodCard)
	r.want(r.inBrowser(client, "POST", "/payment-attempts", payShown(token, 2400, "EUR")), 409, "AmountChanged")
	started := r.want(r.inBrowser(client, "POST", "/payment-attempts", payShown(token, 2500, "EUR")), 202, "")
	id := started.text1("currentAttempt", "id")
	r.want(r.patch(client, `"amount":990000`), 200, "")
	r.want(r.decide(id, "approve", ""), 409, "AmountChanged")
	if seen := r.want(r.inBrowser(client, "GET", "/payment-attempts/"+id, ""), 200, ""); seen.text != `{"id":"`+id+`","approvalStatus":"REQUIRES_APPROVAL","amountChanged":true}` {
		t.Error(seen.text)
	}
	if status := r.attemptStatus(client, id); status != "REQUIRES_APPROVAL" || len(r.books("")) != 0 {
		t.Errorf("the attempt is %s; the processor was asked %d times", status, len(r.books("")))
	}
	r.want(r.patch(client, `"amount":2500`), 200, "")
	approved := r.want(r.decide(id, "approve", ""), 200, "")
	if p := r.get("/payments/" + approved.text1("paymentId")); p.field("amount") != 2500.0 || p.text1("status") != "AUTHORIZED" {
		t.Error(p.text)
	}
	r.want(r.patch(client, `"amount":990000`), 200, "")
	if again := r.want(r.decide(id, "approve", ""), 200, ""); again.text != approved.text {
		t.Errorf("approved again: %s", again.text)
	}
}

// TestAnotherPriceForTheAttempt: who agrees to a new price has a new attempt; the one at the old
// price is no answer to it, and its vaulted card stays (D12).
func TestAnotherPriceForTheAttempt(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	client := r.session(`{"approvalMode":"MANUAL",` + twentyFive[1:])
	token := r.tokenize(client, goodCard)
	start := func(body string) string {
		return r.want(r.inBrowser(client, "POST", "/payment-attempts", body), 202, "").text1("currentAttempt", "id")
	}
	notShown := start(payWith(token))
	first := start(payShown(token, 2500, "EUR"))
	r.want(r.patch(client, `"amount":3000`), 200, "")
	second := start(payShown(token, 3000, "EUR"))
	if notShown == first || first == second || start(payShown(token, 3000, "EUR")) != second || start(payWith(token)) != second {
		t.Error(notShown, first, second)
	}
	approved := r.want(r.decide(second, "approve", ""), 200, "")
	if p := r.get("/payments/" + approved.text1("paymentId")); p.field("amount") != 3000.0 {
		t.Error(p.text)
	}
}

// TestPageOfWhatWasPaid: the page shows the amount that was paid, also after a change of the
// session (D12).
func TestPageOfWhatWasPaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(someSession)
	r.want(r.inBrowser(client, "POST", "/checkout/payments", payWith(r.tokenize(client, goodCard))), 200, "")
	r.want(r.patch(client, `"amount":990000,"orderId":"other","order":{"lineItems":[{"name":"Anvil","amount":990000}]}`), 200, "")
	for range 2 {
		_, _, page := r.page("/checkout?clientToken=" + client)
		for _, want := range []string{"€24.20 to the shop", `Order <span class="id">order-1</span>`, `id="amount">€24.20`} {
			if !strings.Contains(page, want) {
				t.Errorf("the page does not say %q: %s", want, page)
			}
		}
		if strings.Contains(page, "9,900.00") || strings.Contains(page, "Anvil") {
			t.Errorf("the page says that something else was paid: %s", page)
		}
		r.want(r.patch(client, `"amount":null,"order":null`), 200, "") // the session of a paid order may lack anything
	}
}

// TestPageOfManyPayments: however many payments have the same orderId, the page shows its session's
// own (D12).
func TestPageOfManyPayments(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	mine := r.session(twentyFive)
	paid := r.want(r.inBrowser(mine, "POST", "/checkout/payments", payWith(r.tokenize(mine, goodCard))), 200, "")
	others := 104
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range others / 8 {
				other := r.session(twentyFive)
				r.want(r.inBrowser(other, "POST", "/checkout/payments", payWith(r.tokenize(other, goodCard))), 200, "")
			}
		})
	}
	running.Wait()
	if _, _, page := r.page("/checkout?clientToken=" + mine); !strings.Contains(page, `data-payment="`+paid.text1("id")+`"`) {
		t.Errorf("the form is there again after %d payments of other sessions", others)
	}
}

// TestShopsName: customers read the name of the settings, as text (D12, D20).
func TestShopsName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(`{"approvalMode":"MANUAL",` + twentyFive[1:])
	shown := func() string {
		t.Helper()
		status, _, page := r.page("/checkout?clientToken=" + client)
		if status != http.StatusOK {
			t.Fatal(status, page)
		}
		return page
	}
	if page := shown(); !strings.Contains(page, `id="merchant">The shop</p>`) || !strings.Contains(page, "Waiting for the shop") {
		t.Error(page)
	}
	r.want(r.manage("PATCH", "/settings", `{"displayName":"kiosk <b>7</b>"}`), 200, "")
	page := shown()
	for _, want := range []string{`id="merchant">kiosk &lt;b&gt;7&lt;/b&gt;</p>`, "Waiting for kiosk &lt;b&gt;", "<p>kiosk &lt;b&gt;7&lt;/b&gt; confirms each payment", "<title>Pay €25.00 · kiosk &lt;b&gt;"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q: %s", want, page)
		}
	}
	if strings.Contains(page, "<b>") || strings.Contains(page, "he shop") {
		t.Error(page)
	}
}
