package connector

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/connector/book"
	"payledger/processorsim/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sent sends an operation and returns its answer.
func (r *rig) sent(op processor.Operation) processor.Answer {
	r.t.Helper()
	a, err := r.k.Send(context.Background(), op)
	must(r.t, err)
	return a
}

func (r *rig) lookup(key domain.OperationKey) processor.Lookup {
	r.t.Helper()
	l, err := r.k.Lookup(context.Background(), processor.Stripe, key)
	must(r.t, err)
	return l
}

func (r *rig) fence(key domain.OperationKey) processor.Lookup {
	r.t.Helper()
	l, err := r.k.Fence(context.Background(), processor.Stripe, key)
	must(r.t, err)
	return l
}

func following(kind processor.Kind, key, parent string, amount domain.Amount) processor.Operation {
	op := processor.Operation{
		Kind: kind, Key: domain.OperationKey(key), Processor: processor.Stripe, Reference: "01p", ParentID: parent, Amount: amount,
		Currency: "EUR", NotifyURL: "http://127.0.0.1:1/n",
	}
	if kind == processor.Complete {
		op.Outcome = processor.Authenticated
	}
	return op
}

// TestKeys: a key has one operation and one answer; other contents are refused.
func TestKeys(t *testing.T) {
	r := newRig(t, time.Hour)
	first := r.sent(authorization("01p.1", "4242424242424242"))
	if again := r.sent(authorization("01p.1", "4242424242424242")); !reflect.DeepEqual(again, first) {
		t.Errorf("%+v after %+v", again, first)
	}
	other := authorization("01p.1", "4242424242424242")
	other.Amount++
	if _, err := r.k.Send(t.Context(), other); err != protocol.ErrKeyReused { //nolint:errorlint // exactly this one
		t.Errorf("other contents: %v", err)
	}
	if n, _ := r.vendor.count("01p.1"); n != 1 {
		t.Errorf("done %d times", n)
	}
	if a := r.sent(authorization("01p.2", "4000000000000002")); a.State != processor.Declined || a.Code != "05" {
		t.Errorf("%+v", a)
	}
}

// TestNotSupported: what the vendor's declaration excludes never gets to the vendor. The refusal is
// a fact, and stays. Everything else, and what a vendor tries all the same, gets there.
func TestNotSupported(t *testing.T) {
	r := newRig(t, time.Hour)
	for _, c := range []protocol.Capability{protocol.CanAdjust, protocol.CanVoid, protocol.CanCapturePartly, protocol.CanCaptureAgain, protocol.CanRefundPartly} {
		r.vendor.cannot = append(r.vendor.cannot, protocol.Lack{Capability: c, Instead: "Not by us."})
	}
	final := func(o processor.Operation) processor.Operation { o.Final = true; return o }
	sale := r.sent(authorization("01p.1", "4242424242424242")).ProcessorTransactionID
	whole := authorization("", "").Amount
	calls := r.vendor.calls
	for i, op := range []processor.Operation{
		following(processor.Adjust, "01p.2", sale, whole+1), following(processor.Void, "01p.3", sale, 0),
		final(following(processor.Capture, "01p.4", sale, whole-1)), following(processor.Capture, "01p.5", sale, whole-1),
	} {
		for range 2 {
			if a := r.sent(op); a.State != processor.Failed || a.Code != protocol.CodeNotSupported || a.Message != "Not by us." {
				t.Errorf("%d: %+v", i, a)
			}
		}
		if l := r.lookup(op.Key); l.State != processor.Known || l.Answer.Code != protocol.CodeNotSupported {
			t.Errorf("%d: %+v", i, l)
		}
	}
	capture := r.sent(following(processor.Capture, "01p.6", sale, whole))
	for i, parent := range []string{sale, capture.ProcessorTransactionID} {
		if a := r.sent(following(processor.Refund, fmt.Sprintf("01p.%d", 7+i), parent, whole-1)); a.Code != protocol.CodeNotSupported {
			t.Errorf("a part of %s: %+v", parent, a)
		}
	}
	if r.vendor.calls != calls+1 {
		t.Errorf("the vendor got %d operations", r.vendor.calls-calls)
	}
	if a := r.sent(following(processor.Refund, "01p.9", sale, whole)); a.State != processor.Succeeded {
		t.Errorf("the whole: %+v", a)
	}
	r.vendor.cannot = []protocol.Lack{{Capability: protocol.CanAdjust, Tried: true}}
	if a := r.sent(following(processor.Adjust, "01p.10", sale, whole+1)); a.State != processor.Succeeded {
		t.Errorf("tried: %+v", a)
	}
	if a := r.sent(following(processor.Adjust, "01p.2", sale, whole+1)); a.Code != protocol.CodeNotSupported {
		t.Errorf("the earlier one: %+v", a)
	}
}

