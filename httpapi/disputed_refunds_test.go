package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/eventstoretest"
	"payledger/processorsim/protocol"
)

// captured makes a payment of 24.20 EUR that is captured, and returns its path.
func (r *rig) captured() string {
	r.t.Helper()
	at := r.paid(goodCard, "")
	r.want(r.post(at+"/capture", ""), 200, "")
	return at
}

// disputedAs opens a dispute of 10.00 EUR about a payment, takes it through its statuses, and
// returns it as the API shows it then.
func (r *rig) disputedAs(at string, kind processor.DisputeType, statuses ...processor.DisputeStatus) (shown map[string]any) {
	r.t.Helper()
	id, amount := strings.TrimPrefix(at, "/payments/"), domain.Amount(1000)
	opened, err := r.sim.OpenDispute(r.t.Context(), protocol.DisputeOrder{Reference: domain.PaymentID(id), Type: kind, ReasonCode: "10.4", Amount: &amount})
	must(r.t, err)
	is := func(status string) {
		r.t.Helper()
		r.eventually(func() bool {
			all := r.disputes("processorDisputeId=" + opened.ID)
			if len(all) == 1 {
				shown = all[0]
			}
			return len(all) == 1 && shown["status"] == status
		})
	}
	is("OPEN")
	for _, status := range statuses {
		_, err := r.sim.ChangeDispute(r.t.Context(), opened.ID, protocol.DisputeChange{Status: status})
		must(r.t, err)
		is(string(status))
	}
	return shown
}

// warned returns the warnings of a refund as "code type status amount currency id".
func warned(a answer) (all []string) {
	list, _ := a.field("warnings").([]any)
	for _, entry := range list {
		w := entry.(map[string]any)
		d := w["dispute"].(map[string]any)
		all = append(all, fmt.Sprint(w["code"], " ", d["type"], " ", d["status"], " ", d["amount"], " ", d["currency"], " ", d["id"]))
	}
	return all
}

