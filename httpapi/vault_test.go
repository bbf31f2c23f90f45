package httpapi_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/eventstore/eventstoretest"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
)

// vault keeps a token for a customer.
func (r *rig) vault(token, body string) answer {
	r.t.Helper()
	return r.post("/payment-instruments/"+token+"/vault", body)
}

// keptFor lists the tokens of a customer's vaulted instruments, the default one marked.
func (r *rig) keptFor(customer string) (tokens []string) {
	r.t.Helper()
	for _, one := range r.want(r.get("/payment-instruments?customer_id="+customer), 200, "").field("data").([]any) {
		instrument := one.(map[string]any)
		token := instrument["token"].(string)
		if instrument["default"] == true {
			token += " default"
		}
		tokens = append(tokens, token)
	}
	return tokens
}

const (
	guestSession = `{"orderId":"order-1","currencyCode":"EUR","amount":1000}`
	ofCustomer7  = `{"customerId":"customer-7"}`
)

// repeatedly returns a merchant's request to pay with a vaulted token (§4 rule 3).
func repeatedly(token string) string {
	return `{"paymentMethodToken":"` + token + `","amount":700,"currencyCode":"EUR","customerId":"customer-7","orderId":"order-9"}`
}

// TestVault checks that a token is vaulted for a customer, listed, made the default, and deleted
// (D5).
func TestVault(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	one, two := r.tokenize(r.session(someSession), goodCard), r.tokenize(r.session(guestSession), "5555555555554444")
	kept := r.want(r.vault(one, ofCustomer7), 200, "")
	if kept.text1("token") != one || kept.text1("tokenType") != "MULTI_USE" || kept.text1("customerId") != "customer-7" || kept.field("isVaulted") != true ||
		kept.field("isVerified") != false || kept.field("default") != false || kept.field("deleted") != false || kept.field("deletedAt") != nil ||
		kept.text1("paymentMethodData", "last4Digits") != "1111" || kept.text1("paymentMethodData", "cardholderName") != "Ada Lovelace" {
		t.Error(kept.text)
	}
	before := r.events()
	if again := r.want(r.vault(one, `{"customerId":"customer-7","verify":true}`), 200, ""); again.text != kept.text || r.events() != before {
		t.Error("vaulted again:", again.text)
	}
	r.want(r.vault(two, ofCustomer7), 200, "")
	if got := r.keptFor("customer-7"); !slices.Equal(got, []string{one, two}) {
		t.Error(got)
	}
	if got := r.keptFor("customer-8"); len(got) != 0 {
		t.Error(got)
	}
	for _, token := range []string{one, two} {
		if made := r.want(r.post("/payment-instruments/"+token+"/default", ""), 200, ""); made.field("default") != true {
			t.Error(made.text)
		}
	}
	if got := r.keptFor("customer-7"); !slices.Equal(got, []string{one, two + " default"}) {
		t.Error(got)
	}
	remove := func(token string) answer {
		return r.do(request{method: "DELETE", path: "/payment-instruments/" + token})
	}
	gone := r.want(remove(two), 200, "")
	if gone.field("deleted") != true || gone.text1("deletedAt") == "" || gone.field("isVaulted") != false || gone.field("default") != false {
		t.Error(gone.text)
	}
	if again := r.want(remove(two), 200, ""); again.text != gone.text {
		t.Error(again.text)
	}
	if got := r.keptFor("customer-7"); !slices.Equal(got, []string{one + " default"}) { // the earlier default
		t.Error(got)
	}
	for name, a := range map[string]answer{
		"delete unknown": remove("none"), "delete of a single use": remove(r.tokenize(r.session(someSession), goodCard)),
		"default of a deleted": r.post("/payment-instruments/"+two+"/default", ""), "default of unknown": r.post("/payment-instruments/none/default", ""),
		"vault of a deleted": r.vault(two, ofCustomer7), "vault of unknown": r.vault("none", ofCustomer7),
		"another merchant's": r.do(request{method: "DELETE", path: "/payment-instruments/" + one, header: map[string]string{"X-Api-Key": r.otherMerchant()}}),
	} {
		if a.status != 400 || a.errorID() != "InvalidPaymentInstrumentToken" {
			t.Errorf("%s: %d %s", name, a.status, a.text)
		}
	}
	r.want(r.pay(repeatedly(two)), 400, "PaymentError")
}

