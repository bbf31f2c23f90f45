package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"payledger/eventstore/eventstoretest"
)

// TestAutomaticCapture checks that captureMode AUTOMATIC captures an authorized payment at once. It
// captures neither an authorization of zero nor a declined payment (D5).
func TestAutomaticCapture(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
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

// TestFailureLimit checks that 100 captures above what is left end the captures of the payment for
// 24 hours, without a call to the processor, and no other operation (D22.11).
func TestFailureLimit(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	at := r.paid(goodCard, "")
	id := strings.TrimPrefix(at, "/payments/")
	r.want(r.post(at+"/capture", `{"amount":1000,"final":false}`), 200, "")
	key := r.keyWith("transactions:capture")
	for i := range 100 {
		q := request{method: "POST", path: at + "/capture", body: `{"amount":2421}`, header: map[string]string{"X-API-KEY": key, "X-Idempotency-Key": fmt.Sprintf("attempt-%d", i)}}
		if a := r.want(r.do(q), 422, "RequestValidationError"); i == 0 && a.text1("error", "paymentStatus") != "PARTIALLY_SETTLED" {
			t.Errorf("refused: %s", a.text)
		}
	}
	ended := r.now()
	before, calls := r.events(), len(r.books(id))
	a := r.want(r.post(at+"/capture", ""), 409, "PaymentRequestLimitExceeded")
	if a.text1("error", "paymentId") != id || a.text1("error", "paymentStatus") != "PARTIALLY_SETTLED" {
		t.Errorf("refused: %s", a.text)
	}
	text, works, _ := strings.Cut(a.text1("error", "description"), " are accepted from ")
	works, _, _ = strings.Cut(works, ";")
	until, err := time.Parse(time.RFC3339, works)
	if text != "100 captures of the payment were refused by the rules of the ledger. Further captures" || err != nil || until.After(ended.Add(24*time.Hour)) || until.Before(ended.Add(23*time.Hour)) {
		t.Errorf("it says %q from %s", text, works)
	}
	r.want(r.post(at+"/capture", "", "X-Idempotency-Key", "attempt-7"), 409, "IdempotencyKeyAlreadyExists")
	if n := r.events() - before; n != 0 || len(r.books(id)) != calls {
		t.Errorf("%d events and %d operations after the limit", n, len(r.books(id))-calls)
	}
	if back := r.want(r.post(at+"/refund", `{"amount":400}`), 200, ""); back.field("processor", "amountRefunded") != 400.0 {
		t.Errorf("refunded: %s", back.text)
	}
	r.late.Store(int64((24*time.Hour + time.Minute) / time.Second))
	if more := r.want(r.post(at+"/capture", `{"amount":500,"final":false}`), 200, ""); more.field("processor", "amountCaptured") != 1500.0 {
		t.Errorf("captured a day later: %s", more.text)
	}
	if gone := r.want(r.post(at+"/cancel", ""), 200, ""); gone.text1("status") != "SETTLED" {
		t.Errorf("cancelled: %s", gone.text)
	}
	found := r.want(r.do(request{method: "GET", path: at + events}), 200, "")
	if n := len(found.events()); n != 105 {
		t.Errorf("%d transaction events", n)
	}
}