// TestRefundsOfDisputed checks that a refund beside a dispute that is open or lost is done, and its
// answer warns; and that it is refused if the request or the account wants that, with nothing
// recorded and no key used (D22.2).
func TestRefundsOfDisputed(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	const refuse, cent = "/refund?refuse_disputed=true", `{"amount":1}`
	for _, c := range []struct {
		kind     processor.DisputeType
		statuses []processor.DisputeStatus
		risk     bool
	}{
		{"DISPUTE", nil, true},
		{"DISPUTE", []processor.DisputeStatus{"CHALLENGED"}, true},
		{"DISPUTE", []processor.DisputeStatus{"CHALLENGED", "LOST"}, true},
		{"DISPUTE", []processor.DisputeStatus{"CHALLENGED", "WON"}, false},
		{"DISPUTE", []processor.DisputeStatus{"ACCEPTED"}, true},
		{"DISPUTE", []processor.DisputeStatus{"EXPIRED"}, true},
		{"DISPUTE", []processor.DisputeStatus{"CANCELLED"}, false},
		{"RETRIEVAL", nil, true},
		{"RETRIEVAL", []processor.DisputeStatus{"CHALLENGED"}, true},
		{"RETRIEVAL", []processor.DisputeStatus{"EXPIRED"}, false},
	} {
		at := r.captured()
		d := r.disputedAs(at, c.kind, c.statuses...)
		what := fmt.Sprint(c.kind, " ", d["status"])
		if !c.risk {
			if done := r.want(r.post(at+refuse, cent), 200, ""); done.field("warnings") != nil {
				t.Errorf("%s: %s", what, done.text)
			}
			continue
		}
		recorded := func() int { return len(r.want(r.get(at+"/events"), 200, "").field("data").([]any)) }
		before := recorded()
		refused := r.want(r.post(at+refuse, cent, "X-Idempotency-Key", d["id"].(string)), 409, "InvalidPaymentStatus")
		if got := recorded(); got != before || refused.text1("error", "paymentId") != strings.TrimPrefix(at, "/payments/") || refused.text1("error", "paymentStatus") != "SETTLED" {
			t.Errorf("%s: %d events, %s", what, got-before, refused.text)
		}
		r.says(refused, []string{d["id"].(string) + " (" + what + ", 10.00 EUR)", "leave refuse_disputed out"}, nil)
		r.want(r.get("/management/disputes/"+d["id"].(string)), 200, "")          // as the suggestion says
		r.want(r.post(at+refuse, `{"amount":9999}`), 409, "InvalidPaymentStatus") // the status before the amount (D3)
		want := []string{fmt.Sprint("REFUND_OF_DISPUTED_PAYMENT ", what, " 1000 EUR ", d["id"])}
		done := r.want(r.post(at+"/refund", `{"amount":1,`+expanded+`}`, "X-Idempotency-Key", d["id"].(string)), 200, "") // the refused request did not use the key
		if got := warned(done); !slices.Equal(got, want) || len(done.events()) == 0 {
			t.Errorf("%s warns %q, want %q: %s", what, got, want, done.text)
		}
		for _, path := range []string{"/refund", refuse, "/refund?refuse_disputed=false"} {
			r.want(r.post(at+path, cent, "X-Idempotency-Key", d["id"].(string)), 409, "IdempotencyKeyAlreadyExists") // before the status (D3)
		}
		if got := warned(r.want(r.manage("POST", at+"/refund", cent), 200, "")); !slices.Equal(got, want) {
			t.Errorf("%s warns the management %q", what, got)
		}
		if read := r.want(r.get(at), 200, ""); read.field("warnings") != nil {
			t.Errorf("%s: the payment has warnings: %s", what, read.text)
		}
		r.want(r.manage("PATCH", "/settings", `{"refuseRefundOfDisputed":true}`), 200, "")
		for _, path := range []string{at + "/refund", at + "/refund?refuse_disputed=false", "/management" + at + "/refund"} {
			r.says(r.want(r.post(path, cent), 409, "InvalidPaymentStatus"), []string{d["id"].(string), "refuseRefundOfDisputed off: PATCH /management/settings"}, nil)
		}
		r.want(r.post(r.captured()+"/refund", cent), 200, "") // of no dispute
		r.want(r.manage("PATCH", "/settings", `{"refuseRefundOfDisputed":false}`), 200, "")
	}
	r.failedBesideDisputes()
	at := r.captured()
	all := []string{r.disputedAs(at, "DISPUTE", "CHALLENGED", "LOST")["id"].(string), r.disputedAs(at, "PREARBITRATION")["id"].(string)}
	r.disputedAs(at, "DISPUTE", "CANCELLED")
	if got := warned(r.want(r.post(at+"/refund", ""), 200, "")); len(got) != 2 || !strings.HasSuffix(got[0], all[1]) || !strings.HasSuffix(got[1], all[0]) {
		t.Errorf("of several disputes: %q, want those of %q", got, all)
	}
	r.want(r.post(at+refuse, ""), 409, "InvalidPaymentStatus")
	r.want(r.post(at+"/refund", ""), 409, "PaymentAlreadyRefunded")
	r.want(r.post(r.paid(goodCard, "")+refuse, ""), 400, "InvalidPaymentStatus") // nothing is captured
	for _, value := range []string{"yes", "", "true&refuse_disputed=false"} {
		r.want(r.post(at+"/refund?refuse_disputed="+value, ""), 422, "RequestValidationError")
	}
}

// failedBesideDisputes checks that the warnings of a refund that the processor refused say that no
// money was moved, and that the warnings of the next refund say what they say of any other.
func (r *rig) failedBesideDisputes() {
	r.t.Helper()
	for _, c := range []struct {
		kind     processor.DisputeType
		statuses []processor.DisputeStatus
		text     string
	}{
		{"DISPUTE", nil, "the dispute is not decided. If it is lost, it returns 10.00 EUR to the customer."},
		{"DISPUTE", []processor.DisputeStatus{"CHALLENGED", "LOST"}, "the dispute has already returned 10.00 EUR to the customer. A refund of the same money pays the customer a second time."},
		{"RETRIEVAL", nil, "the customer's bank asks for information about the payment. A dispute may follow, which returns 10.00 EUR to the customer."},
	} {
		at := r.captured()
		r.disputedAs(at, c.kind, c.statuses...)
		r.act(at, processor.Refund, 2000) // so that the processor refuses ours
		warning := func(a answer) string {
			list, _ := a.field("warnings").([]any)
			if len(list) != 1 {
				r.t.Fatalf("%s: %s", c.kind, a.text)
			}
			text, _ := list[0].(map[string]any)["message"].(string)
			return text
		}
		failed := r.want(r.post(at+"/refund", `{"amount":1000,`+expanded+`}`), 200, "")
		if got := types(failed.events()); !slices.Contains(got, "REFUND_FAILED") {
			r.t.Fatalf("the refund did not fail: %q", got)
		}
		if got, want := warning(failed), "The refund failed and moved no money. Before you refund again: "+c.text; got != want {
			r.t.Errorf("%s %s of a failed refund warns %q, not %q", c.kind, c.statuses, got, want)
		}
		if got := warning(r.want(r.post(at+"/refund", `{"amount":1}`), 200, "")); strings.Contains(got, "failed") {
			r.t.Errorf("%s %s of a refund after it warns %q", c.kind, c.statuses, got)
		}
	}
}