// TestRestIsNoPart: the last of several captures takes the rest, and is no partial capture, also at
// a vendor that has one transaction for a payment.
func TestRestIsNoPart(t *testing.T) {
	for _, one := range []bool{false, true} {
		r := newRig(t, time.Hour)
		r.vendor.oneID, r.vendor.cannot = one, []protocol.Lack{{Capability: protocol.CanCapturePartly, Instead: "Not by us."}}
		sale := r.sent(authorization("01p.1", "4242424242424242")).ProcessorTransactionID
		whole := authorization("", "").Amount
		r.sent(following(processor.Capture, "01p.2", sale, whole-10))
		rest := following(processor.Capture, "01p.3", sale, 5)
		rest.Final = true
		if a := r.sent(rest); a.State != processor.Succeeded {
			t.Errorf("one transaction %t: %+v", one, a)
		}
	}
}

// TestAsOrdered: a message without an amount ends an operation with the amount of its order. One
// with another amount is none, also then.
func TestAsOrdered(t *testing.T) {
	success := processor.Answer{State: processor.Succeeded, ProcessorTransactionID: "tx_1"}
	for _, c := range []struct {
		of   Result
		fits bool
	}{
		{Result{Answer: success, AsOrdered: true}, true},
		{Result{Answer: success}, false},
		{Result{Answer: success, AsOrdered: true, Amount: 1, Currency: "EUR"}, false},
		{Result{Answer: success, AsOrdered: true, Currency: "USD"}, false},
		{Result{Answer: processor.Answer{State: processor.Succeeded}, AsOrdered: true}, false},
	} {
		if err := fits(&book.Operation{Operation: authorization("01p.1", "")}, nil, c.of); (err == nil) != c.fits {
			t.Errorf("%+v: %v", c.of, err)
		}
	}
}

// TestRunning: while the vendor is called, the key is in progress, and cannot be fenced. The result
// is recorded although the caller goes away.
func TestRunning(t *testing.T) {
	r := newRig(t, time.Hour)
	r.vendor.entered, r.vendor.goOn = make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	op := authorization("01p.1", "4242424242424242")
	go func() { _, err := r.k.Send(ctx, op); gone <- err }()
	<-r.vendor.entered
	if l := r.lookup(op.Key); l.State != processor.Running {
		t.Errorf("look-up: %+v", l)
	}
	if l := r.fence(op.Key); l.State != processor.Running {
		t.Errorf("fence: %+v", l)
	}
	if _, err := r.k.Send(t.Context(), op); err != protocol.ErrInProgress { //nolint:errorlint // exactly this one
		t.Errorf("a repeat: %v", err)
	}
	other := op
	other.Amount++
	if _, err := r.k.Send(t.Context(), other); err != protocol.ErrKeyReused { //nolint:errorlint // exactly this one
		t.Errorf("other contents: %v", err)
	}
	cancel()
	if err := <-gone; err == nil {
		t.Error("an answer for a caller that went away")
	}
	r.vendor.goOn <- struct{}{}
	r.k.calls.Wait()
	if l := r.lookup(op.Key); l.State != processor.Known || l.Answer.State != processor.Succeeded {
		t.Errorf("afterwards: %+v", l)
	}
}