// TestVaultRefusals checks which tokens cannot be vaulted (D3, D5).
func TestVaultRefusals(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	token, used, guest := r.tokenize(r.session(someSession), goodCard), r.tokenize(r.session(someSession), goodCard), r.tokenize(r.session(guestSession), goodCard)
	r.want(r.pay(payWith(used)), 200, "")
	r.want(r.vault(used, ofCustomer7), 400, "InvalidPaymentInstrumentToken")
	for body, fault := range map[string]string{
		`{}`:                       "$.customerId is required",
		`{"customerId":"other"}`:   "$.customerId must be the customer to whom the token belongs",
		`{"customerId":""}`:        "$.customerId must not be empty",
		`{"customerId":5}`:         "$.customerId must be a string",
		`{"customerId":"c","x":1}`: "$.x is not a known field",
	} {
		if a := r.want(r.vault(token, body), 422, "RequestValidationError"); !strings.HasSuffix(a.faults()[0], fault) {
			t.Errorf("%s: %s", body, a.faults())
		}
	}
	r.want(r.vault(guest, ofCustomer7), 200, "")
	r.want(r.vault(guest, `{"customerId":"customer-8"}`), 422, "RequestValidationError")
	r.want(r.get("/payment-instruments"), 422, "RequestValidationError")
	flow := `{"paymentInstrument":{"number":"` + goodCard + `","cvv":"737","expirationMonth":"03","expirationYear":"` + expires + `"},"paymentFlow":"VAULT"`
	r.want(r.browser(r.session(guestSession), flow+`}`), 422, "RequestValidationError")
	r.want(r.browser(r.session(someSession), flow+`,"tokenType":"SINGLE_USE"}`), 422, "RequestValidationError")
	r.late.Store(3600)
	r.want(r.vault(token, ofCustomer7), 400, "InvalidPaymentInstrumentToken")
}

// TestVaultedPayments checks that a vaulted token pays repeatedly, with all fields that §4 rule 3
// requires.
func TestVaultedPayments(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	token := r.tokenize(r.session(someSession), goodCard)
	r.want(r.vault(token, ofCustomer7), 200, "")
	if lacking := r.want(r.pay(payWith(token)), 422, "RequestValidationError"); len(lacking.faults()) != 4 || lacking.text1("error", "description") != "Missing fields for payment." {
		t.Error(lacking.text)
	}
	for name := range map[string]bool{"amount": true, "currencyCode": true, "customerId": true, "orderId": true} {
		body := strings.Replace(repeatedly(token), `"`+name+`"`, `"descriptor`+`"`, 1)
		body = strings.Replace(body, `,"descriptor":700`, "", 1)
		for _, value := range []string{`"EUR"`, `"customer-7"`, `"order-9"`} {
			body = strings.Replace(body, `,"descriptor":`+value, "", 1)
		}
		if a := r.want(r.pay(body), 422, "RequestValidationError"); !slices.Equal(a.faults(), []string{"PaymentCreation $." + name + " is required in the request or in the client session"}) {
			t.Error(name, a.faults())
		}
	}
	other := r.want(r.pay(strings.Replace(repeatedly(token), "customer-7", "customer-8", 1)), 400, "PaymentError")
	if !strings.Contains(other.text, "customerId") {
		t.Error(other.text)
	}
	ids := map[string]bool{}
	for range 3 {
		paid := r.want(r.pay(repeatedly(token)), 200, "")
		if paid.text1("status") != "AUTHORIZED" || paid.field("paymentMethod", "isVaulted") != true || paid.field("amount") != 700.0 ||
			paid.text1("paymentMethod", "paymentMethodData", "cardholderName") != "Ada Lovelace" {
			t.Error(paid.text)
		}
		ids[paid.text1("id")] = true
	}
	keyed := r.want(r.pay(repeatedly(token), "X-Idempotency-Key", "k"), 200, "")
	r.want(r.pay(repeatedly(token), "X-Idempotency-Key", "k"), 409, "IdempotencyKeyAlreadyExists")
	if ids[keyed.text1("id")] = true; len(ids) != 4 || len(r.books("")) != 4 {
		t.Error(ids)
	}
	r.late.Store(7200) // its session is long gone
	r.want(r.pay(repeatedly(token)), 200, "")
}

