package httpapi_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets/apikey"
)

// pay makes a payment; header contains alternating names and values.
func (r *rig) pay(body string, header ...string) answer {
	r.t.Helper()
	q := request{method: "POST", path: "/payments", body: body, header: map[string]string{}}
	for i := 0; i < len(header); i += 2 {
		q.header[header[i]] = header[i+1]
	}
	return r.do(q)
}

// payWith returns a payment request with a token. The session has all other fields.
func payWith(token string) string { return `{"paymentMethodToken":"` + token + `"}` }

// get reads as the merchant.
func (r *rig) get(path string) answer {
	r.t.Helper()
	return r.do(request{method: "GET", path: path})
}

// until reads a path until a field has the value; one question to a processor may take 20 s.
func (r *rig) until(path, field, value string) answer {
	r.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		a := r.want(r.get(path), 200, "")
		if a.text1(field) == value {
			return a
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s does not become %s: %s", field, value, a.text)
		}
	}
}

// TestOutcomes checks that the processor's outcome becomes the payment's status, and that the call
// succeeds with any outcome (D5, D6, D13).
func TestOutcomes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct {
		card, status, reason, decline, code, advice string
	}{
		{"4111111111111111", "AUTHORIZED", "", "", "", ""},
		{"4929251897047956", "AUTHORIZED", "", "", "", ""}, // frictionless 3-D Secure
		{"4000000000000002", "DECLINED", "ISSUER_DECLINED", "SOFT_DECLINE", "DO_NOT_HONOR", "RETRY_LATER"},
		{"4000000000009995", "DECLINED", "ISSUER_DECLINED", "SOFT_DECLINE", "INSUFFICIENT_FUNDS", "RETRY_LATER"},
		{"4000000000009987", "DECLINED", "ISSUER_DECLINED", "HARD_DECLINE", "LOST_OR_STOLEN_CARD", "STOP_ALL_PAYMENTS"},
		{"4000000000000069", "DECLINED", "ISSUER_DECLINED", "HARD_DECLINE", "EXPIRED_CARD", "UPDATE_DATA"},
		{"4716429323842524", "DECLINED", "ISSUER_DECLINED", "SOFT_DECLINE", "AUTHENTICATION_REQUIRED", "RETRY_LATER"},
		{"4000000000000010", "FAILED", "GATEWAY_REJECTED", "", "", ""},
		{"4444333322221111", "FAILED", "APPLICATION_ERROR", "", "", ""}, // not in the table
	} {
		made := r.want(r.pay(payWith(r.tokenize(r.session(someSession), c.card))), 200, "")
		got := []string{made.text1("status"), made.text1("statusReason", "type"), made.text1("statusReason", "declineType"),
			made.text1("statusReason", "code"), made.text1("statusReason", "advisedAction")}
		if want := []string{c.status, c.reason, c.decline, c.code, c.advice}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.card, got, want)
		}
		if read := r.want(r.get("/payments/"+made.text1("id")), 200, ""); read.text != made.text {
			t.Errorf("%s: read back\n%s\nanswered\n%s", c.card, read.text, made.text)
		}
	}
}

// TestTimeout: a processor that does not answer leaves the payment PENDING, and it goes on by
// itself (D8).
func TestTimeout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.atTimeout(operationAt{kind: processor.Authorize})
	made := r.want(r.pay(payWith(r.tokenize(r.session(someSession), goodCard))), 200, "")
	if made.text1("status") != "PENDING" {
		t.Errorf("payment %s", made.text)
	}
	r.cut.Store(nil)
	authorized := r.until("/payments/"+made.text1("id"), "status", "AUTHORIZED")
	history := r.want(r.get("/payments/"+made.text1("id")+"/events?at=2"), 200, "").field("data").([]any)
	late := answer{json: history[1].(map[string]any)}
	if late.text1("payment", "status") != "PENDING" || late.text1("payment", "statusReason", "type") != "GATEWAY_TIMEOUT" {
		t.Errorf("after the time-out %v", late.json)
	}
	if authorized.field("statusReason") != nil {
		t.Errorf("in the end %s", authorized.text)
	}
	if lines := r.books(made.text1("id")); len(lines) != 1 {
		t.Errorf("the processor's books have %d lines", len(lines))
	}
}