// TestNothing: an operation with which the vendor certainly did nothing can be sent again, or
// fenced.
func TestNothing(t *testing.T) {
	for _, fence := range []bool{false, true} {
		r := newRig(t, time.Hour)
		op := authorization("01p.1", "4242424242424242")
		r.vendor.next = refused
		if _, err := r.k.Send(t.Context(), op); err == nil {
			t.Error("an answer")
		}
		if l := r.lookup(op.Key); l.State != processor.Unseen {
			t.Errorf("%+v", l)
		}
		if fence {
			if l := r.fence(op.Key); l.State != processor.Fenced {
				t.Errorf("%+v", l)
			}
		}
		if a := r.sent(op); fence != (a.Code == protocol.CodeFenced) || fence == (a.State == processor.Succeeded) {
			t.Errorf("fenced %t: %+v", fence, a)
		}
		if l := r.lookup(op.Key); fence != (l.State == processor.Fenced) {
			t.Errorf("fenced %t: %+v", fence, l)
		}
	}
}

// TestDoneAllTheSame: the vendor did an operation that it said it did not do. Its message counts: a
// repeat is no second one. Behind a fence it does not count. A failure says nothing new.
func TestDoneAllTheSame(t *testing.T) {
	for _, row := range []struct {
		fence bool
		told  processor.State
		want  processor.LookupState
	}{
		{false, processor.Succeeded, processor.Known}, {true, processor.Succeeded, processor.Fenced}, {false, processor.Declined, processor.Unseen},
	} {
		r := newRig(t, time.Hour)
		op := authorization("01p.1", "4242424242424242")
		r.vendor.next = refused
		if _, err := r.k.Send(t.Context(), op); err == nil {
			t.Error("an answer")
		}
		if row.fence {
			r.fence(op.Key)
		}
		told := Result{Amount: op.Amount, Currency: op.Currency, Answer: processor.Answer{State: row.told, Code: "05", ProcessorTransactionID: "tx_9"}}
		r.event(200, Event{ID: "e1", Key: op.Key, Kind: processor.Authorize, Result: &told})
		if l := r.lookup(op.Key); l.State != row.want {
			t.Errorf("%+v: %+v", row, l)
		}
		if row.want != processor.Known {
			continue
		}
		if a := r.sent(op); a.ProcessorTransactionID != "tx_9" || r.vendor.calls != 1 {
			t.Errorf("%+v after %d calls", a, r.vendor.calls)
		}
	}
}

// TestMisnamed: a message about an operation of another kind or payment changes nothing.
func TestMisnamed(t *testing.T) {
	r := newRig(t, time.Hour)
	op := authorization("01p.1", "4242424242424242")
	r.vendor.next = lostBefore
	if _, err := r.k.Send(t.Context(), op); err == nil {
		t.Error("an answer")
	}
	told := Result{Amount: op.Amount, Currency: op.Currency, Answer: processor.Answer{State: processor.Succeeded, ProcessorTransactionID: "tx_9"}}
	r.event(200, Event{ID: "e1", Key: op.Key, Kind: processor.Refund, Result: &told}, Event{ID: "e2", Key: op.Key, Reference: "01other", Result: &told})
	if o, err := r.k.book.Find(t.Context(), op.Key); err != nil || o.Phase != book.Sent {
		t.Errorf("%+v %v", o, err)
	}
}

// TestCompletedAmount: a completion that authorizes another amount than its authorization ordered
// is no result.
func TestCompletedAmount(t *testing.T) {
	r := newRig(t, time.Hour)
	waits := r.sent(authorization("01p.1", "4916994064252017"))
	op := following(processor.Complete, "01p.2", waits.ProcessorTransactionID, 0)
	r.vendor.wrong = 100
	if a, err := r.k.Send(t.Context(), op); err == nil {
		t.Errorf("%+v", a)
	}
	if l := r.lookup(op.Key); l.State != processor.Running {
		t.Errorf("%+v", l)
	}
	if l := r.lookup("01p.1"); l.Answer == nil || l.Answer.State != processor.ActionRequired {
		t.Errorf("%+v", l)
	}
	_, wrong := r.vendor.count(op.Key)
	r.event(200, Event{ID: "e1", Key: op.Key, Result: &wrong})
	if l := r.lookup(op.Key); l.State != processor.Running {
		t.Errorf("after the message: %+v", l)
	}
	right := wrong
	right.Amount = authorization("01p.1", "").Amount
	r.event(200, Event{ID: "e2", Key: op.Key, Result: &right})
	if l := r.lookup(op.Key); l.State != processor.Known || l.Answer.State != processor.Succeeded {
		t.Errorf("after the right message: %+v", l)
	}
}

