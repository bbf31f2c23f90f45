package httpapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/eventstoretest"
	"payledger/processorsim/protocol"
)

// operationAt is an operation, at one processor or any.
type operationAt struct {
	kind processor.Kind
	at   processor.Name
}

// unanswered has the next operation of a kind carried out with no answer, and no notification.
// Requests for operations take some time, by the clock of all parts.
func (r *rig) unanswered(what operationAt, takes map[operationAt]time.Duration) {
	r.t.Helper()
	once := 1
	must(r.t, r.sim.SetFault(r.t.Context(), protocol.Fault{Mode: protocol.Reorder, DelayMs: 600_000}))
	must(r.t, r.sim.SetFault(r.t.Context(), protocol.Fault{Operation: what.kind, Processor: what.at, Mode: protocol.DropAfter, Count: &once}))
	late := func(q *http.Request) bool {
		if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/operations") {
			kind := requestedKind(r.t, q)
			for of, time := range takes {
				if of.kind == kind && (of.at == "" || q.URL.Path == protocol.OperationsPath(of.at)) {
					r.late.Add(int64(time.Seconds()))
				}
			}
		}
		return false
	}
	r.cut.Store(&late)
}

// atTimeout has the next operation of a kind take the whole payment timeout. It is carried out, and
// look-ups get no answer while r.cut is set.
func (r *rig) atTimeout(what operationAt) {
	r.t.Helper()
	r.unanswered(what, map[operationAt]time.Duration{what: usualTimeout})
	late := *r.cut.Load()
	cut := func(q *http.Request) bool { return late(q) || q.Method == http.MethodGet }
	r.cut.Store(&cut)
}

// requestedKind returns the operation that a request asks a processor for.
func requestedKind(t testing.TB, q *http.Request) processor.Kind {
	body, err := io.ReadAll(q.Body)
	q.Body = io.NopCloser(bytes.NewReader(body))
	var op processor.Operation
	if err = errors.Join(err, json.Unmarshal(body, &op)); err != nil {
		t.Error(err)
	}
	return op.Kind
}

// answersAsItStands compares the answer to a call that timed out with a read of the payment, and
// returns the payment's path. From then on look-ups are answered.
func (r *rig) answersAsItStands(made answer) string {
	r.t.Helper()
	defer r.cut.Store(nil)
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

// TestCaptureAtTimeout checks that a call returns the current payment at the payment timeout, also
// if its own operation has its outcome and the automatic capture that followed has none (D8).
func TestCaptureAtTimeout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.want(r.manage("PATCH", "/settings", `{"captureMode":"AUTOMATIC"}`), 200, "")
	token := r.tokenize(r.session(someSession), goodCard)
	r.atTimeout(operationAt{kind: processor.Capture})
	made := r.want(r.pay(payWith(token)), 200, "")
	if made.text1("status") != "AUTHORIZED" {
		t.Errorf("answered %s", made.text1("status"))
	}
	r.until(r.answersAsItStands(made), "status", "SETTLED")
}

// TestCaptureAfterActionAtTimeout: the same of a capture that follows from a resume.
func TestCaptureAfterActionAtTimeout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.want(r.manage("PATCH", "/settings", `{"captureMode":"AUTOMATIC"}`), 200, "")
	made := r.want(r.pay(payWith(r.tokenize(r.session(someSession), challengedCard))), 200, "")
	done := r.want(r.complete(made.text1("requiredAction", "clientToken"), "AUTHENTICATED"), 200, "")
	r.atTimeout(operationAt{kind: processor.Capture})
	resumed := r.want(r.post("/payments/"+made.text1("id")+"/resume", resumeWith(done.text1("resumeToken"))), 200, "")
	r.until(r.answersAsItStands(resumed), "status", "SETTLED")
}

// TestSecondProcessorAtTimeout: the same of the authorization at a second processor.
func TestSecondProcessorAtTimeout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	token := r.tokenize(r.session(someSession), "4000000000005266")
	r.atTimeout(operationAt{processor.Authorize, processor.Braintree})
	r.until(r.answersAsItStands(r.want(r.pay(payWith(token)), 200, "")), "status", "AUTHORIZED")
}

// TestSecondProcessorAfterSlowFirst: the second processor has the rest of the first's payment
// timeout.
func TestSecondProcessorAfterSlowFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	token := r.tokenize(r.session(someSession), "4000000000005266")
	first, second := operationAt{processor.Authorize, processor.Adyen}, operationAt{processor.Authorize, processor.Braintree}
	r.unanswered(second, map[operationAt]time.Duration{first: usualTimeout * 2 / 3, second: usualTimeout * 2 / 3})
	r.until(r.answersAsItStands(r.want(r.pay(payWith(token)), 200, "")), "status", "AUTHORIZED")
}

// TestRunningUnknown: an operation that waited in vain for another is refused, and does not use its
// key (D7, D9).
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

// TestRefusedAfterWaiting: a request that waited and was then refused by status does not use its
// key (D9).
func TestRefusedAfterWaiting(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	token := r.tokenize(r.session(someSession), declinedCard)
	once := 1
	must(t, r.sim.SetFault(t.Context(), protocol.Fault{Operation: processor.Authorize, Mode: protocol.Latency, DelayMs: 1000, Count: &once}))
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

// TestRefusedCaptureShowsFinal: the event of a capture that our own rules refuse has the request
// (D6).
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

// TestHundredsUnderWay checks that a payment with more pending operations than it has room for
// accepts no more captures, and can still refund the captured amount (D3). The long texts of
// refunds take most of the room.
func TestHundredsUnderWay(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
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
