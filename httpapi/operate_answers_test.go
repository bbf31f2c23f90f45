package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// slow makes the next operation of a kind, at one processor or any, answer after the payment timeout.
func (r *rig) slow(kind processor.Kind, at processor.Name, delay time.Duration) {
	r.t.Helper()
	once := 1
	must(r.t, r.sim.SetFault(r.t.Context(), protocol.Fault{
		Operation: kind, Processor: at, Mode: protocol.Latency, DelayMs: int(delay.Milliseconds()), Count: &once,
	}))
}

// callerTimeout is how long callers of the tests below wait: long enough for all other requests of the tests.
const callerTimeout = 5 * time.Second

// answersAsItStands compares the answer to a call that timed out with a read of the payment, and returns the payment's path.
func (r *rig) answersAsItStands(made answer) string {
	r.t.Helper()
	at := "/payments/" + made.text1("id")
	read := r.want(r.get(at), 200, "")
	for _, field := range [][]string{{"status"}, {"processor", "name"}, {"statusReason", "type"}} {
		if was, is := made.text1(field...), read.text1(field...); was != is {
			r.t.Errorf("%v answered as %q, read as %q", field, was, is)
		}
	}
	if made.text1("statusReason", "type") != "GATEWAY_TIMEOUT" {
		r.t.Errorf("no time-out: %s", made.text)
	}
	return at
}

// TestCaptureAtTimeout checks that a call returns the current payment at the payment timeout, also if its own operation has its outcome
// and the automatic capture that followed has none (D8).
func TestCaptureAtTimeout(t *testing.T) {
	t.Parallel()
	r := newRigWaiting(t, callerTimeout)
	r.want(r.manage("PATCH", "/settings", `{"captureMode":"AUTOMATIC"}`), 200, "")
	token := r.tokenize(r.session(someSession), goodCard)
	r.slow(processor.Capture, "", 2*callerTimeout)
	made := r.want(r.pay(payWith(token)), 200, "")
	if made.text1("status") != "AUTHORIZED" {
		t.Errorf("answered %s", made.text1("status"))
	}
	r.until(r.answersAsItStands(made), "status", "SETTLED")
}

// TestCaptureAfterActionAtTimeout: the same of a capture that follows from a resume.
func TestCaptureAfterActionAtTimeout(t *testing.T) {
	t.Parallel()
	r := newRigWaiting(t, callerTimeout)
	r.want(r.manage("PATCH", "/settings", `{"captureMode":"AUTOMATIC"}`), 200, "")
	made := r.want(r.pay(payWith(r.tokenize(r.session(someSession), challengedCard))), 200, "")
	done := r.want(r.complete(made.text1("requiredAction", "clientToken"), "AUTHENTICATED"), 200, "")
	r.slow(processor.Capture, "", 2*callerTimeout)
	resumed := r.want(r.post("/payments/"+made.text1("id")+"/resume", resumeWith(done.text1("resumeToken"))), 200, "")
	r.until(r.answersAsItStands(resumed), "status", "SETTLED")
}

// TestSecondProcessorAtTimeout: the same of the authorization at a second processor.
func TestSecondProcessorAtTimeout(t *testing.T) {
	t.Parallel()
	r := newRigWaiting(t, callerTimeout)
	token := r.tokenize(r.session(someSession), "4000000000005266")
	r.slow(processor.Authorize, "BRAINTREE", 2*callerTimeout)
	r.until(r.answersAsItStands(r.want(r.pay(payWith(token)), 200, "")), "status", "AUTHORIZED")
}

// TestSecondProcessorAfterSlowFirst: the second processor has the rest of the first's payment timeout.
func TestSecondProcessorAfterSlowFirst(t *testing.T) {
	t.Parallel()
	r := newRigWaiting(t, 2*callerTimeout)
	token := r.tokenize(r.session(someSession), "4000000000005266")
	r.slow(processor.Authorize, "ADYEN", callerTimeout)
	r.slow(processor.Authorize, "BRAINTREE", 3*callerTimeout)
	r.until(r.answersAsItStands(r.want(r.pay(payWith(token)), 200, "")), "status", "AUTHORIZED")
}