// TestMerge: the request over the session, objects field by field (D5).
func TestMerge(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	session := `{"orderId":"from session","customerId":"customer-7","currencyCode":"EUR","amount":900,
		"order":{"countryCode":"FR","lineItems":[{"itemId":"a","amount":900}],"shipping":{"amount":50,"methodName":"Post"}},
		"customer":{"emailAddress":"ada@example.com","firstName":"Ada","billingAddress":{"city":"London","countryCode":"GB"}},
		"metadata":{"shop":"north","attempt":1},"paymentMethod":{"descriptor":"NORTH","paymentType":"ECOMMERCE"}}`
	body := `{"paymentMethodToken":"%s","orderId":"from request","amount":1e3,"order":{"countryCode":"DE","shipping":{"methodName":"Courier"}},
		"customer":{"email":"lovelace@example.com","billingAddress":{"postalCode":"W1"}},"metadata":{"attempt":2},
		"paymentMethod":{"authorizationType":"ESTIMATED","descriptor":"SOUTH"}}`
	merged := r.want(r.pay(fmt.Sprintf(body, r.tokenize(r.session(session), goodCard))), 200, "")
	for _, c := range []struct {
		path string
		want any
	}{
		{"orderId", "from request"}, {"customerId", "customer-7"}, {"currencyCode", "EUR"}, {"amount", 1000.0},
		{"order.countryCode", "DE"}, {"order.shipping.methodName", "Courier"},
		{"customer.email", "lovelace@example.com"}, {"customer.emailAddress", "lovelace@example.com"}, {"customer.firstName", "Ada"},
		{"customer.billingAddress.city", "London"}, {"customer.billingAddress.postalCode", "W1"}, {"customer.billingAddress.countryCode", "GB"},
		{"metadata.shop", "north"}, {"metadata.attempt", 2.0},
		{"paymentMethod.descriptor", "SOUTH"}, {"paymentMethod.paymentType", "ECOMMERCE"}, {"paymentMethod.authorizationType", "ESTIMATED"},
	} {
		if got := merged.field(strings.Split(c.path, ".")...); got != c.want {
			t.Errorf("%s is %v, want %v", c.path, got, c.want)
		}
	}
	if items, _ := merged.field("order", "lineItems").([]any); len(items) != 1 {
		t.Errorf("line items %v", items)
	}
	plain := r.want(r.pay(payWith(r.tokenize(r.session(someSession), goodCard))), 200, "")
	if _, there := plain.json["paymentMethod"].(map[string]any)["paymentType"]; there { // §2.2: blank when not sent
		t.Errorf("paymentType without one: %s", plain.text)
	}
	if plain.text1("paymentMethod", "authorizationType") != "FINAL" {
		t.Errorf("authorizationType %s", plain.text)
	}
}

// TestMissingFields checks that the answer names the fields that neither the request nor the
// session has (D3).
func TestMissingFields(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	const why = " is required in the request or in the client session"
	for _, c := range []struct {
		name, session, body string
		want                []string
	}{
		{"nothing", `{}`, ``, []string{"$.amount", "$.currencyCode", "$.orderId"}},
		{"orderId", `{"currencyCode":"EUR","amount":1}`, ``, []string{"$.orderId"}},
		{"amount", `{"currencyCode":"EUR"}`, `,"orderId":"o"`, []string{"$.amount"}},
		{"currency", `{"orderId":"o"}`, `,"amount":0`, []string{"$.currencyCode"}},
		{"two of them", `{"orderId":"o"}`, ``, []string{"$.amount", "$.currencyCode"}},
		{"empty texts", `{}`, `,"orderId":"","amount":0`, []string{"$.currencyCode", "$.orderId"}},
	} {
		token := r.tokenize(r.session(c.session), goodCard)
		before := r.events()
		a := r.want(r.pay(`{"paymentMethodToken":"`+token+`"`+c.body+`}`), 422, "RequestValidationError")
		var want []string
		for _, path := range c.want {
			want = append(want, "PaymentCreation "+path+why)
		}
		if !slices.Equal(a.faults(), want) || a.text1("error", "description") != "Missing fields for payment." {
			t.Errorf("%s: %s", c.name, a.text)
		}
		if after := r.events(); after != before {
			t.Errorf("%s: a refused payment left %d events", c.name, after-before)
		}
	}
}

// otherMerchant creates a second account and returns its API key.
func (r *rig) otherMerchant() string {
	r.t.Helper()
	var random [apikey.RandomSize]byte
	copy(random[:], "another merchant, as random as it needs to be here")
	key := apikey.New(account.Sandbox, random)
	id := domain.NewAccountID([16]byte(random[:16]))
	first, _ := r.views.Account(r.account.AccountID)
	meta, err := r.store.NewMeta("test", "test")
	must(r.t, err)
	_, err = eventstore.ExecuteNew(r.t.Context(), r.store, eventstore.Accounts, eventstore.Accounts.Key(id, string(id)), meta,
		func(s account.State) (account.Event, error) {
			return account.DecideCreate(s, account.Create{Created: account.Created{
				At: meta.At, ID: id, Name: "other", Environment: account.Sandbox, Processors: first.Processors,
				APIKey: account.APIKey{ID: key.ID, Name: "other", Hash: key.Hash, Scopes: account.Scopes, CreatedAt: meta.At},
			}})
		})
	must(r.t, err)
	must(r.t, r.views.CaughtUp(r.t.Context()))
	return key.Text
}

