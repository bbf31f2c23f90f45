package httpapi_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain/processor"
)

// TestProcessorAccounts: they are listed in the order in which they are tried, change one by one,
// and the next payment goes where it may (D15, D20).
func TestProcessorAccounts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var all []string
	for _, name := range processor.Names {
		all = append(all, string(name))
	}
	for _, limit := range []int{1, 4, 6, 100} {
		if got := r.pages("/processors", "name", limit); !slices.Equal(got, all) {
			t.Errorf("by %d: %q", limit, got)
		}
	}
	before := r.events()
	r.want(r.manage("PATCH", "/processors/ADYEN", `{"enabled":true}`), 200, "")
	r.want(r.manage("PATCH", "/processors/ADYEN", `{}`), 200, "")
	if n := r.events() - before; n != 0 {
		t.Errorf("%d events of a change that is none", n)
	}
	sameJSON(t, "merchant account", r.want(r.manage("PATCH", "/processors/BRAINTREE", `{"processorMerchantId":"shop-7"}`), 200, ""),
		`{"name":"BRAINTREE","processorMerchantId":"shop-7","enabled":true}`)
	off := r.want(r.manage("PATCH", "/processors/ADYEN/", `{"enabled":false}`), 200, "")
	if off.field("enabled") != false || off.text1("processorMerchantId") == "" {
		t.Errorf("disabled: %s", off.text)
	}
	listed := r.want(r.manage("GET", "/processors", ""), 200, "").field("data").([]any)
	if adyen := listed[0].(map[string]any); len(listed) != 6 || adyen["enabled"] != false {
		t.Errorf("listed %v", listed)
	}
	paid := r.want(r.do(request{method: "POST", path: "/payments", body: `{"paymentMethodToken":"` + r.tokenize(r.session(someSession), goodCard) + `"}`}), 200, "")
	if paid.text1("processor", "name") != "BRAINTREE" || paid.text1("processor", "processorMerchantId") != "shop-7" {
		t.Errorf("paid at %v", paid.field("processor"))
	}
}

// TestProcessorAccountFaults checks that the answer names all faults, and that an unknown processor
// is not found (D3, D20).
func TestProcessorAccountFaults(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.want(r.manage("PATCH", "/processors/ADYEN", `{"enabled":"no","processorMerchantId":"","name":"ADYEN"}`), 422, "RequestValidationError")
	if want := []string{
		"ProcessorAccountRequest $.enabled must be true or false", "ProcessorAccountRequest $.name is not a known field",
		"ProcessorAccountRequest $.processorMerchantId must not be empty",
	}; !slices.Equal(a.faults(), want) {
		t.Errorf("%q", a.faults())
	}
	for _, name := range []string{"SQUARE", "adyen", "%20"} {
		r.want(r.manage("PATCH", "/processors/"+name, `{"enabled":true}`), 404, "EntityNotFound")
	}
	r.want(r.manage("PATCH", "/processors/SQUARE", `{"enabled":1}`), 422, "RequestValidationError")
	r.want(r.manage("PATCH", "/processors/ADYEN", ``), 400, "MalformedJson")
	if get := r.want(r.manage("GET", "/processors/ADYEN", ""), 405, "MethodNotAllowed"); get.header.Get("Allow") != "PATCH" {
		t.Errorf("it takes %s", get.header.Get("Allow"))
	}
}

