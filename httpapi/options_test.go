package httpapi_test

import (
	"slices"
	"strings"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// exactNumbers are numbers that a float64 cannot represent, or formats differently.
const exactNumbers = `[12345678901234567890,-0.10,1.0,1e3,1E+40,0.1000000000000000055511151231257827,9007199254740993]`

// aVisa is a body that tokenizes a card.
var aVisa = `{"paymentInstrument":{"number":"4111111111111111","cvv":"737","expirationMonth":"03","expirationYear":"` + expires + `"}}`

// TestOptionsKeepNumbers checks that the numbers of options are returned digit by digit as sent,
// with or without a dropped null beside them, and after any change (D21).
func TestOptionsKeepNumbers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	keeps := func(a answer, part string) {
		t.Helper()
		if !strings.Contains(a.text, part) {
			t.Errorf("%s is not in %s", part, a.text)
		}
	}
	const order = `"orderId":"o","currencyCode":"EUR","amount":100,`
	whole := `"options":{"z":` + exactNumbers + `,"a":"<&>"}`
	made := r.want(r.post("/client-session", `{`+order+`"paymentMethod":{`+whole+`}}`), 200, "")
	keeps(made, `"z":`+exactNumbers)
	client := made.text1("clientToken")

	withNull := r.want(r.post("/client-session", `{`+order+`"returnUrl":null,"paymentMethod":{"descriptor":null,`+whole+`}}`), 200, "")
	keeps(withNull, `"z":`+exactNumbers)

	change := func(fields string) answer {
		t.Helper()
		return r.want(r.do(request{method: "PATCH", path: "/client-session", body: `{"clientToken":"` + client + `",` + fields + `}`}), 200, "")
	}
	events := r.events()
	keeps(change(`"orderId":"o"`), `"z":`+exactNumbers)
	if now := r.events(); now != events {
		t.Errorf("a change of nothing recorded %d events", now-events)
	}
	keeps(change(`"amount":200`), `"z":`+exactNumbers)
	keeps(change(`"paymentMethod":{"options":{"y":`+exactNumbers+`}}`), `"z":`+exactNumbers)
	both := r.want(r.readSession(client), 200, "")
	keeps(both, `"z":`+exactNumbers)
	keeps(both, `"y":`+exactNumbers)

	token := r.want(r.browser(client, aVisa), 200, "").text1("token")
	paid := r.want(r.post("/payments", `{"paymentMethodToken":"`+token+`","customer":null,"paymentMethod":{"options":`+exactNumbers+`}}`), 200, "")
	keeps(paid, `"options":`+exactNumbers)
	keeps(r.want(r.do(request{method: "GET", path: "/payments/" + paid.text1("id") + "/events"}), 200, ""), `"options":`+exactNumbers)
}

// TestNoCardNumberInOptions: a card number of any length is refused in options, as a text, as a
// name or as a number in any writing, at every way in; numbers beside one are not (D21).
func TestNoCardNumberInOptions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.want(r.post("/client-session", `{"orderId":"o","currencyCode":"EUR","amount":100}`), 200, "").text1("clientToken")
	token := r.want(r.browser(client, aVisa), 200, "").text1("token")
	ways := map[string]func(options string) answer{
		"POST /client-session": func(options string) answer {
			return r.post("/client-session", `{"paymentMethod":{"options":`+options+`}}`)
		},
		"PATCH /client-session": func(options string) answer {
			return r.do(request{method: "PATCH", path: "/client-session", body: `{"clientToken":"` + client + `","paymentMethod":{"options":` + options + `}}`})
		},
		"POST /payments": func(options string) answer {
			return r.post("/payments", `{"paymentMethodToken":"`+token+`","paymentMethod":{"descriptor":null,"options":`+options+`}}`)
		},
	}
	events := r.events()
	for way, send := range ways {
		for options, path := range map[string]string{
			`{"pan":4111111111111111}`:            "$.paymentMethod.options.pan",
			`{"list":[1,{"n":6212345678901232}]}`: "$.paymentMethod.options.list[1].n",
			`{"n":62123456789012347}`:             "$.paymentMethod.options.n",
			`{"n":621234567890123457}`:            "$.paymentMethod.options.n",
			`{"n":6212345678901234569}`:           "$.paymentMethod.options.n",
			`{"n":-6212345678901234569}`:          "$.paymentMethod.options.n",
			`{"n":6212345678901234569.0}`:         "$.paymentMethod.options.n",
			`{"n":6.212345678901234569e18}`:       "$.paymentMethod.options.n",
			`{"n":62123456789012345690e-1}`:       "$.paymentMethod.options.n",
			`6212345678901234569`:                 "$.paymentMethod.options",
			`["6212345678901234569"]`:             "$.paymentMethod.options[0]",
			`{"6212345678901234569":1}`:           "$.paymentMethod.options['…']",
		} {
			a := r.want(send(options), 422, "RequestValidationError")
			faults := a.faults()
			if len(faults) != 1 || !strings.Contains(faults[0], " "+path+" must not hold a card number: it holds ") || strings.Contains(a.text, "23456789") {
				t.Errorf("%s %s: %s", way, options, a.text)
			}
		}
	}
	if now := r.events(); now != events {
		t.Errorf("%d events were recorded", now-events)
	}
	for _, options := range []string{
		`{"n":6212345678901234563}`, `{"n":62123456789012345620}`, `{"n":0.6212345678901234569}`, `{"n":1e99}`, `9007199254740993`, `{"at":1735689600000}`,
	} {
		r.want(ways["POST /client-session"](options), 200, "")
	}
}

