package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/domain"
	"payledger/eventstore/eventstoretest"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
)

// faults returns the violations of err as "path description".
func faults(t *testing.T, err error) []string {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) {
		if err != nil {
			t.Fatalf("not a domain error: %v", err)
		}
		return nil
	}
	var out []string
	for _, v := range e.Violations {
		out = append(out, v.Path+" "+v.Description)
	}
	return out
}

const amountRange = "must be an integer between 0 and 9007199254740991"

// inMinorUnits follows where a fraction or a text was sent for an amount.
const inMinorUnits = ", in minor units: 1050 for 10.50 EUR"

// TestEveryViolationAtOnce: D3.
func TestEveryViolationAtOnce(t *testing.T) {
	a := testAPI(t)
	for _, c := range []struct {
		name, operation, body string
		want                  []string
	}{
		{"wrong currency, negative amount, unknown field, long orderId", "createPayment",
			`{"paymentMethodToken":"t","currencyCode":"EURO","amount":-1,"colour":"red","orderId":"` + strings.Repeat("é", 256) + `"}`,
			[]string{"$.amount " + amountRange, "$.colour is not a known field",
				"$.currencyCode must be an active ISO 4217 currency code", "$.orderId must be at most 255 characters long"}},
		{"nothing", "createPayment", `{}`, []string{"$.paymentMethodToken is required"}},
		{"everything of another type", "createPayment",
			`{"paymentMethodToken":1,"orderId":true,"currencyCode":978,"amount":"12","order":[],"customer":"x","metadata":[],"paymentMethod":null,"expand":"x"}`,
			[]string{"$.amount " + amountRange + inMinorUnits, "$.currencyCode must be a string", "$.customer must be an object", "$.expand must be an array",
				"$.metadata must be an object", "$.order must be an object", "$.orderId must be a string",
				"$.paymentMethodToken must be a string"}},
		{"deep inside", "createClientSession",
			`{"currencyCode":"EUR","order":{"countryCode":"XX","lineItems":[{"amount":1},{"amount":-1,"quantity":1.5,"productType":"X","x y":1},{}],"fees":[{"amount":"1"}]},
			"customer":{"email":"a","emailAddress":"b","billingAddress":{"countryCode":"uk","zip":"1"}}}`,
			[]string{"$.customer.billingAddress.countryCode must be an ISO 3166-1 alpha-2 country code", "$.customer.billingAddress.zip is not a known field",
				"$.customer.emailAddress must be the same as email, when both are sent", "$.order.countryCode must be an ISO 3166-1 alpha-2 country code",
				"$.order.fees[0].amount " + amountRange + inMinorUnits, "$.order.lineItems[1].amount " + amountRange,
				"$.order.lineItems[1].productType must be one of PHYSICAL, DIGITAL", "$.order.lineItems[1].quantity must be an integer between 0 and 1000000",
				"$.order.lineItems[1]['x y'] is not a known field", "$.order.lineItems[2].amount is required"}},
		{"enumerations", "createPayment",
			`{"paymentMethodToken":"t","expand":["transactions"],"paymentMethod":{"paymentType":"GIFT","authorizationType":"final","firstPaymentReason":"x","vaultOnSuccess":"yes"}}`,
			[]string{"$.expand[0] must be one of transactions.events", "$.paymentMethod.authorizationType must be one of ESTIMATED, FINAL",
				"$.paymentMethod.firstPaymentReason must be one of CardOnFile, Recurring, Unscheduled",
				"$.paymentMethod.paymentType must be one of FIRST_PAYMENT, ECOMMERCE, SUBSCRIPTION, UNSCHEDULED", "$.paymentMethod.vaultOnSuccess must be true or false"}},
		{"a name in need of quotes", "createPayment", `{"paymentMethodToken":"t","it's \"so\" \\":1,"4242424242424242":1,"` + strings.Repeat("y", 70) + `":1}`,
			[]string{`$['it\'s "so" \\'] is not a known field`, "$['" + strings.Repeat("y", 64) + "…'] is not a known field", "$['…'] is not a known field", "$['…'] must not hold a card number: it holds 16 digits in a row, with a prefix of VISA and a right check digit"}},
		{"the vault flow", "createPaymentInstrument", `{"paymentInstrument":{"number":"4111111111111111","cvv":"123","expirationMonth":"12","expirationYear":"2030"},"tokenType":"MULTI_USE","paymentFlow":"VAULT"}`, nil},
		{"a token type that does not fit", "createPaymentInstrument", `{"paymentInstrument":{"number":"4111111111111111","cvv":"123","expirationMonth":"12","expirationYear":"2030"},"tokenType":"MULTI_USE"}`,
			[]string{"$.tokenType must be MULTI_USE with the paymentFlow VAULT, and SINGLE_USE without"}},
		{"an API key", "createApiKey", `{"name":"","scopes":["all","account:read","account:read"],"expiresAt":"tomorrow"}`,
			[]string{"$.expiresAt must be an RFC 3339 date", "$.name must not be empty", "$.scopes must not name anything twice",
				"$.scopes[0] must be one of client_tokens:write, transactions:authorize, transactions:capture, transactions:cancel, transactions:refund, " +
					"transactions:retrieve, payment_instrument:read, payment_instrument:write, events:read, account:read, account:write, settings:write, keys:write, users:write"}},
		{"return addresses", "createClientSession", `{"returnUrl":"ftp://shop.example/"}`, []string{"$.returnUrl must be an https URL"}},
		{"no host", "createClientSession", `{"returnUrl":"https://"}`, []string{"$.returnUrl must be an https URL"}},
		{"http in the sandbox", "createClientSession", `{"returnUrl":"http://localhost:3000/done"}`, nil},
	} {
		if got := faults(t, a.postCall(c.operation, c.body).accept()); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// TestAmounts: an amount is a whole number from 0 to MaxAmount, however it is written (§8).
func TestAmounts(t *testing.T) {
	a := testAPI(t)
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "-0.0": 0, "1": 1, "1.0": 1, "1e3": 1000, "12.50e2": 1250, "9007199254740991": 9007199254740991, "9007199254740991.0": 9007199254740991,
		"-1": -1, "1.5": -3, "9007199254740992": -2, "9007199254740991.4": -3, "9223372036854775808": -2, "1e300": -2, "1e999": -2, "-1e999": -1,
		"1e-999": -3, `"1"`: -3, `"10.50"`: -3, "10.50": -3, "true": -1, "[]": -1, "{}": -1,
	} {
		c := a.postCall("createPayment", `{"paymentMethodToken":"t","amount":`+text+`}`)
		err := c.accept()
		if want < 0 {
			rule := map[int64]string{-1: amountRange, -2: "must be at most 9007199254740991 (2^53 − 1), the largest amount", -3: amountRange + inMinorUnits}[want]
			if got := faults(t, err); !slices.Equal(got, []string{"$.amount " + rule}) {
				t.Errorf("%s: %q", text, got)
			}
			continue
		}
		_, taken := c.route.handle(c)
		if amount := a.Commands.(*taker).payment.Amount; err != nil || !errors.Is(taken, errTaken) || int64(*amount) != want {
			t.Errorf("%s: %v %v %v", text, err, taken, amount)
		}
	}
}

// TestLengths count characters, not bytes and not UTF-16 units.
func TestLengths(t *testing.T) {
	a := testAPI(t)
	for _, letter := range []string{"x", "é", "漢", "😀"} {
		for n, want := range map[int]int{255: 0, 256: 1} {
			body := fmt.Sprintf(`{"paymentMethodToken":"t","orderId":%q}`, strings.Repeat(letter, n))
			if got := faults(t, a.postCall("createPayment", body).accept()); len(got) != want {
				t.Errorf("%d %s: %q", n, letter, got)
			}
		}
	}
}

// TestCardNumbersInText: D1. The number is never repeated.
func TestCardNumbersInText(t *testing.T) {
	const number = "4111 1111 1111 1111"
	a := testAPI(t)
	for _, c := range []struct{ operation, body, path string }{
		{"createClientSession", `{"orderId":"#"}`, "$.orderId"},
		{"createPayment", `{"paymentMethodToken":"t","order":{"lineItems":[{"amount":1,"itemId":"#"}]}}`, "$.order.lineItems[0].itemId"},
		{"createPayment", `{"paymentMethodToken":"t","order":{"lineItems":[{"amount":1,"productData":{"sku":"４１１１-１１１１-１１１１-１１１１"}}]}}`, "$.order.lineItems[0].productData.sku"},
		{"createPayment", `{"paymentMethodToken":"t","order":{"lineItems":[{"amount":1,"description":"4111111111111111"}]}}`, "$.order.lineItems[0].description"},
		{"createPayment", `{"paymentMethodToken":"t","order":{"lineItems":[{"amount":1,"productData":{"pageUrl":"https://shop.example/a%20b/4111111111111111"}}]}}`, "$.order.lineItems[0].productData.pageUrl"},
		{"createClientSession", `{"returnUrl":"https://shop.example/?card=4111+1111+1111+1111"}`, "$.returnUrl"},
		{"createWebhookEndpoint", `{"url":"https://shop.example/4111111111111111"}`, "$.url"},
		{"createPayment", `{"paymentMethodToken":"t","orderId":"#"}`, "$.orderId"},
		{"createPayment", `{"paymentMethodToken":"t","customerId":"#"}`, "$.customerId"},
		{"createPayment", `{"paymentMethodToken":"t","metadata":{"note":"paid with #, thanks"}}`, "$.metadata.note"},
		{"createPayment", `{"paymentMethodToken":"t","metadata":{"number":"#"}}`, "$.metadata.number"},
		{"createPayment", `{"paymentMethodToken":"t","metadata":{"url":"#"}}`, "$.metadata.url"},
		{"createPayment", `{"paymentMethodToken":"t","metadata":{"card":4111111111111111}}`, "$.metadata.card"},
		{"createPayment", `{"paymentMethodToken":"t","metadata":{"card":-4111111111111111}}`, "$.metadata.card"},
		{"createPayment", `{"paymentMethodToken":"t","metadata":{"card":4.111111111111111e15}}`, "$.metadata.card"},
		{"createPayment", `{"paymentMethodToken":"t","metadata":{"card":"4111111111111\u0031\u00311"}}`, "$.metadata.card"},
		{"createPayment", `{"paymentMethodToken":"t","metadata":{"#":"x"}}`, "$.metadata['…']"},
		{"createPayment", `{"paymentMethodToken":"t","paymentMethod":{"descriptor":"#"}}`, "$.paymentMethod.descriptor"},
		{"createPayment", `{"paymentMethodToken":"t","customer":{"firstName":"#"}}`, "$.customer.firstName"},
		{"createPayment", `{"paymentMethodToken":"t","order":{"lineItems":[{"amount":1},{"amount":1,"description":"#"}]}}`, "$.order.lineItems[1].description"},
		{"createPaymentInstrument", `{"paymentInstrument":{"number":"4111111111111111","cvv":"123","expirationMonth":"12","expirationYear":"2030","cardholderName":"#"}}`, "$.paymentInstrument.cardholderName"},
		{"createWebhookEndpoint", `{"url":"https://shop.example/","description":"#"}`, "$.description"},
		{"createApiKey", `{"name":"#","scopes":["account:read"]}`, "$.name"},
	} {
		err := a.postCall(c.operation, strings.ReplaceAll(c.body, "#", number)).accept()
		if got := faults(t, err); len(got) != 1 || !strings.HasPrefix(got[0], c.path+" must not hold a card number: it holds 16 digits") || !strings.Contains(got[0], "with a prefix of VISA and a right check digit") {
			t.Errorf("%s %s: %q", c.operation, c.body, got)
		}
		if err != nil && (strings.Contains(err.Error(), number) || strings.Contains(err.Error(), "4111111111111111")) {
			t.Errorf("%s repeats the number: %v", c.path, err)
		}
	}
	for _, fine := range []struct{ operation, body string }{
		{"createPayment", `{"paymentMethodToken":"4111111111111111"}`},
		{"createPayment", `{"paymentMethodToken":"t","amount":4111111111111111}`},
		{"createPayment", `{"paymentMethodToken":"t","orderId":"1760000000000","metadata":{"at":1760000000000}}`},
		{"createPayment", `{"paymentMethodToken":"t","orderId":"4111111111111112"}`},
		{"createWebhookEndpoint", `{"url":"https://shop.example/4111111111111112"}`},
		{"createPayment", `{"paymentMethodToken":"t","orderId":"4111111111111111","customerId":"5555555555554444"}`},
		{"createPayment", `{"paymentMethodToken":"t","metadata":{"cart":"order-0.4111111111111111"}}`},
		{"createPayment", `{"paymentMethodToken":"t","order":{"lineItems":[{"amount":1,"itemId":"4111111111111111","productData":{"sku":"4111111111111111","globalTradeItemNumber":"36000000000008"}}]}}`},
		{"refundPayment", `{"orderId":"4111111111111111"}`},
		{"createWebhookEndpoint", `{"url":"https://shop.example:443/411111111111111"}`},
	} {
		if err := a.postCall(fine.operation, fine.body).accept(); err != nil {
			t.Errorf("%s: %v", fine.body, err)
		}
	}
}

// TestIdentifiersAreAccepted: none of many ids of the kinds that merchants make is refused in any
// field for ids (D21).
func TestIdentifiersAreAccepted(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	a, r := testAPI(t), rand.New(rand.NewSource(21))
	for range 5_000 {
		for _, id := range []string{
			"order-" + strconv.FormatFloat(r.Float64(), 'g', -1, 64), fmt.Sprintf("%016d", r.Int63n(1e16)), fmt.Sprintf("4%015d", r.Int63n(1e15)),
			fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", r.Int63n(1<<32), r.Intn(1<<16), r.Intn(1<<12), r.Intn(1<<12), r.Int63n(1<<48)),
		} {
			body := strings.ReplaceAll(`{"paymentMethodToken":"t","orderId":"#","customerId":"#","order":{"lineItems":[{"amount":1,"itemId":"#","productData":{"sku":"#"}}]}}`, "#", id)
			if err := a.postCall("createPayment", body).accept(); err != nil {
				t.Fatalf("%s: %v", id, err)
			}
		}
	}
}

// TestEveryTextField checks that each text field of a request in openapi.yaml refuses card numbers
// (D1), except for the fields listed as not free text.
func TestEveryTextField(t *testing.T) {
	a := testAPI(t)
	formed := []string{"$.paymentInstrument.number", "$.paymentMethodToken", "$.resumeToken", "$.clientToken", "$.transactionEventId"}
	fields := 0
	var visit func(o *validation.Operation, path string, wrap func(any) any, s *openapi3.Schema)
	visit = func(o *validation.Operation, path string, wrap func(any) any, s *openapi3.Schema) {
		switch {
		case s.Type.Is("object"):
			for name, p := range s.Properties {
				visit(o, path+"."+name, func(v any) any { return wrap(map[string]any{name: v}) }, p.Value)
			}
			return
		case s.Type.Is("array"):
			visit(o, path+"[0]", func(v any) any { return wrap([]any{v}) }, s.Items.Value)
			return
		case !s.Type.Is("string") || slices.Contains(formed, path):
			return
		}
		fields++
		body, err := json.Marshal(wrap("4111 1111 1111 1111"))
		if err != nil {
			t.Fatal(err)
		}
		for name, known := range a.operations {
			if known != o {
				continue
			}
			if got := faults(t, a.postCall(name, string(body)).accept()); !slices.ContainsFunc(got, func(fault string) bool { return strings.HasPrefix(fault, path+" must not hold a card number") }) {
				t.Errorf("%s %s: %q", name, path, got)
			}
		}
	}
	for _, o := range a.operations {
		if o.Body != nil {
			visit(o, "$", func(v any) any { return v }, o.Body)
		}
	}
	if fields < 80 {
		t.Errorf("only %d text fields found", fields)
	}
}

// TestMetadata: D4.
func TestMetadata(t *testing.T) {
	a := testAPI(t)
	keys := func(n int) string {
		var pairs []string
		for i := range n {
			pairs = append(pairs, fmt.Sprintf(`"k%d":%d`, i, i))
		}
		return strings.Join(pairs, ",")
	}
	for _, c := range []struct {
		name, metadata string
		want           []string
	}{
		{"the three kinds", `"s":"x","i":-3,"b":true,"big":9007199254740991,"whole":2.0`, nil},
		{"other kinds", `"f":1.5,"n":null,"a":[],"o":{}`, []string{
			"$.metadata.a must be a string, or an integer, or true or false", "$.metadata.f must be a string, or an integer, or true or false",
			"$.metadata.o must be a string, or an integer, or true or false"}},
		{"too large a number", `"i":9007199254740992`, []string{"$.metadata.i must be between -9007199254740991 and 9007199254740991, as an integer"}},
		{"64 keys", keys(64), nil},
		{"65 keys", keys(65), []string{"$.metadata must have at most 64 keys"}},
		{"4 KiB", `"k":"` + strings.Repeat("x", 4095) + `"`, nil},
		{"4 KiB and a byte", `"k":"` + strings.Repeat("x", 4096) + `"`, []string{"$.metadata must be at most 4096 bytes in all"}},
		{"strange keys", `"it's":"x"," ":"y","123":"z"`, nil},
		{"an empty key", `"":"x"`, []string{"$.metadata[''] must not be empty as a key"}},
		{"an empty key and more", `"":"x","f":1.5`, []string{"$.metadata.f must be a string, or an integer, or true or false", "$.metadata[''] must not be empty as a key"}},
	} {
		call := a.postCall("createPayment", `{"paymentMethodToken":"t","metadata":{`+c.metadata+`}}`)
		err := call.accept()
		if got := faults(t, err); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
		if alone := c.name == "an empty key"; err != nil && (domain.ReasonOf(err) == domain.ReasonMetadataEmptyKey) != alone {
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil {
			if _, err := call.route.handle(call); !errors.Is(err, errTaken) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
	if err := a.postCall("createPaymentInstrument", `{"metadata":{"":1}}`).accept(); domain.ReasonOf(err) != domain.ReasonRequestValidation {
		t.Errorf("metadata where there is none: %v", err)
	}
}

// TestManyNames: a name is noted to find it again, up to a limit. A body with more names is
// refused, also if most of them are null and count as absent: else a repeated one behind them would
// be stored.
func TestManyNames(t *testing.T) {
	a := testAPI(t)
	many := ""
	for n := range 4096 {
		many += fmt.Sprintf(`"k%d":null,`, n)
	}
	for _, c := range []struct{ operation, before, after, at string }{
		{"createClientSession", `{"orderId":"o","paymentMethod":{"options":{`, `}}}`, "$.paymentMethod.options"},
		{"createClientSession", `{"orderId":"o","paymentMethod":{"options":{"list":[{`, `}]}}}`, "$.paymentMethod.options"},
		{"createPayment", `{"paymentMethodToken":"t","metadata":{`, `}}`, "$.metadata"},
		{"createPayment", `{"paymentMethodToken":"t",`, `}`, "$"},
	} {
		err := a.postCall(c.operation, c.before+many+`"x":1,"x":2`+c.after).accept()
		if got := faults(t, err); !slices.Contains(got, c.at+" has too many fields") {
			t.Errorf("%s: %q", c.before, got)
		}
		if err := a.postCall(c.operation, c.before+`"x":1,"x":2`+c.after).accept(); domain.ReasonOf(err) != domain.ReasonMalformedJSON {
			t.Errorf("%s: %v", c.before, err)
		}
	}
}

// TestCards: D12, at 14 March 2026.
func TestCards(t *testing.T) {
	a := testAPI(t)
	for _, c := range []struct {
		name, number, cvv, month, year string
		want                           []string
	}{
		{"good", "4111111111111111", "737", "03", "2030", nil},
		{"American Express", "378282246310005", "7373", "03", "2030", nil},
		{"this month", "4111111111111111", "737", "03", "2026", nil},
		{"last month", "4111111111111111", "737", "02", "2026", []string{"$.paymentInstrument.expirationYear lies in the past with expirationMonth"}},
		{"wrong check digit", "4111111111111112", "737", "03", "2030", []string{"$.paymentInstrument.number is not a card number"}},
		{"no scheme", "9999999999999995", "737", "03", "2030", []string{"$.paymentInstrument.number is not a card number"}},
		{"with spaces", "4111 1111 1111 1111", "737", "03", "2030", []string{"$.paymentInstrument.number must be 14 to 19 digits"}},
		{"short CVV", "378282246310005", "737", "03", "2030", []string{"$.paymentInstrument.cvv must have 4 digits for this card"}},
		{"long CVV", "4111111111111111", "7373", "03", "2030", []string{"$.paymentInstrument.cvv must have 3 digits for this card"}},
		{"all wrong", "12", "x", "13", "26", []string{
			"$.paymentInstrument.cvv must be 3 digits, 4 for American Express", "$.paymentInstrument.expirationMonth must be a month, 01 to 12",
			"$.paymentInstrument.expirationYear must be a year of four digits", "$.paymentInstrument.number must be 14 to 19 digits"}},
		{"all wrong by the rules", "4111111111111112", "7373", "01", "2020", []string{"$.paymentInstrument.cvv must have 3 digits for this card",
			"$.paymentInstrument.expirationYear lies in the past with expirationMonth", "$.paymentInstrument.number is not a card number"}},
	} {
		body := fmt.Sprintf(`{"paymentInstrument":{"number":%q,"cvv":%q,"expirationMonth":%q,"expirationYear":%q}}`, c.number, c.cvv, c.month, c.year)
		err := a.postCall("createPaymentInstrument", body).accept()
		if got := faults(t, err); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// TestQuery: D1.
func TestQuery(t *testing.T) {
	a := testAPI(t)
	for query, want := range map[string][]string{
		"":                                   nil,
		"limit=1":                            nil,
		"limit=100&cursor=abc":               nil,
		"limit=0":                            {"$.limit must be an integer between 1 and 100"},
		"limit=101":                          {"$.limit must be an integer between 1 and 100"},
		"limit=ten":                          {"$.limit must be an integer between 1 and 100"},
		"limit=":                             {"$.limit must be an integer between 1 and 100"},
		"limit=1&limit=2":                    {"$.limit must be sent once"},
		"page=2&limit=x":                     {"$.limit must be an integer between 1 and 100", "$.page is not a known parameter"},
		"cursor=" + strings.Repeat("x", 129): {"$.cursor must be at most 128 characters long"},
		"limit=%zz":                          {"$ must be name=value pairs, joined by &"},
	} {
		c := a.postCall("listApiKeys", "")
		c.r.Method, c.r.URL.RawQuery = http.MethodGet, query
		err := c.accept()
		if got := faults(t, err); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
		var e *domain.Error
		if errors.As(err, &e) && e.Model != validation.ModelQuery {
			t.Errorf("%q: model %q", query, e.Model)
		}
	}
}

// TestIdempotencyKeys: D9.
func TestIdempotencyKeys(t *testing.T) {
	for _, c := range []struct {
		sent []string
		fine bool
	}{
		{nil, true}, {[]string{"k"}, true}, {[]string{strings.Repeat("k", 255)}, true}, {[]string{"!~"}, true},
		{[]string{""}, false}, {[]string{strings.Repeat("k", 256)}, false}, {[]string{"a b"}, false}, {[]string{"é"}, false},
		{[]string{"a\x7f"}, false}, {[]string{"a", "b"}, false}, {[]string{"a", "a"}, false},
	} {
		key, err := request.IdempotencyKey(http.Header{"X-Idempotency-Key": c.sent})
		if (err == nil) != c.fine || c.fine && len(c.sent) > 0 && key != c.sent[0] {
			t.Errorf("%q: %q %v", c.sent, key, err)
		}
		if err != nil && !slices.Equal(faults(t, err), []string{"$['X-Idempotency-Key'] must be one header of 1 to 255 visible ASCII characters"}) {
			t.Errorf("%q: %v", c.sent, err)
		}
	}
}

// FuzzAccept checks that no body makes the guards panic, and that each accepted body decodes.
func FuzzAccept(f *testing.F) {
	a := testAPI(f)
	operations := []string{"createPayment", "createClientSession", "createPaymentInstrument", "createApiKey", "createWebhookEndpoint", "capturePayment", "refundPayment"}
	for i, seed := range []string{
		bigPayment, bigPayment, `{"paymentInstrument":{"number":"4111111111111111","cvv":"737","expirationMonth":"03","expirationYear":"2030"}}`,
		`{"name":"n","scopes":["account:read"],"expiresAt":"2030-01-01T00:00:00"}`, `{"url":"https://shop.example/","eventTypes":[]}`,
		`{"amount":1e3,"final":false,"metadata":{"a":1.0}}`, ` null `,
	} {
		f.Add(uint8(i), []byte(seed))
	}
	f.Add(uint8(0), []byte(`{"paymentMethodToken":"t","amount":1e3,"order":{"lineItems":[{"amount":-0.0,"productData":{"weight":1e-400}}]},"metadata":{"a":1.0}}`))
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		c := a.postCall(operations[int(which)%len(operations)], string(body))
		err := c.accept()
		if err == nil {
			_, err = c.route.handle(c)
		}
		if err != nil && reasonOf(err) == domain.ReasonInternal {
			t.Fatalf("%s %q: %v", c.route.operation, body, err)
		}
	})
}

// TestReadBody: the guard before the parser (D1).
func TestReadBody(t *testing.T) {
	a := testAPI(t)
	fits := `{"orderId":"` + strings.Repeat("x", maxBody-14) + `"}`
	for _, c := range []struct {
		name, body, contentType string
		want                    domain.Reason
	}{
		{"as wanted", "{}", "application/json", ""},
		{"with a charset", "{}", "application/json; charset=utf-8", ""},
		{"in capitals", "{}", "Application/JSON", ""},
		{"no content type", "{}", "", domain.ReasonUnsupportedMediaType},
		{"a form", "a=1", "application/x-www-form-urlencoded", domain.ReasonUnsupportedMediaType},
		{"other JSON", "{}", "application/problem+json", domain.ReasonUnsupportedMediaType},
		{"empty", "", "", domain.ReasonMalformedJSON},
		{"empty, declared", "", "application/json", domain.ReasonMalformedJSON},
		{"1 MiB", fits, "application/json", ""},
		{"1 MiB and a byte", fits + " ", "application/json", domain.ReasonRequestTooLarge},
	} {
		call := a.postCall("createPayment", c.body)
		call.r.Header.Set("Content-Type", c.contentType)
		if err := call.readBody(); (err == nil) != (c.want == "") || err != nil && domain.ReasonOf(err) != c.want {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	broken := a.postCall("createPayment", "")
	broken.r = httptest.NewRequest(http.MethodPost, "/", iotest.ErrReader(errors.New("cut")))
	if err := broken.readBody(); domain.ReasonOf(err) != domain.ReasonMalformedJSON {
		t.Errorf("a body that is cut: %v", err)
	}
}
