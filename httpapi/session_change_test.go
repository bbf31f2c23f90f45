package httpapi_test

import (
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// patch changes a session as the merchant; fields are those beside the client token.
func (r *rig) patch(clientToken, fields string) answer {
	r.t.Helper()
	body := `{"clientToken":"` + clientToken + `"`
	if fields != "" {
		body += "," + fields
	}
	return r.do(request{method: "PATCH", path: "/client-session", body: body + "}"})
}

func (r *rig) readSession(clientToken string) answer {
	r.t.Helper()
	return r.get("/client-session?clientToken=" + url.QueryEscape(clientToken))
}

// TestGetSession: the session as it was made, without its token, by the token or its accessToken
// (D4).
func TestGetSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.want(r.do(request{method: "POST", path: "/client-session", body: someSession}), 200, "")
	client := made.text1("clientToken")
	read := r.want(r.readSession(client), 200, "")
	want := strings.Replace(made.text, `,"clientToken":"`+client+`"`, "", 1)
	if read.text != want {
		t.Errorf("made as\n%s\nread as\n%s", want, read.text)
	}
	if by := r.want(r.readSession(claimsOf(t, client)["accessToken"].(string)), 200, ""); by.text != want {
		t.Error(by.text)
	}
	if faults := r.want(r.get("/client-session"), 422, "RequestValidationError").faults(); !slices.Equal(faults, []string{"QueryString $.clientToken is required"}) {
		t.Error(faults)
	}
	for _, wrong := range []string{"nonsense", client + "x", "00000000-0000-4000-8000-000000000000"} {
		r.want(r.readSession(wrong), 400, "ClientSessionValidationError")
	}
	stranger := r.do(request{method: "GET", path: "/client-session?clientToken=" + client, header: map[string]string{"X-Api-Key": r.otherMerchant()}})
	r.want(stranger, 400, "ClientSessionValidationError")
	r.late.Store(3600)
	r.want(r.readSession(client), 400, "ClientSessionValidationError")
}

// TestPatchSession checks that absent fields stay, null clears a field, objects are merged, and
// arrays and metadata are replaced. A request without an amount computes it again (D4).
func TestPatchSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(someSession)
	before := r.want(r.readSession(client), 200, "")
	for _, step := range []struct {
		patch string
		wants map[string]any // by path; nil: absent
	}{
		{``, map[string]any{"orderId": "order-1", "amount": 2420.0, "metadata.gift": true, "customer.firstName": "Ada"}},
		{`"orderId":"order-2"`, map[string]any{"orderId": "order-2", "customerId": "customer-7"}},
		{`"order":{"countryCode":"FR"}`, map[string]any{"order.countryCode": "FR", "amount": 2420.0}},
		{`"order":{"shipping":{"amount":80,"methodId":"post"}}`, map[string]any{"amount": 2500.0, "order.countryCode": "FR"}},
		{`"order":{"shipping":{"methodId":null}}`, map[string]any{"amount": 2500.0, "order.shipping.amount": 80.0, "order.shipping.methodId": nil}},
		{`"order":{"lineItems":[{"amount":10}]}`, map[string]any{"amount": 90.0, "order.countryCode": "FR"}},
		{`"amount":7`, map[string]any{"amount": 7.0}},
		{`"order":{"shipping":null}`, map[string]any{"amount": 7.0, "order.shipping": nil}},
		{`"amount":null`, map[string]any{"amount": 10.0}},
		{`"customer":{"emailAddress":"a@b.example","billingAddress":{"city":"Paris","postalCode":"75001"}}`, map[string]any{
			"customer.email": "a@b.example", "customer.firstName": "Ada", "customer.billingAddress.city": "Paris",
		}},
		{`"customer":{"email":null,"billingAddress":{"postalCode":null,"countryCode":null}}`, map[string]any{
			"customer.email": nil, "customer.emailAddress": nil, "customer.billingAddress.city": "Paris", "customer.billingAddress.postalCode": nil,
		}},
		{`"metadata":{"shop":"south"}`, map[string]any{"metadata.shop": "south", "metadata.gift": nil}},
		{`"paymentMethod":{"descriptor":"SHOP","vaultOnSuccess":true}`, map[string]any{"paymentMethod.descriptor": "SHOP", "paymentMethod.vaultOnSuccess": true}},
		{`"paymentMethod":{"descriptor":null,"authorizationType":"ESTIMATED","paymentType":null}`, map[string]any{
			"paymentMethod.descriptor": nil, "paymentMethod.vaultOnSuccess": true, "paymentMethod.authorizationType": "ESTIMATED",
		}},
		{`"customerId":null,"metadata":null,"paymentMethod":null,"returnUrl":"https://shop.example/done"`, map[string]any{
			"customerId": nil, "metadata": nil, "paymentMethod": nil, "returnUrl": "https://shop.example/done", "customer.firstName": "Ada",
		}},
		{`"customer":null,"orderId":null,"returnUrl":null,"approvalMode":"AUTO"`, map[string]any{"customer": nil, "orderId": nil, "returnUrl": nil, "approvalMode": "AUTO"}},
		{`"order":null,"currencyCode":null`, map[string]any{"order": nil, "currencyCode": nil, "amount": nil}},
	} {
		patched := r.want(r.patch(client, step.patch), 200, "")
		read := r.want(r.readSession(client), 200, "")
		for path, want := range step.wants {
			names := strings.Split(path, ".")
			if got := patched.field(names...); got != want {
				t.Errorf("after %s %s is %v, want %v", step.patch, path, got, want)
			}
			if got := read.field(names...); got != want {
				t.Errorf("after %s %s is read as %v, want %v", step.patch, path, got, want)
			}
		}
		if patched.text1("clientToken") != client || patched.text1("clientExpirationDate") != before.text1("clientExpirationDate") {
			t.Errorf("the token or its life changed: %s", patched.text)
		}
	}
	if last := r.want(r.readSession(client), 200, ""); len(last.field("warnings").([]any)) != 3 {
		t.Error(last.text)
	}
}