// verifications are the processors' lines about the verification of a token.
func (r *rig) verifications(token string) []protocol.Line {
	r.t.Helper()
	return r.books(string(domain.VerificationReference(r.account.AccountID, domain.Token(token))))
}

// TestVerify: a processor verifies the card; a refused card is not vaulted, and its token ends
// (D3).
func TestVerify(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	verify := `{"customerId":"customer-7","verify":true}`
	good := r.tokenize(r.session(someSession), goodCard)
	if kept := r.want(r.vault(good, verify), 200, ""); kept.field("isVerified") != true || kept.field("paymentMethodData", "cvvAvailable") != false {
		t.Error(kept.text)
	}
	if lines := r.verifications(good); len(lines) != 1 || lines[0].Amount != 0 || string(lines[0].State) != "SUCCEEDED" {
		t.Errorf("%+v", lines)
	}
	if list := r.want(r.get("/payments"), 200, "").field("data").([]any); len(list) != 0 {
		t.Error("a verification is listed as a payment")
	}
	r.want(r.pay(repeatedly(good)), 200, "")
	for _, number := range []string{declinedCard, "4000000000000010", challengedCard} {
		bad := r.tokenize(r.session(someSession), number)
		r.want(r.vault(bad, verify), 400, "FailedVerification")
		r.want(r.vault(bad, verify), 400, "InvalidPaymentInstrumentToken")
		r.want(r.pay(payWith(bad)), 400, "PaymentError")
		if len(r.verifications(bad)) != 1 {
			t.Error(r.verifications(bad))
		}
	}
	fallback := r.tokenize(r.session(someSession), "4000000000005266") // the first processor cannot, the second can
	r.want(r.vault(fallback, verify), 200, "")
	if lines := r.verifications(fallback); len(lines) != 2 {
		t.Errorf("%+v", lines)
	}
	if got := r.keptFor("customer-7"); !slices.Equal(got, []string{good, fallback}) {
		t.Error(got)
	}
}

// TestVerifyUnknown checks that a verification whose answer is lost is looked up by its key and not
// repeated (D8).
func TestVerifyUnknown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	once := 1
	for _, mode := range []protocol.Mode{protocol.DropAfter, protocol.DropBefore} {
		must(t, r.sim.SetFault(t.Context(), protocol.Fault{Mode: mode, Operation: "authorize", Count: &once}))
		token := r.tokenize(r.session(someSession), goodCard)
		r.want(r.vault(token, `{"customerId":"customer-7","verify":true}`), 200, "")
		if lines := r.verifications(token); len(lines) != 1 {
			t.Errorf("%s: %+v", mode, lines)
		}
	}
}

// TestVaultOnPayment checks which payments vault their token, and which do not (D5).
func TestVaultOnPayment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct {
		name, card, method string
		vaults             bool
	}{
		{"on success", goodCard, `"vaultOnSuccess":true`, true},
		{"on success, declined", declinedCard, `"vaultOnSuccess":true`, false},
		{"on 3-D Secure", challengedCard, `"vaultOn3DS":true`, true},
		{"on 3-D Secure, without a challenge", goodCard, `"vaultOn3DS":true`, false},
		{"on agreement", goodCard, `"vaultOnAgreement":true,"firstPaymentReason":"Recurring"`, true},
		{"on agreement, unscheduled", goodCard, `"vaultOnAgreement":true,"firstPaymentReason":"Unscheduled"`, true},
		{"on agreement, without one", goodCard, `"vaultOnAgreement":true,"firstPaymentReason":"CardOnFile"`, false},
		{"not asked", goodCard, `"descriptor":"SHOP"`, false},
		{"asynchronously", "4000000000003220", `"vaultOnSuccess":true`, true},
	} {
		customer := strings.ReplaceAll(c.name, " ", "-")
		token := r.tokenize(r.session(guestSession), c.card)
		paid := r.want(r.pay(`{"paymentMethodToken":"`+token+`","customerId":"`+customer+`","paymentMethod":{`+c.method+`}}`), 200, "")
		if action := paid.text1("requiredAction", "clientToken"); action != "" {
			if paid.field("paymentMethod", "isVaulted") != false || len(r.keptFor(customer)) != 0 {
				t.Errorf("%s: vaulted before the challenge", c.name)
			}
			resume := r.want(r.complete(action, "AUTHENTICATED"), 200, "").text1("resumeToken")
			paid = r.want(r.post("/payments/"+paid.text1("id")+"/resume", `{"resumeToken":"`+resume+`"}`), 200, "")
		}
		if paid.text1("status") == "PENDING" {
			_, err := r.sim.Settle(t.Context())
			must(t, err)
			paid = r.until("/payments/"+paid.text1("id"), "status", "AUTHORIZED")
			r.eventually(func() bool { return len(r.keptFor(customer)) == 1 }) // after the outcome is a fact
		}
		got := r.keptFor(customer)
		if (len(got) == 1) != c.vaults || paid.field("paymentMethod", "isVaulted") != c.vaults {
			t.Errorf("%s: %v %s", c.name, got, paid.text)
		}
		again := r.pay(strings.Replace(repeatedly(token), "customer-7", customer, 1))
		if (again.status == 200) != c.vaults {
			t.Errorf("%s: paid again: %d %s", c.name, again.status, again.text)
		}
	}
}