// TestRunningUnknown: an operation that waited in vain for another is refused, and does not use its key (D7, D9).
func TestRunningUnknown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.paid(goodCard, "")
	r.overdue(func(*http.Request) bool { return true })
	r.want(r.post(at+"/capture", `{"amount":1000,"final":false}`), 200, "")
	refused := r.want(r.post(at+"/cancel", "", "X-Idempotency-Key", "later"), 409, "ConcurrentModification")
	if refused.text1("error", "paymentStatus") != "AUTHORIZED" {
		t.Error(refused.text)
	}
	r.cut.Store(nil)
	r.want(r.post(r.paid(goodCard, "")+"/cancel", "", "X-Idempotency-Key", "later"), 200, "")
}

// TestRefusedAfterWaiting: a request that waited and was then refused by status does not use its key (D9).
func TestRefusedAfterWaiting(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	token := r.tokenize(r.session(someSession), declinedCard)
	r.slow(processor.Authorize, "", time.Second)
	at := "/payments/" + string(domain.PaymentIDForKey(r.account.AccountID, "make"))
	made := make(chan answer, 1)
	go func() { made <- r.pay(payWith(token), "X-Idempotency-Key", "make") }()
	for deadline := time.Now().Add(patience); r.get(at).status == 400 && time.Now().Before(deadline); {
		<-time.After(time.Millisecond)
	}
	r.want(r.post(at+"/capture", "", "X-Idempotency-Key", "key"), 400, "InvalidPaymentStatus")
	r.want(<-made, 200, "")
	r.want(r.post(r.paid(goodCard, "")+"/capture", "", "X-Idempotency-Key", "key"), 200, "")
}

// TestRefusedCaptureShowsFinal: the event of a capture that our own rules refuse has the request (D6).
func TestRefusedCaptureShowsFinal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, final := range []bool{true, false} {
		at := r.paid(goodCard, "")
		r.want(r.post(at+"/capture", fmt.Sprintf(`{"amount":99999,"final":%t}`, final)), 422, "RequestValidationError")
		newest := r.want(r.get(at+events), 200, "").events()
		if e := newest[len(newest)-1]; e["type"] != "CAPTURE_FAILED" || e["final"] != final {
			t.Errorf("final %t is shown as %v", final, e)
		}
	}
}

// TestAdjustNotSupported: nothing is held of an account verification (D3).
func TestAdjustNotSupported(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.paid(goodCard, `,"amount":0,"paymentMethod":{"authorizationType":"ESTIMATED"}`)
	r.want(r.post(at+"/adjust-authorization", `{"amount":1}`), 400, "AdjustAuthorizationNotSupported")
}

// TestHundredsUnderWay checks that a payment with more pending operations than it has room for accepts no more captures, and can still
// refund the captured amount (D3). The long texts of refunds take most of the room.
func TestHundredsUnderWay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.undecided.Store(true)
	at, captures := r.paid("4000000000005126", ""), 0 // its refunds are accepted, and not decided
	text := strings.Repeat("\U0001F4E6", 255)
	r.want(r.post(at+"/capture", `{"amount":200,"final":false}`), 200, "")
	checked := r.client.Transport
	r.client.Transport = http.DefaultTransport // the answers become long, and differ in their length only
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	for range 125 {
		r.want(r.post(at+"/refund", `{"amount":1,"orderId":"`+text+`","reason":"`+text+`"}`), 200, "")
	}
	r.client.Transport = checked
	var refused answer
	for ; captures < 100 && refused.status == 0; captures++ {
		if a := r.post(at+"/capture", `{"amount":1,"final":false}`); a.status != 200 {
			refused = a
		}
	}
	t.Logf("no room after %d captures", captures)
	r.want(refused, 409, "PaymentRequestLimitExceeded")
	if !strings.Contains(refused.text1("error", "description"), "no room") || refused.header.Get("Retry-After") != "" {
		t.Error(refused.text)
	}
	r.want(r.post(at+"/refund", `{"amount":2}`), 200, "")
	r.want(r.post(at+"/refund", ""), 200, "")
	if a := r.want(r.post(at+"/cancel", ""), 200, ""); a.text1("status") != "SETTLED" {
		t.Error(a.text1("status"), a.field("processor"))
	}
}
