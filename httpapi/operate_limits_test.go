package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestAutomaticCapture checks that captureMode AUTOMATIC captures an authorized payment at once. It captures neither an authorization of
// zero nor a declined payment (D5).
func TestAutomaticCapture(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := r.paid(goodCard, "")
	r.want(r.manage("PATCH", "/settings", `{"captureMode":"AUTOMATIC"}`), 200, "")
	for _, c := range []struct {
		card, more, status string
		operations         int
	}{
		{goodCard, "", "SETTLED", 2},
		{"4000000000005175", "", "SETTLING", 2},
		{goodCard, `,"amount":0`, "AUTHORIZED", 1},
		{declinedCard, "", "DECLINED", 1},
		{"4000000000005266", "", "SETTLED", 3}, // the second processor authorizes and captures
	} {
		at := r.paid(c.card, c.more)
		a := r.want(r.do(request{method: "GET", path: at + events}), 200, "")
		if a.text1("status") != c.status {
			t.Errorf("%s %s: %s", c.card, c.more, a.text)
		}
		if lines := r.books(strings.TrimPrefix(at, "/payments/")); len(lines) != c.operations {
			t.Errorf("%s %s: %d operations in the books", c.card, c.more, len(lines))
		}
	}
	if a := r.want(r.do(request{method: "GET", path: before}), 200, ""); a.text1("status") != "AUTHORIZED" {
		t.Errorf("a payment from before the change: %s", a.text)
	}
}

// TestFailureLimit: after 100 failed operations no further one is taken, and the processor is not called
// (D3, D7).
func TestFailureLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.paid(goodCard, "")
	id := strings.TrimPrefix(at, "/payments/")
	for i := range 100 {
		a := r.want(r.post(at+"/capture", `{"amount":2421}`, "X-Idempotency-Key", fmt.Sprintf("attempt-%d", i)), 422, "RequestValidationError")
		if i == 0 && a.text1("error", "paymentStatus") != "AUTHORIZED" {
			t.Errorf("refused: %s", a.text)
		}
	}
	before := r.events()
	for _, call := range []string{"/capture", "/cancel"} {
		a := r.want(r.post(at+call, ""), 409, "PaymentRequestLimitExceeded")
		if a.text1("error", "paymentId") != id || a.text1("error", "paymentStatus") != "AUTHORIZED" {
			t.Errorf("%s: %s", call, a.text)
		}
	}
	r.want(r.post(at+"/capture", "", "X-Idempotency-Key", "attempt-7"), 409, "IdempotencyKeyAlreadyExists")
	if n := r.events() - before; n != 0 || len(r.books(id)) != 1 {
		t.Errorf("%d events and %d operations after the limit", n, len(r.books(id)))
	}
	found := r.want(r.do(request{method: "GET", path: at + events}), 200, "")
	if n := len(found.events()); n != 101 || found.text1("status") != "AUTHORIZED" {
		t.Errorf("%d transaction events, %s", n, found.text1("status"))
	}
}