// TestUnfit: a result that does not fit its request is no result, from an answer, a look-up or an
// event. A result that fits ends the doubt.
func TestUnfit(t *testing.T) {
	r := newRig(t, time.Hour)
	op := authorization("01p.1", "4242424242424242")
	r.vendor.wrong = 100
	if _, err := r.k.Send(t.Context(), op); err == nil {
		t.Error("an answer")
	}
	if l := r.lookup(op.Key); l.State != processor.Running {
		t.Errorf("%+v", l)
	}
	if l := r.fence(op.Key); l.State != processor.Running {
		t.Errorf("%+v", l)
	}
	_, wrong := r.vendor.count(op.Key)
	r.event(200, Event{ID: "e1", Key: op.Key, Result: &wrong})
	if l := r.lookup(op.Key); l.State != processor.Running {
		t.Errorf("%+v", l)
	}
	if _, err := r.entries(protocol.Filter{Reference: "01p"}); err == nil {
		t.Error("a list without the unknown operation")
	}
	right := wrong
	right.Amount = op.Amount
	r.event(200, Event{ID: "e2", Key: op.Key, Result: &right})
	if l := r.lookup(op.Key); l.State != processor.Known || l.Answer.State != processor.Succeeded {
		t.Errorf("%+v", l)
	}
}

// TestTransactionStays: a result with another transaction than the first answer is no result, nor
// is a completion with another transaction than its authorization.
func TestTransactionStays(t *testing.T) {
	r := newRig(t, time.Hour)
	op := authorization("01p.1", "4000000000003220")
	first := r.sent(op).ProcessorTransactionID
	right := r.vendor.ends(op.Key, processor.Answer{State: processor.Succeeded, At: r.now})
	wrong := right
	wrong.Answer.ProcessorTransactionID = "tx_other"
	r.event(200, Event{ID: "e1", Key: op.Key, Result: &wrong})
	r.vendor.effects[0].result = wrong
	if l := r.lookup(op.Key); l.Answer.State != processor.Pending || l.Answer.ProcessorTransactionID != first {
		t.Errorf("%+v", l.Answer)
	}
	r.event(200, Event{ID: "e2", Key: op.Key, Result: &right})
	if l := r.lookup(op.Key); l.Answer.State != processor.Succeeded || l.Answer.ProcessorTransactionID != first {
		t.Errorf("%+v", l.Answer)
	}
	waits := r.sent(authorization("01p.2", "4916994064252017")).ProcessorTransactionID
	r.vendor.newID = processor.Complete
	complete := following(processor.Complete, "01p.3", waits, 0)
	if a, err := r.k.Send(t.Context(), complete); err == nil {
		t.Errorf("%+v", a)
	}
	if l := r.lookup("01p.2"); l.Answer.State != processor.ActionRequired || l.Answer.ProcessorTransactionID != waits {
		t.Errorf("%+v", l.Answer)
	}
}

// TestFits: what fits, and what does not.
func TestFits(t *testing.T) {
	o := &book.Operation{Operation: authorization("k", "4242424242424242")}
	good := func() Result {
		return Result{Answer: processor.Answer{State: processor.Succeeded, ProcessorTransactionID: "t"}, Amount: 1250, Currency: "EUR"}
	}
	must(t, fits(o, nil, good()))
	for name, spoil := range map[string]func(*Result){
		"no transaction":       func(r *Result) { r.Answer.ProcessorTransactionID = "" },
		"a long transaction":   func(r *Result) { r.Answer.ProcessorTransactionID = strings.Repeat("t", 256) },
		"a divided one":        func(r *Result) { r.Answer.ProcessorTransactionID = "t 1" },
		"less":                 func(r *Result) { r.Amount-- },
		"another currency":     func(r *Result) { r.Currency = "USD" },
		"no currency":          func(r *Result) { r.Currency = "" },
		"an unknown state":     func(r *Result) { r.Answer.State = "DONE" },
		"no state":             func(r *Result) { r.Answer.State = "" },
		"declined, no code":    func(r *Result) { r.Answer.State = processor.Declined },
		"an action, no token":  func(r *Result) { r.Answer.State = processor.ActionRequired },
		"pending, other money": func(r *Result) { r.Answer.State, r.Currency = processor.Pending, "JPY" },
	} {
		r := good()
		if spoil(&r); fits(o, nil, r) == nil {
			t.Errorf("%s fits", name)
		}
	}
}

