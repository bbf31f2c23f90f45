package httpapi_test

import (
	"strings"
	"testing"
)

// exactNumbers are numbers that no float64 holds, or that it writes in another way.
const exactNumbers = `[12345678901234567890,-0.10,1.0,1e3,1E+40,0.1000000000000000055511151231257827,9007199254740993]`

// aVisa is a body that tokenizes a card.
var aVisa = `{"paymentInstrument":{"number":"4111111111111111","cvv":"737","expirationMonth":"03","expirationYear":"` + expires + `"}}`

// TestOptionsKeepNumbers: the numbers of options are answered digit by digit as they were sent, whether or not a null beside
// them was dropped and whatever a change adds or leaves (D21).
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