// TestSettings checks that a PATCH changes only the settings it names and returns all. The next
// request uses them (D4, D5, D6, D20).
func TestSettings(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := `{"captureMode":"MANUAL","first6Digits":false,"refuseRefundOfDisputed":false}`
	sameJSON(t, "at first", r.want(r.manage("GET", "/settings", ""), 200, ""), first)
	for _, c := range []struct {
		sent, want string
		records    uint64
	}{
		{`{}`, first, 0},
		{`{"captureMode":"MANUAL","clientTokenTtl":null,"first6Digits":false}`, first, 0},
		{`{"first6Digits":true}`, `{"captureMode":"MANUAL","first6Digits":true,"refuseRefundOfDisputed":false}`, 1},
		{`{"clientTokenTtl":60}`, `{"captureMode":"MANUAL","clientTokenTtl":60,"first6Digits":true,"refuseRefundOfDisputed":false}`, 1},
		{`{"captureMode":"AUTOMATIC","clientTokenTtl":2592000}`, `{"captureMode":"AUTOMATIC","clientTokenTtl":2592000,"first6Digits":true,"refuseRefundOfDisputed":false}`, 1},
		{`{"captureMode":"AUTOMATIC"}`, `{"captureMode":"AUTOMATIC","clientTokenTtl":2592000,"first6Digits":true,"refuseRefundOfDisputed":false}`, 0},
		{`{"clientTokenTtl":null}`, `{"captureMode":"AUTOMATIC","first6Digits":true,"refuseRefundOfDisputed":false}`, 1},
		{`{"captureMode":"MANUAL","first6Digits":false}`, first, 1},
		{`{"refuseRefundOfDisputed":true}`, `{"captureMode":"MANUAL","first6Digits":false,"refuseRefundOfDisputed":true}`, 1},
		{`{"refuseRefundOfDisputed":false}`, first, 1},
	} {
		before := r.events()
		sameJSON(t, c.sent, r.want(r.manage("PATCH", "/settings", c.sent), 200, ""), c.want)
		if n := r.events() - before; n != c.records {
			t.Errorf("%s recorded %d events", c.sent, n)
		}
		sameJSON(t, c.sent+" read back", r.want(r.manage("GET", "/settings", ""), 200, ""), c.want)
	}
	named := `{"captureMode":"MANUAL","displayName":"Käse & <b>Brot</b>","first6Digits":false,"refuseRefundOfDisputed":false}`
	sameJSON(t, "named", r.want(r.manage("PATCH", "/settings", `{"displayName":"Käse & <b>Brot</b>"}`), 200, ""), named)
	sameJSON(t, "named still", r.want(r.manage("PATCH", "/settings", `{}`), 200, ""), named)
	sameJSON(t, "unnamed", r.want(r.manage("PATCH", "/settings", `{"displayName":null}`), 200, ""), first)
	for name, want := range map[string]string{
		`""`: "must not be empty", `7`: "must be a string", `"` + strings.Repeat("é", 65) + `"`: "must be at most 64 characters long",
		`"a\nb"`:             "must not hold the control character U+000A",
		`"a\u202eb"`:         "must have 1 to 64 characters, none of them invisible, and no space at an end",
		`" a"`:               "must have 1 to 64 characters, none of them invisible, and no space at an end",
		`"4111111111111111"`: "must not hold a card number: it holds 16 digits in a row, with a prefix of VISA and a right check digit",
	} {
		a := r.want(r.manage("PATCH", "/settings", `{"displayName":`+name+`}`), 422, "RequestValidationError")
		if !slices.Equal(a.faults(), []string{"SettingsRequest $.displayName " + want}) {
			t.Errorf("%s: %q", name, a.faults())
		}
	}
	a := r.want(r.manage("PATCH", "/settings", `{"captureMode":"manual","clientTokenTtl":59,"first6Digits":null,"x":{}}`), 422, "RequestValidationError")
	if want := []string{
		"SettingsRequest $.captureMode must be one of MANUAL, AUTOMATIC", "SettingsRequest $.clientTokenTtl must be an integer between 60 and 2592000",
		"SettingsRequest $.first6Digits must be true or false", "SettingsRequest $.x is not a known field",
	}; !slices.Equal(a.faults(), want) {
		t.Errorf("%q", a.faults())
	}
	r.want(r.manage("PATCH", "/settings", `{"clientTokenTtl":2592001}`), 422, "RequestValidationError")
}

// TestSettingsTakeEffect: the first request after the answer sees them.
func TestSettingsTakeEffect(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	life := func() time.Duration {
		start := r.now()
		opened := r.want(r.do(request{method: "POST", path: "/client-session", body: `{}`}), 200, "")
		ends, err := time.Parse(time.RFC3339, opened.text1("clientTokenExpirationDate"))
		must(t, err)
		return ends.Sub(start).Round(time.Minute)
	}
	firstSix := func() any {
		made := r.browser(r.session(someSession), `{"paymentInstrument":{"number":"`+goodCard+`","cvv":"737","expirationMonth":"03","expirationYear":"`+expires+`"}}`)
		return r.want(made, 200, "").field("paymentInstrumentData", "first6Digits")
	}
	if got, six := life(), firstSix(); got != time.Hour || six != nil {
		t.Errorf("before: %s, %v", got, six)
	}
	r.want(r.manage("PATCH", "/settings", `{"clientTokenTtl":600,"first6Digits":true}`), 200, "")
	if got, six := life(), firstSix(); got != 10*time.Minute || six != goodCard[:6] {
		t.Errorf("after: %s, %v", got, six)
	}
	r.want(r.manage("PATCH", "/settings", `{"clientTokenTtl":null}`), 200, "")
	if got := life(); got != time.Hour {
		t.Errorf("the service's own: %s", got)
	}
}

// TestManagementScopes: account:read reads and changes nothing, account:write alone reads nothing
// (D2).
func TestManagementScopes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	key := func(scope string) string {
		return r.want(r.manage("POST", "/api-keys", `{"name":"k","scopes":["`+scope+`"]}`), 200, "").text1("apiKey")
	}
	read, write, other := key("account:read"), key("settings:write"), key("transactions:authorize")
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/routing", ""}, {"PUT", "/routing", `{"rules":[]}`}, {"GET", "/processors", ""}, {"PATCH", "/processors/ADYEN", `{}`},
		{"GET", "/settings", ""}, {"PATCH", "/settings", `{}`},
	} {
		call := func(key string) answer {
			return r.do(request{method: c.method, path: "/management" + c.path, body: c.body, header: map[string]string{"X-Api-Key": key, "X-Api-Version": ""}})
		}
		may, mayNot := write, read
		if c.method == "GET" {
			may, mayNot = read, write
		}
		r.want(call(may), 200, "")
		r.want(call(mayNot), 403, "MissingScope")
		r.want(call(other), 403, "MissingScope")
		r.want(call(""), 401, "Unauthorized")
	}
}
