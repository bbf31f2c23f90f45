package httpapi_test

import (
	"strings"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// settled makes the processors finish what is pending, and waits until the payment has the value in
// the field.
func (r *rig) settled(at, field, value string) {
	r.t.Helper()
	_, err := r.sim.Settle(r.t.Context())
	must(r.t, err)
	r.until(at, field, value)
}

// says checks that the error's texts contain all parts and none of the others.
func (r *rig) says(a answer, parts, others []string) {
	r.t.Helper()
	text := a.text1("error", "description") + " " + a.text1("error", "recoverySuggestion")
	for _, part := range parts {
		if !strings.Contains(text, part) {
			r.t.Errorf("%q is missing in %s", part, text)
		}
	}
	for _, other := range others {
		if strings.Contains(text, other) {
			r.t.Errorf("%s says %q", text, other)
		}
	}
}

// TestZeroNowAndForGood checks that only what can never change is called so: while a capture or a
// refund is pending, or another capture has an amount left, a refund of nothing is 422 with the
// amounts, and succeeds later (D22.1).
func TestZeroNowAndForGood(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	forGood := []string{"othing is left", "All is captured", "create another payment", "All of the captured"}

	at := r.paid(settlesCard, `,"paymentMethod":{"authorizationType":"ESTIMATED"}`)
	r.want(r.post(at+"/capture", `{"amount":1000}`), 200, "")
	r.says(r.want(r.post(at+"/refund", ""), 422, "UnprocessableRefundAmount"),
		[]string{"0.00 EUR is left", "Captured: 0.00 EUR", "Refunded: 0.00 EUR", "Pending: 10.00 EUR of captures, 0.00 EUR of refunds", "Try again when the pending capture is confirmed", "PAYMENT.STATUS"}, forGood)
	r.says(r.want(r.post(at+"/refund", `{"amount":1001}`), 422, "UnprocessableRefundAmount"), []string{"10.01 EUR was requested"}, append(forGood, "Try again"))
	r.says(r.want(r.post(at+"/capture", ""), 400, "InvalidPaymentStatus"), []string{"no longer SETTLING"}, forGood)
	r.says(r.want(r.post(at+"/adjust-authorization", `{"amount":3000}`), 400, "InvalidPaymentStatus"), []string{"has no result yet"}, forGood)
	r.settled(at, "status", "SETTLED")
	r.want(r.post(at+"/refund", ""), 200, "")
	r.says(r.want(r.post(at+"/refund", ""), 409, "PaymentAlreadyRefunded"), []string{"All of the captured 10.00 EUR is refunded"}, nil)

	at = r.paid("4000000000005126", "") // every refund fails in the end
	r.want(r.post(at+"/capture", ""), 200, "")
	r.want(r.post(at+"/refund", `{"amount":2000}`), 200, "")
	r.want(r.post(at+"/refund", ""), 200, "")
	r.says(r.want(r.post(at+"/refund", `{"amount":420}`), 422, "UnprocessableRefundAmount"),
		[]string{"0.00 EUR is left", "4.20 EUR was requested", "Captured: 24.20 EUR", "Pending: 0.00 EUR of captures, 24.20 EUR of refunds", "Try again when the pending refund has failed", "PAYMENT.REFUND"}, forGood)
	_, err := r.sim.Settle(t.Context())
	must(t, err)
	r.eventually(func() bool { return r.post(at+"/refund", `{"amount":2420}`).status == 200 })

	at = r.paid(goodCard, "")
	first := r.want(r.post(at+"/capture", `{"amount":1000,"final":false,`+expanded+`}`), 200, "").events()[1]["id"].(string)
	targeted := `{"transactionEventId":"` + first + `"}`
	r.want(r.post(at+"/refund", targeted), 200, "")
	r.says(r.want(r.post(at+"/refund", ""), 409, "PaymentAlreadyRefunded"), []string{"captured later can be refunded"}, []string{"othing is left"})
	r.want(r.post(at+"/capture", `{"amount":500}`), 200, "")
	r.says(r.want(r.post(at+"/refund", targeted), 422, "UnprocessableRefundAmount"),
		[]string{"0.00 EUR of the capture is left to refund, 5.00 EUR of all captures", "Captured: 15.00 EUR", "Refunded: 10.00 EUR", "another capture"}, append(forGood, "Try again"))
	r.want(r.post(at+"/refund", ""), 200, "")
	r.want(r.post(at+"/refund", targeted), 409, "PaymentAlreadyRefunded")
}