// TestTokens: a token pays once, in its account, until it expires (D5).
func TestTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	refused := func(name, body, says string, header ...string) {
		t.Helper()
		before := r.events()
		a := r.pay(body, header...)
		if a.status != 400 || a.errorID() != "PaymentError" || !strings.Contains(a.text1("error", "description"), says) {
			t.Errorf("%s: %d %s", name, a.status, a.text)
		}
		if after := r.events(); after != before {
			t.Errorf("%s: a refused payment left %d events", name, after-before)
		}
	}
	token := r.tokenize(r.session(someSession), goodCard)
	refused("of another account", payWith(token), "unknown", "X-Api-Key", r.otherMerchant())
	refused("unknown", payWith("01k3v9t7hq2m5c8z0x4w6n1r3b"), "unknown")
	refused("a card number", payWith(goodCard), "unknown")
	r.want(r.pay(payWith(token)), 200, "")
	refused("used", payWith(token), "already used")
	refused("used, with a key", payWith(token), "already used", "X-Idempotency-Key", "another")
	declined := r.tokenize(r.session(someSession), declinedCard)
	r.want(r.pay(payWith(declined)), 200, "")
	refused("used for a declined payment", payWith(declined), "already used")
	manual := r.tokenize(r.session(strings.Replace(someSession, "{", `{"approvalMode":"MANUAL",`, 1)), goodCard)
	refused("of a MANUAL session", payWith(manual), "approval")
	late := r.tokenize(r.session(someSession), goodCard)
	r.late.Store(3601)
	refused("expired", payWith(late), "expired")
}

// TestIdempotencyKeyReuse checks that the answer to a repeat names the first payment. A refused
// request uses up no key (D9).
func TestIdempotencyKeyReuse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const key = "X-Idempotency-Key"
	token := func(card string) string { return r.tokenize(r.session(someSession), card) }
	for i, c := range []struct{ card, status string }{{goodCard, "AUTHORIZED"}, {declinedCard, "DECLINED"}, {"4000000000000010", "FAILED"}} {
		name, tool := fmt.Sprintf("order-%d", i+1), token(c.card)
		made := r.want(r.pay(payWith(tool), key, name), 200, "")
		fresh := token(goodCard)
		before := r.events()
		for what, body := range map[string]string{
			"the same": payWith(tool), "another token": payWith(fresh), "an unknown token": payWith("nothing"),
			"another body": `{"paymentMethodToken":"` + tool + `","amount":1}`,
		} {
			again := r.want(r.pay(body, key, name), 409, "IdempotencyKeyAlreadyExists")
			if again.text1("error", "paymentId") != made.text1("id") || again.text1("error", "paymentStatus") != c.status ||
				!strings.Contains(again.text1("error", "recoverySuggestion"), "Read the payment") {
				t.Errorf("%s after %s: %s", what, c.status, again.text)
			}
		}
		r.want(r.pay(payWith(fresh), key, name+"-fresh"), 200, "") // a repeat did not use the token up
		if after := r.events(); after != before+3 {
			t.Errorf("repeats left %d events", after-before)
		}
	}
	for _, refused := range []string{`{"amount":-1}`, payWith("unknown"), payWith(r.tokenize(r.session(`{}`), goodCard))} {
		if a := r.pay(refused, key, "kept"); a.status == 200 {
			t.Fatalf("%s: %s", refused, a.text)
		}
	}
	r.want(r.pay(payWith(token(goodCard)), key, "kept"), 200, "")
	theirs := r.pay(payWith("unknown"), key, "kept", "X-Api-Key", r.otherMerchant())
	r.want(theirs, 400, "PaymentError") // keys are an account's own
}