func (r *rig) entries(f protocol.Filter) (list []protocol.Entry, err error) {
	err = r.k.Entries(context.Background(), f, func(e protocol.Entry) error { list = append(list, e); return nil })
	return list, err
}

// event sends events as the vendor does.
func (r *rig) event(status int, events ...Event) {
	r.t.Helper()
	body, err := json.Marshal(events)
	must(r.t, err)
	if got := r.post(body, "signed"); got != status {
		r.t.Errorf("the vendor's message is answered %d instead of %d", got, status)
	}
}

func (r *rig) post(body []byte, signature string) int {
	request := httptest.NewRequest(http.MethodPost, EventsPath, bytes.NewReader(body))
	request.Header.Set("X-Double", signature)
	w := httptest.NewRecorder()
	r.k.Handler().ServeHTTP(w, request)
	return w.Code
}

// TestPending: the end of a pending operation comes by a message, or by a question to the vendor;
// its notification is signed, goes out once, and survives a restart.
func TestPending(t *testing.T) {
	r := newRig(t, time.Hour)
	heard := make(chan []byte, 10)
	status := http.StatusServiceUnavailable
	ledger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		if !protocol.Verify([]byte("secret"), body, q.Header.Get(protocol.HeaderSignature)) {
			t.Error("a notification without a valid signature")
		}
		w.WriteHeader(status)
		heard <- body
	}))
	t.Cleanup(ledger.Close)
	op := authorization("01p.1", "4000000000003220")
	op.NotifyURL = ledger.URL
	if a := r.sent(op); a.State != processor.Pending {
		t.Errorf("%+v", a)
	}
	ended := r.vendor.ends(op.Key, processor.Answer{State: processor.Succeeded, At: r.now})
	if got := r.post([]byte(`[]`), "forged"); got != http.StatusBadRequest {
		t.Errorf("a forged message: %d", got)
	}
	e := Event{ID: "e1", Kind: processor.Authorize, TransactionID: ended.Answer.ProcessorTransactionID, Result: &ended}
	r.event(200, e, e)
	first := <-heard // and answered 503
	r.event(200, e)
	failed := ended
	failed.Answer.State, failed.Answer.Code = processor.Failed, "late"
	r.event(200, Event{ID: "e2", Key: op.Key, Result: &failed}) // a contradiction changes nothing
	if l := r.lookup(op.Key); l.Answer.State != processor.Succeeded {
		t.Errorf("%+v", l)
	}
	if a := r.sent(op); a.State != processor.Succeeded {
		t.Errorf("%+v", a)
	}
	r.close()
	status = http.StatusOK
	r.open()
	if again := <-heard; !bytes.Equal(first, again) {
		t.Errorf("%s after %s", again, first)
	}
	n, err := adapter.ParseNotification([]byte("secret"), processor.Stripe, http.Header{protocol.HeaderSignature: {protocol.Sign([]byte("secret"), first)}}, first)
	if err != nil || n.Key != op.Key || n.Answer.State != processor.Succeeded || n.Kind != processor.Authorize {
		t.Errorf("%+v %v", n, err)
	}
	r.taken() // it is taken off the list after the answer
	second := authorization("01p.2", "4000000000003220")
	r.sent(second)
	r.vendor.ends(second.Key, processor.Answer{State: processor.Declined, Code: "51", At: r.now})
	if l := r.lookup(second.Key); l.Answer.State != processor.Declined {
		t.Errorf("without a message: %+v", l)
	}
}

