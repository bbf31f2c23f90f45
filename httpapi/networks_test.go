package httpapi_test

import (
	"strings"
	"testing"
)

// TestSavedCardsOfAllowedNetworks: a saved card of a network that the session does not allow is
// neither offered nor charged, in the checkout or by the merchant; nor is a card that was entered
// before the session was changed (D21).
func TestSavedCardsOfAllowedNetworks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	visa, mastercard := r.tokenize(r.session(someSession), goodCard), r.tokenize(r.session(someSession), "5555555555554444")
	r.want(r.vault(visa, ofCustomer7), 200, "")
	r.want(r.vault(mastercard, ofCustomer7), 200, "")
	const onlyMastercard = `"paymentMethod":{"orderedAllowedCardNetworks":["MASTERCARD"]}`
	only := strings.TrimSuffix(someSession, "}") + "," + onlyMastercard + "}"
	client := r.session(only)
	for _, page := range []answer{
		r.want(r.inBrowser(client, "GET", "/checkout/configuration", ""), 200, ""), r.do(request{method: "GET", path: "/checkout?clientToken=" + client}),
	} {
		if strings.Contains(page.text, visa) || !strings.Contains(page.text, mastercard) {
			t.Errorf("offered: %s", page.text)
		}
	}
	refused := func(a answer) {
		t.Helper()
		a = r.want(a, 400, "PaymentError")
		if says := a.text1("error", "description"); says != "The payment cannot be created: its card is of VISA, and the networks allowed are MASTERCARD." {
			t.Error(says)
		}
	}
	refused(r.inBrowser(client, "POST", "/checkout/payments", payWith(visa)))
	manual := r.session(strings.TrimSuffix(only, "}") + `,"approvalMode":"MANUAL"}`)
	refused(r.inBrowser(manual, "POST", "/payment-attempts", payWith(visa)))
	refused(r.post("/payments", strings.TrimSuffix(repeatedly(visa), "}")+","+onlyMastercard+"}"))

	later := r.session(someSession)
	entered := r.tokenize(later, goodCard)
	r.want(r.do(request{method: "PATCH", path: "/client-session", body: `{"clientToken":"` + later + `",` + onlyMastercard + `}`}), 200, "")
	refused(r.inBrowser(later, "POST", "/checkout/payments", payWith(entered)))
	refused(r.post("/payments", payWith(entered)))

	r.want(r.inBrowser(client, "POST", "/checkout/payments", payWith(mastercard)), 200, "")
	r.want(r.post("/payments", repeatedly(visa)), 200, "")
	if all := r.keptFor("customer-7"); len(all) != 2 {
		t.Errorf("the merchant's own list: %v", all)
	}
}