// TestReads checks that reads return a payment to its own account, and to no other (D3, D6).
func TestReads(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	made := r.want(r.pay(payWith(r.tokenize(r.session(someSession), goodCard))), 200, "")
	id, other := made.text1("id"), r.otherMerchant()
	for _, path := range []string{"/payments/" + id, "/payments/" + id + "/events", "/payments/" + id + "?expand=transactions.events"} {
		r.want(r.get(path), 200, "")
		r.want(r.do(request{method: "GET", path: path, header: map[string]string{"X-Api-Key": other}}), 400, "PaymentError")
	}
	last := made.text1("dateUpdated")
	parsed, err := time.Parse(time.RFC3339Nano, last)
	must(t, err)
	berlin := parsed.In(time.FixedZone("", 3600)).Format(time.RFC3339Nano)
	for _, c := range []struct {
		at     string
		events int // 0: EntityNotFound, -1: not valid
	}{
		{"", 2}, {"1", 1}, {"2", 2}, {"3", 0}, {"18446744073709551615", 0}, {goodCard, 0},
		{last, 2}, {strings.TrimSuffix(last, "Z"), 2}, {berlin, 2}, {made.text1("date"), 1}, {"2020-01-01T00:00:00Z", 0}, {"2999-01-01T00:00:00Z", 0},
		{"0", -1}, {"-1", -1}, {"1.0", -1}, {"soon", -1}, {"2020-01-01", -1}, {strings.Repeat("1", 41), -1},
	} {
		a := r.get("/payments/" + id + "/events?at=" + url.QueryEscape(c.at))
		switch {
		case c.events < 0:
			r.want(a, 422, "RequestValidationError")
			if !strings.HasPrefix(a.faults()[0], "QueryString $.at must be ") {
				t.Errorf("at %s: %q", c.at, a.faults())
			}
		case c.events == 0:
			r.want(a, 404, "EntityNotFound")
		default:
			if got := len(r.want(a, 200, "").field("data").([]any)); got != c.events {
				t.Errorf("at %s: %d events, want %d", c.at, got, c.events)
			}
		}
	}
	for query, want := range map[string][]string{
		"expand=transactions":        {"QueryString $.expand must be one of transactions.events"},
		"expand=":                    {"QueryString $.expand must be one of transactions.events"},
		"expand=a&expand=a&page=1":   {"QueryString $.expand must be sent once", "QueryString $.page is not a known parameter"},
		"Expand=transactions.events": {"QueryString $.Expand is not a known parameter; did you mean expand?"},
		"%34111111111111111=1":       {"QueryString $['…'] is not a known parameter"},
	} {
		if a := r.want(r.get("/payments/"+id+"?"+query), 422, "RequestValidationError"); !slices.Equal(a.faults(), want) {
			t.Errorf("%s: %q", query, a.faults())
		}
	}
}

// TestFirst6Digits: null unless the account opted in (§2.2, D6).
func TestFirst6Digits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct {
		name string
		want any
	}{{"default", nil}, {"opted in", "411111"}} {
		if c.want != nil {
			r.want(r.do(request{method: "PATCH", path: "/management/settings", body: `{"first6Digits":true}`}), 200, "")
		}
		client := r.session(someSession)
		instrument := r.want(r.browser(client, someCard), 200, "")
		made := r.want(r.pay(payWith(instrument.text1("token"))), 200, "")
		read := r.want(r.get("/payments/"+made.text1("id")), 200, "")
		for _, a := range []answer{instrument, made, read} {
			at := []string{"paymentMethodData", "first6Digits"}
			if a.field("paymentMethod") != nil {
				at = slices.Insert(at, 0, "paymentMethod")
			}
			data, _ := a.field(at[:len(at)-1]...).(map[string]any)
			if got, there := data["first6Digits"]; !there || got != c.want {
				t.Errorf("%s: first6Digits %v in %s", c.name, got, a.text)
			}
		}
	}
}

// TestVaultingNeedsACustomer: D5.
func TestVaultingNeedsACustomer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bare := `{"orderId":"o","currencyCode":"EUR","amount":1}`
	for _, option := range []string{"vaultOnSuccess", "vaultOn3DS", "vaultOnAgreement"} {
		body := `{"paymentMethodToken":"` + r.tokenize(r.session(bare), goodCard) + `","paymentMethod":{"` + option + `":true}}`
		a := r.want(r.pay(body), 422, "RequestValidationError")
		if !slices.Equal(a.faults(), []string{"PaymentCreation $.customerId is required to save the payment method"}) {
			t.Errorf("%s: %q", option, a.faults())
		}
	}
	zero := r.tokenize(r.session(bare), goodCard)
	paid := r.want(r.pay(`{"paymentMethodToken":"`+zero+`","amount":0}`), 200, "") // D5: an account verification
	if paid.field("amount") != 0.0 || paid.text1("status") != "AUTHORIZED" {
		t.Errorf("amount 0: %s", paid.text)
	}
}