// eventually waits until a condition is true.
func (r *rig) eventually(so func() bool) {
	r.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !so(); <-tick.C {
		if time.Now().After(deadline) {
			r.t.Fatal("it never came")
		}
	}
}

// TestVaultFlow: a card is vaulted as it is tokenized, and pays in checkouts of its customer only
// (D5, D12).
func TestVaultFlow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mine, next, stranger, guest := r.session(someSession), r.session(someSession), r.session(strings.Replace(someSession, "customer-7", "customer-8", 1)), r.session(guestSession)
	made := r.want(r.browser(mine, `{"paymentInstrument":{"number":"`+goodCard+`","cvv":"737","expirationMonth":"03","expirationYear":"`+expires+`"},"tokenType":"MULTI_USE","paymentFlow":"VAULT"}`), 200, "")
	token := made.text1("token")
	if made.text1("tokenType") != "MULTI_USE" || made.field("isVaulted") != true || !slices.Equal(r.keptFor("customer-7"), []string{token}) {
		t.Error(made.text)
	}
	configuration := r.want(r.inBrowser(next, "GET", "/checkout/configuration", ""), 200, "")
	if !strings.Contains(configuration.text, `"vaultedPaymentMethods":[{"token":"`+token+`"`) {
		t.Error(configuration.text)
	}
	if seen := r.want(r.inBrowser(stranger, "GET", "/checkout/configuration", ""), 200, ""); strings.Contains(seen.text, token) {
		t.Error("another customer sees the card:", seen.text)
	}
	for _, client := range []string{mine, next} {
		paid := r.want(r.inBrowser(client, "POST", "/checkout/payments", payWith(token)), 200, "")
		again := r.want(r.inBrowser(client, "POST", "/checkout/payments", payWith(token)), 400, "PaymentError") // a storm of clicks
		if paid.text1("status") != "AUTHORIZED" || again.text1("error", "paymentId") != paid.text1("id") {
			t.Error(paid.text, again.text)
		}
		more := r.want(r.inBrowser(client, "POST", "/checkout/payments", payWith(token), "X-Idempotency-Key", "once-more"), 400, "PaymentError")
		if more.text1("error", "paymentId") != paid.text1("id") {
			t.Error("a session was paid twice:", more.text)
		}
	}
	for _, client := range []string{stranger, guest} {
		r.want(r.inBrowser(client, "POST", "/checkout/payments", payWith(token)), 400, "PaymentError")
	}
	manual := r.session(manualSession)
	id := r.attempt(manual, token)
	r.want(r.decide(id, "abort", ""), 200, "")
	again := r.attempt(manual, token) // a card that was vaulted elsewhere stays good
	approved := r.want(r.decide(again, "approve", ""), 200, "")
	if id == again || r.want(r.get("/payments/"+approved.text1("paymentId")), 200, "").text1("status") != "AUTHORIZED" {
		t.Error(id, again)
	}
	lines, err := r.sim.Books(t.Context(), adapter.Filter{})
	must(t, err)
	if len(lines) != 3 {
		t.Errorf("%d operations", len(lines))
	}
}