// TestAction: a complete ends the authorization that waits for its customer; a void, too.
func TestAction(t *testing.T) {
	r := newRig(t, time.Hour)
	for _, kind := range []processor.Kind{processor.Complete, processor.Void} {
		op := authorization("01p."+string(kind), "4916994064252017")
		waiting := r.sent(op)
		if waiting.State != processor.ActionRequired {
			t.Fatalf("%+v", waiting)
		}
		list, err := r.entries(protocol.Filter{Reference: "01p"})
		if must(t, err); list[len(list)-1].State != processor.Pending {
			t.Errorf("in the list: %+v", list)
		}
		r.sent(following(kind, "01p.x"+string(kind), waiting.ProcessorTransactionID, 1250))
		if a := r.sent(op); !reflect.DeepEqual(a, waiting) {
			t.Errorf("under its own key: %+v", a)
		}
		l := r.lookup(op.Key)
		if kind == processor.Complete && l.Answer.State != processor.Succeeded || kind == processor.Void && l.Answer.Code != protocol.CodeVoided {
			t.Errorf("after %s: %+v", kind, l.Answer)
		}
	}
}

// TestPendingEnds: a complete or a void that is PENDING first ends its authorization with its
// result, which a question to the vendor or a message brings.
func TestPendingEnds(t *testing.T) {
	for _, kind := range []processor.Kind{processor.Complete, processor.Void} {
		for _, told := range []bool{false, true} {
			r := newRig(t, time.Hour)
			op := authorization("01p.1", "4916994064252017")
			waiting := r.sent(op)
			ending := following(kind, "01p.2", waiting.ProcessorTransactionID, 0)
			r.vendor.pends = kind
			if a := r.sent(ending); a.State != processor.Pending {
				t.Fatalf("%+v", a)
			}
			done := r.vendor.ends(ending.Key, processor.Answer{State: processor.Succeeded, At: r.now})
			if told {
				r.event(200, Event{ID: "e1", Key: ending.Key, Result: &done})
			} else if l := r.lookup(ending.Key); l.Answer.State != processor.Succeeded {
				t.Fatalf("%+v", l.Answer)
			}
			want := map[processor.Kind]processor.State{processor.Complete: processor.Succeeded, processor.Void: processor.Failed}[kind]
			if l, _, err := r.k.state(t.Context(), op.Key); err != nil || l.Answer.State != want {
				t.Errorf("%s, told %t: the authorization is %+v %v", kind, told, l.Answer, err)
			}
			r.sent(following(processor.Capture, "01p.3", waiting.ProcessorTransactionID, 1250))
			if got := r.vendor.order.Parent.Answer.State; got != want {
				t.Errorf("%s, told %t: a capture acts upon an authorization that is %s", kind, told, got)
			}
		}
	}
}

// TestDisputes: a dispute about a transaction of the book is listed once and in pages; others are
// left out.
func TestDisputes(t *testing.T) {
	r := newRig(t, time.Hour)
	a := r.sent(authorization("01p.1", "4242424242424242"))
	dispute := func(event string, at time.Time, status processor.DisputeStatus) Event {
		return Event{ID: event, Dispute: &processor.DisputeUpdate{
			ID: "dp_1", TransactionID: a.ProcessorTransactionID, Type: processor.Chargeback, Status: status, ReasonCode: "10.4", Amount: 1250,
			Currency: "EUR", At: at,
		}}
	}
	r.event(200, dispute("e1", r.now, processor.DisputeOpen), dispute("e1", r.now, processor.DisputeOpen), dispute("e2", r.now.Add(time.Hour), processor.DisputeWon))
	odd := dispute(strings.Repeat("é ", 200), r.now.Add(2*time.Hour), processor.DisputeLost)
	odd.Dispute.ReasonCode = "fraud, card absent"
	r.event(200, odd)
	elsewhere := dispute("e3", r.now, processor.DisputeOpen)
	elsewhere.Dispute.TransactionID = "tx_other"
	r.event(200, elsewhere)

	web := httptest.NewServer(r.k.Handler())
	defer web.Close()
	client, err := adapter.New(web.URL, nil)
	must(t, err)
	defer client.Close()
	page, err := client.NotificationsSince(t.Context(), processor.Stripe, r.now, "")
	must(t, err)
	if len(page.Notifications) != 3 || page.Unreadable > 0 || page.Notifications[1].Dispute == nil || page.Notifications[1].Dispute.Status != processor.DisputeWon {
		t.Fatalf("%+v", page)
	}
	first, err := r.k.Disputes(t.Context(), protocol.DisputeFilter{Limit: 1})
	must(t, err)
	rest, err := r.k.Disputes(t.Context(), protocol.DisputeFilter{Limit: 2, After: first.Next})
	if must(t, err); !first.More || rest.More || len(rest.Notifications) != 2 {
		t.Errorf("%+v %+v", first, rest)
	}
	if _, err := r.k.Disputes(t.Context(), protocol.DisputeFilter{Limit: 1, After: "nt_x"}); err != protocol.ErrUnknownCursor { //nolint:errorlint // exactly this one
		t.Error(err)
	}
	of, err := client.DisputesOf(t.Context(), processor.Stripe, "01p")
	if must(t, err); len(of) != 3 || of[2].Dispute.ReasonCode != "unknown" || of[2].Dispute.Wording != "fraud, card absent" {
		t.Errorf("%+v", of)
	}
}