// TestPatchSessionRefusals checks that a refused request changes nothing and records nothing (§2.5,
// D3, D4).
func TestPatchSessionRefusals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client, manual := r.session(someSession), r.session(manualSession)
	another := r.otherMerchant()
	whole := r.want(r.readSession(client), 200, "").text
	before := r.events()
	for _, c := range []struct {
		token, fields string
		status        int
		errorID       string
	}{
		{client, `"currencyCode":null`, 400, "ClientSessionValidationError"},
		{client, `"approvalMode":"MANUAL"`, 400, "ClientSessionValidationError"},
		{manual, `"approvalMode":"AUTO"`, 400, "ClientSessionValidationError"},
		{"nonsense", ``, 400, "ClientSessionValidationError"},
		{client, `"approvalMode":null`, 422, "RequestValidationError"},
		{client, `"amount":-1`, 422, "RequestValidationError"},
		{client, `"currencyCode":"XYZ"`, 422, "RequestValidationError"},
		{client, `"order":{"lineItems":[{"amount":null}]}`, 422, "RequestValidationError"},
		{client, `"order":{"countryCode":"ZZ"}`, 422, "RequestValidationError"},
		{client, `"paymentMethod":{"paymentType":"x"}`, 422, "RequestValidationError"},
		{client, `"returnUrl":"ftp://x"`, 422, "RequestValidationError"},
		{client, `"orderId":"4111 1111 1111 1111"`, 422, "RequestValidationError"},
		{client, strings.TrimSuffix(strings.TrimPrefix(longOrder, `{"currencyCode":"EUR",`), "}"), 413, "RequestTooLarge"},
		{client, `"unknown":1`, 422, "RequestValidationError"},
		{client, `"metadata":{"":1}`, 400, "MetadataContainsEmptyKey"},
		{client, `"order":{"lineItems":[{"amount":9007199254740991,"quantity":2}]}`, 400, "ClientSessionValidationError"},
	} {
		r.want(r.patch(c.token, c.fields), c.status, c.errorID)
	}
	r.want(r.do(request{method: "PATCH", path: "/client-session", body: `{"orderId":"x"}`}), 422, "RequestValidationError")
	r.want(r.do(request{method: "PATCH", path: "/client-session"}), 400, "MalformedJson")
	r.want(r.do(request{method: "PATCH", path: "/client-session", body: `{"clientToken":"` + client + `"}`, header: map[string]string{"X-Api-Key": another}}), 400, "ClientSessionValidationError")
	r.want(r.patch(client, `"orderId":"order-1"`), 200, "") // the unchanged value
	if r.events() != before || r.want(r.readSession(client), 200, "").text != whole {
		t.Errorf("%d events, %s", r.events()-before, whole)
	}
	r.late.Store(3600)
	r.want(r.patch(client, `"orderId":"x"`), 400, "ClientSessionValidationError")
}

// TestPatchedSessionPays: payments take the session as it is when they are made (D5).
func TestPatchedSessionPays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(someSession)
	first, second := r.tokenize(client, goodCard), r.tokenize(client, goodCard)
	r.want(r.pay(payWith(first)), 200, "")
	r.want(r.patch(client, `"amount":99,"orderId":"order-2","customerId":"customer-8","customer":{"firstName":"Grace"}`), 200, "")
	paid := r.want(r.pay(payWith(second)), 200, "")
	if paid.field("amount") != 99.0 || paid.text1("orderId") != "order-2" || paid.text1("customerId") != "customer-8" ||
		paid.text1("customer", "firstName") != "Grace" || paid.text1("customer", "email") != "ada@example.com" {
		t.Error(paid.text)
	}
}

// TestPatchesTogether: changes at the same time are all made.
func TestPatchesTogether(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(someSession)
	fields := []string{`"orderId":"o"`, `"customerId":"c"`, `"returnUrl":"https://x.example"`, `"metadata":{"k":1}`, `"amount":5`, `"customer":{"lastName":"L"}`}
	var merchants sync.WaitGroup
	for _, field := range fields {
		merchants.Go(func() { r.want(r.patch(client, field), 200, "") })
	}
	merchants.Wait()
	read := r.want(r.readSession(client), 200, "")
	for path, want := range map[string]any{
		"orderId": "o", "customerId": "c", "returnUrl": "https://x.example", "metadata.k": 1.0, "amount": 5.0, "customer.lastName": "L", "customer.firstName": "Ada",
	} {
		if got := read.field(strings.Split(path, ".")...); got != want {
			t.Errorf("%s is %v", path, got)
		}
	}
}