// TestOptionsSize: the stored text of options has at most 8 KiB, in every call and after any number
// of changes (D21). The stored text counts, without white space, and in the spelling in which it
// was sent.
func TestOptionsSize(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	const limit = 8 << 10
	client := r.want(r.post("/client-session", `{"orderId":"o","currencyCode":"EUR","amount":100}`), 200, "").text1("clientToken")
	change := func(options string) answer {
		return r.do(request{method: "PATCH", path: "/client-session", body: `{"clientToken":"` + client + `","paymentMethod":{"options":` + options + `}}`})
	}
	create := func(options string) answer {
		return r.post("/client-session", `{"paymentMethod":{"options":`+options+`}}`)
	}
	list := func(element string, size int) string { // exactly so many bytes
		text := `[` + strings.Repeat(element+",", (size-20)/(len(element)+1))
		return text + `"` + strings.Repeat("x", size-len(text)-3) + `"]`
	}
	refused := func(a answer, model string) {
		t.Helper()
		want := []string{model + " $.paymentMethod.options must be at most 8192 bytes of JSON"}
		if got := r.want(a, 422, "RequestValidationError").faults(); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	}
	for _, element := range []string{`"text"`, "1e15", "0.100000000000000000000000", `"<&>"`, "null"} {
		r.want(create(list(element, limit)), 200, "")
		refused(create(list(element, limit+1)), "ClientSessionRequest")
		r.want(change(list(element, limit)), 200, "")
		refused(change(list(element, limit+1)), "ClientSessionChange")
		token := r.want(r.browser(client, aVisa), 200, "").text1("token")
		pay := func(options string) answer {
			return r.post("/payments", `{"paymentMethodToken":"`+token+`","paymentMethod":{"options":`+options+`}}`)
		}
		refused(pay(list(element, limit+1)), "PaymentCreation")
		r.want(pay(list(element, limit)), 200, "")
	}
	r.want(create(strings.Repeat(" ", limit)+list("1", limit)), 200, "")

	part := func(name string, size int) string { return `{"` + name + `":"` + strings.Repeat("x", size) + `"}` }
	r.want(change(part("a", limit/2)), 200, "")
	refused(change(part("b", limit/2)), "ClientSessionChange")
	if a := r.want(r.readSession(client), 200, ""); strings.Contains(a.text, `"b":`) {
		t.Errorf("a refused change was kept: %s", a.text)
	}
	r.want(change(`{"a":null,"b":"`+strings.Repeat("x", limit/2)+`"}`), 200, "")
}

// TestMethodTypeOfAChange: a change takes the payment method types that a session takes at its
// creation, and null (D21).
func TestMethodTypeOfAChange(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.want(r.post("/client-session", `{"paymentMethod":{"paymentMethodType":"PAYMENT_CARD"}}`), 200, "").text1("clientToken")
	change := func(kind string) answer {
		return r.do(request{method: "PATCH", path: "/client-session", body: `{"clientToken":"` + client + `","paymentMethod":{"paymentMethodType":` + kind + `}}`})
	}
	r.want(change(`"nothing of the kind"`), 422, "RequestValidationError")
	if a := r.want(change(`"PAYPAL"`), 200, ""); a.text1("paymentMethod", "paymentMethodType") != "PAYPAL" {
		t.Error(a.text)
	}
	if a := r.want(change(`null`), 200, ""); a.field("paymentMethod") != nil {
		t.Error(a.text)
	}
}