// lister is a double with operations that were made elsewhere.
type lister struct {
	*double
	outside []protocol.Entry
	known   *[]string // of the newest call
}

func (l lister) List(_ context.Context, f protocol.Filter, known []string, yield func(protocol.Entry) error) error {
	*l.known = known
	for _, e := range l.outside {
		if f.Matches("", e.Reference, e.CreatedAt) {
			if err := yield(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestLists: lists have the book's operations and those made elsewhere, each once, by creation,
// with both bounds.
func TestLists(t *testing.T) {
	r := newRig(t, time.Hour)
	began := r.now
	for _, key := range []string{"01p.1", "01p.2", "01p.3"} {
		r.sent(authorization(key, "4242424242424242"))
		r.now = r.now.Add(time.Minute)
	}
	made := func(id string, kind processor.Kind, at time.Time) protocol.Entry {
		return protocol.Entry{Line: protocol.Line{
			ID: id, Reference: "01p", Operation: kind, Amount: 100, Currency: "EUR", State: processor.Succeeded, CreatedAt: at, UpdatedAt: at,
			ProcessorTransactionID: id,
		}, Answer: processor.Answer{State: processor.Succeeded, ProcessorTransactionID: id, At: at}}
	}
	var known []string
	r.k.Vendor = lister{r.vendor, []protocol.Entry{
		made("tx_1", processor.Authorize, began), made("re_1", processor.Refund, began.Add(90*time.Second)), made("re_2", processor.Refund, began.Add(time.Hour)),
	}, &known}
	ids := func(f protocol.Filter) string {
		list, err := r.entries(f)
		must(t, err)
		var ids []string
		for _, e := range list {
			ids = append(ids, e.ProcessorTransactionID)
		}
		return strings.Join(ids, " ")
	}
	for _, row := range []struct {
		f    protocol.Filter
		want string
	}{
		{protocol.Filter{}, "tx_1 tx_2 re_1 tx_3 re_2"},
		{protocol.Filter{Reference: "01p"}, "tx_1 tx_2 re_1 tx_3 re_2"},
		{protocol.Filter{Reference: "01q"}, ""},
		{protocol.Filter{From: began.Add(time.Minute), To: began.Add(2 * time.Minute)}, "tx_2 re_1 tx_3"},
		{protocol.Filter{From: began.Add(time.Minute + 1), To: began.Add(2*time.Minute - 1)}, "re_1"},
	} {
		if got := ids(row.f); got != row.want {
			t.Errorf("%+v: %q instead of %q", row.f, got, row.want)
		}
		if named := strings.Join(known, " "); (named == "tx_1 tx_2 tx_3") != (row.f.Reference == "01p") {
			t.Errorf("%+v: the vendor gets the authorizations %q", row.f, named)
		}
	}
}

// TestClockBack: after the clock was set back, lists are in order of creation all the same.
func TestClockBack(t *testing.T) {
	r := newRig(t, time.Hour)
	r.sent(authorization("01p.1", "4242424242424242"))
	r.now = r.now.Add(-time.Hour)
	r.sent(authorization("01p.2", "4242424242424242"))
	list, err := r.entries(protocol.Filter{})
	if must(t, err); len(list) != 2 || list[1].CreatedAt.Before(list[0].CreatedAt) || list[1].UpdatedAt.Before(list[1].CreatedAt) {
		t.Errorf("%+v", list)
	}
}

// TestListOfUnknown: an operation whose answer was lost is in a list once, although the vendor
// lists it, too.
func TestListOfUnknown(t *testing.T) {
	r := newRig(t, time.Hour)
	r.vendor.next = lostAfter
	if _, err := r.k.Send(t.Context(), authorization("01p.1", "4242424242424242")); err == nil {
		t.Fatal("the answer was not lost")
	}
	r.k.Vendor = lister{r.vendor, []protocol.Entry{{Line: protocol.Line{
		ID: "tx_1", Reference: "01p", Operation: processor.Authorize, IdempotencyKey: "01p.1", Amount: 1000, Currency: "EUR", State: processor.Succeeded,
		CreatedAt: r.now, UpdatedAt: r.now, ProcessorTransactionID: "tx_1",
	}, Answer: processor.Answer{State: processor.Succeeded, ProcessorTransactionID: "tx_1", At: r.now}}}, new([]string)}
	list, err := r.entries(protocol.Filter{Reference: "01p"})
	if must(t, err); len(list) != 1 || list[0].IdempotencyKey != "01p.1" {
		t.Errorf("%+v", list)
	}
}

// TestSecrets: the number and the CVV of a card are in no file. TestExclusive: one process has the
// book.
func TestSecrets(t *testing.T) {
	r := newRig(t, time.Hour)
	r.sent(authorization("01p.1", "4242424242424242"))
	files, err := filepath.Glob(filepath.Join(r.dir, "*"))
	if must(t, err); len(files) == 0 {
		t.Fatal("no files")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		if bytes.Contains(text, []byte("4242424242424242")) || bytes.Contains(text, []byte("987")) {
			t.Errorf("%s has the card", file)
		}
	}
	if b, err := book.Open(t.Context(), r.dir); err == nil {
		t.Error("two processes have the book")
		must(t, b.Close())
	}
}

// moves is a double that lists what it did, under names that say nothing about the ledger's keys.
type moves struct{ *double }

func (m moves) List(_ context.Context, _ protocol.Filter, _ []string, yield func(protocol.Entry) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.effects {
		line := protocol.Line{
			ID: e.result.Answer.ProcessorTransactionID, Reference: "01p", Operation: processor.Capture, Amount: 100, Currency: "EUR",
			State: processor.Succeeded, CreatedAt: m.now(), UpdatedAt: m.now(), ProcessorTransactionID: e.result.Answer.ProcessorTransactionID,
		}
		if err := yield(protocol.Entry{Line: line, Answer: e.result.Answer}); err != nil {
			return err
		}
	}
	return nil
}

// TestListedOnce: an operation of unknown outcome that the vendor lists is not shown a second time
// as one made elsewhere; one that was made elsewhere has a key of its own.
func TestListedOnce(t *testing.T) {
	r := newRig(t, time.Hour)
	r.k.Vendor = moves{r.vendor}
	op := following(processor.Capture, "01p.1", "tx_0", 100)
	r.vendor.next = lostAfter
	if _, err := r.k.Send(t.Context(), op); err == nil {
		t.Fatal("an answer")
	}
	for _, f := range []protocol.Filter{{Reference: "01p"}, {From: r.now.Add(-time.Hour)}, {From: r.now.Add(time.Minute)}} {
		list, err := r.entries(f)
		if want := map[bool]int{true: 0, false: 1}[f.From.After(r.now)]; err != nil || len(list) != want || want == 1 && list[0].IdempotencyKey != op.Key {
			t.Errorf("%+v: %+v %v", f, list, err)
		}
	}
	other := following(processor.Capture, "01p.2", "tx_0", 100)
	if _, err := r.vendor.do(Order{Operation: other, Key: "elsewhere"}); err != nil {
		t.Fatal(err)
	}
	list, err := r.entries(protocol.Filter{Reference: "01p"})
	if err != nil || len(list) != 2 || list[1].IdempotencyKey == "" {
		t.Errorf("%+v %v", list, err)
	}
}
