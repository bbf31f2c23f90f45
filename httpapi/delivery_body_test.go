package httpapi_test

import (
	"strings"
	"testing"
)

// TestDeliveryBody: the body of a delivery is byte for byte the body that was sent, with its
// signedAt. It has no personal data after an erasure, there is none for a deleted endpoint, and
// only the call that reads one delivery has it (D20).
func TestDeliveryBody(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	r.inbox.answer("/", status(500, "no"))
	endpoint := r.takes("/")
	r.sold(goodCard, someSession)
	one := "/webhook-deliveries/" + r.settled("outcome=EXHAUSTED", 1)[0]["id"].(string)
	read := func() string { return r.want(r.manage("GET", one, ""), 200, "").text }
	sent := r.arrived("/", 1)[0].body
	if !strings.Contains(sent, "ada@example.com") {
		t.Fatalf("the webhook lacks the customer: %s", sent)
	}
	if got := read(); !strings.HasSuffix(got, `,"body":`+sent+`}`) || strings.Contains(got, "plsec_") {
		t.Errorf("the delivery: %s\nthe webhook: %s", got, sent)
	}
	r.late.Store(60)
	if again := r.want(r.manage("POST", one+"/resend", ""), 200, ""); again.field("body") != nil {
		t.Errorf("resending answers a body: %s", again.text)
	}
	if second := r.arrived("/", 2)[1].body; second == sent || !strings.HasSuffix(read(), `,"body":`+second+`}`) {
		t.Errorf("after the second attempt: %s\nthe webhook: %s", read(), second)
	}
	if _, list := r.deliveries(""); strings.Contains(list.text, "signedAt") {
		t.Errorf("the list has bodies: %s", list.text)
	}
	r.want(r.manage("PATCH", "/webhook-endpoints/"+endpoint, `{"enabled":false,"description":"closed"}`), 200, "")
	if got := read(); !strings.Contains(got, `"notificationConfig":{"id":"`+endpoint+`","description":"closed"}`) {
		t.Errorf("of a disabled endpoint: %s", got)
	}
	r.want(r.manage("POST", "/customers/customer-7/erase", ""), 200, "")
	if got := read(); strings.Contains(got, "ada@example.com") || !strings.Contains(got, `"customerId":"customer-7"`) {
		t.Errorf("after the erasure: %s", got)
	}
	r.want(r.manage("DELETE", "/webhook-endpoints/"+endpoint, ""), 200, "")
	if got := r.want(r.manage("GET", one, ""), 200, ""); got.field("body") != nil || len(got.field("attempts").([]any)) != 2 {
		t.Errorf("of a deleted endpoint: %s", got.text)
	}
}