// TestDisputeMeanwhile checks that a refund knows a dispute that was opened while it waited for
// another operation, and that it warns about a dispute that was opened while the processor worked
// on the refund (D22.2).
func TestDisputeMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	hold := func() (reached, release chan struct{}) { // the next operation at a processor
		reached, release = make(chan struct{}), make(chan struct{})
		var first sync.Once
		cut := func(q *http.Request) bool {
			if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/operations") {
				first.Do(func() { close(reached); <-release })
			}
			return false
		}
		r.cut.Store(&cut)
		return reached, release
	}
	came := func(c chan struct{}) {
		t.Helper()
		select {
		case <-c:
		case <-time.After(patience):
			t.Fatal("the operation does not reach the processor")
		}
	}
	async := func(path, body string) chan answer {
		done := make(chan answer, 1)
		go func() { done <- r.post(path, body) }()
		return done
	}
	at := r.paid(goodCard, "")
	r.want(r.post(at+"/capture", `{"amount":1000,"final":false}`), 200, "")
	reached, release := hold()
	capture := async(at+"/capture", `{"amount":500}`)
	came(reached)
	refund := async(at+"/refund?refuse_disputed=true", `{"amount":1}`)
	d := r.disputedAs(at, "DISPUTE")
	close(release)
	r.want(<-capture, 200, "")
	r.says(r.want(<-refund, 409, "InvalidPaymentStatus"), []string{d["id"].(string)}, nil)

	at = r.captured()
	reached, release = hold()
	refund = async(at+"/refund?refuse_disputed=true", `{"amount":1}`)
	came(reached)
	d = r.disputedAs(at, "DISPUTE")
	close(release)
	if got := warned(r.want(<-refund, 200, "")); len(got) != 1 || !strings.HasSuffix(got[0], d["id"].(string)) {
		t.Errorf("a dispute that was opened meanwhile: %q", got)
	}
}

// TestWorkflowRefundsOfDisputed checks that the account's setting holds for refunds of workflows,
// and in simulations (D19, D22.2).
func TestWorkflowRefundsOfDisputed(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	const back = `{"name":"back","trigger":{"eventType":"DISPUTE.OPENED"},"condition":"true","actions":[{"type":"refund","amount":100}]}`
	made := r.want(r.manage("POST", "/workflows", back), 200, "")
	runs := "/workflows/" + made.text1("id") + "/runs"
	ends := func(status string, n int) map[string]any {
		t.Helper()
		var newest map[string]any
		r.rig.eventually(func() bool {
			data := r.want(r.manage("GET", runs, ""), 200, "").field("data").([]any)
			if len(data) == n {
				newest = data[0].(map[string]any)
			}
			return len(data) == n && newest["status"] == status
		})
		return newest
	}
	at := r.captured()
	r.disputedAs(at, "DISPUTE")
	ends("SUCCEEDED", 1)
	r.want(r.manage("PATCH", "/settings", `{"refuseRefundOfDisputed":true}`), 200, "")
	at = r.captured()
	d := r.disputedAs(at, "DISPUTE")
	failed := ends("FAILED", 2)
	if text := fmt.Sprint(failed["lastError"]); !strings.Contains(text, d["id"].(string)+" (DISPUTE OPEN, 10.00 EUR)") {
		t.Errorf("the run failed with %s", text)
	}
	if refunded := r.want(r.get(at), 200, "").field("processor", "amountRefunded"); refunded != 0.0 {
		t.Errorf("%v is refunded", refunded)
	}
	dry := r.want(r.manage("POST", strings.TrimSuffix(runs, "/runs")+"/simulate", "{}"), 200, "")
	if !strings.Contains(dry.text, d["id"].(string)+" (DISPUTE OPEN") {
		t.Errorf("the simulation refuses nothing: %s", dry.text)
	}
}
