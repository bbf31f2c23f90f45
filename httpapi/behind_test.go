package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands/commandstest"
)

// act executes an operation at the processor out of band (D14).
func (r *rig) act(at string, kind processor.Kind, amount ...domain.Amount) {
	r.t.Helper()
	var part *domain.Amount
	if len(amount) > 0 {
		part = &amount[0]
	}
	_, err := r.sim.Act(r.t.Context(), kind, domain.PaymentID(strings.TrimPrefix(at, "/payments/")), part)
	must(r.t, err)
}

// agrees compares a payment with the processors' books.
func (r *rig) agrees(at string) {
	r.t.Helper()
	id := strings.TrimPrefix(at, "/payments/")
	tip, err := eventstore.Load(r.t.Context(), r.store, eventstore.Payments, eventstore.Payments.Key(r.account.AccountID, id), eventstore.Applied)
	must(r.t, err)
	if err := commandstest.Audit(tip.State, r.books(id)); err != nil {
		r.t.Error(err)
	}
}

// TestBehindTheBack checks that an operation that was made directly at the processor is found when
// the processor refuses one of our operations because of it. The answer is 200. The newest event is
// the failure, and amounts and status are the processor's (§6.3, D7).
func TestBehindTheBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const estimated = `,"paymentMethod":{"authorizationType":"ESTIMATED"}`
	captured := []string{"AUTHORIZATION_SUCCEEDED", "CAPTURE_SUCCEEDED"}
	for _, c := range []struct {
		name, card string
		before     string // an operation of ours, or ""
		act        processor.Kind
		amount     []domain.Amount
		ours, body string
		status     string
		amounts    [3]float64 // held, captured, refunded
		events     []string
	}{
		{"capture, then cancel", goodCard, "", processor.Capture, nil, "/cancel", "", "SETTLED", [3]float64{2420, 2420, 0}, append(captured[:2:2], "CANCELLATION_FAILED")},
		{"capture, then capture", goodCard, "", processor.Capture, nil, "/capture", "", "SETTLED", [3]float64{2420, 2420, 0}, append(captured[:2:2], "CAPTURE_FAILED")},
		{"a part captured, then all", goodCard, "", processor.Capture, []domain.Amount{1000}, "/capture", "", "PARTIALLY_SETTLED", [3]float64{2420, 1000, 0}, append(captured[:2:2], "CAPTURE_FAILED")},
		{"capture, then adjust", goodCard, "", processor.Capture, []domain.Amount{1000}, "/adjust-authorization", `{"amount":3000}`, "PARTIALLY_SETTLED", [3]float64{2420, 1000, 0}, append(captured[:2:2], "AUTHORIZATION_ADJUSTMENT_FAILED")},
		{"void, then capture", goodCard, "", processor.Void, nil, "/capture", "", "CANCELLED", [3]float64{2420, 0, 0}, []string{"AUTHORIZATION_SUCCEEDED", "CANCELLATION_SUCCEEDED", "CAPTURE_FAILED"}},
		{"void, then cancel", goodCard, "", processor.Void, nil, "/cancel", "", "CANCELLED", [3]float64{2420, 0, 0}, []string{"AUTHORIZATION_SUCCEEDED", "CANCELLATION_SUCCEEDED", "CANCELLATION_FAILED"}},
		{"refund, then refund", goodCard, "/capture", processor.Refund, nil, "/refund", "", "SETTLED", [3]float64{2420, 2420, 2420}, append(captured[:2:2], "REFUND_SUCCEEDED", "REFUND_FAILED")},
		{"a part refunded, then all", goodCard, "/capture", processor.Refund, []domain.Amount{420}, "/refund", "", "SETTLED", [3]float64{2420, 2420, 420}, append(captured[:2:2], "REFUND_SUCCEEDED", "REFUND_FAILED")},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := r.paid(c.card, estimated)
			if c.before != "" {
				r.want(r.post(at+c.before, ""), 200, "")
			}
			r.act(at, c.act, c.amount...)
			answered := r.want(r.post(at+c.ours, c.body), 200, "")
			now := r.want(r.get(at+events), 200, "")
			for _, a := range []answer{answered, now} {
				got := [3]float64{a.field("amount").(float64), a.field("processor", "amountCaptured").(float64), a.field("processor", "amountRefunded").(float64)}
				if a.text1("status") != c.status || got != c.amounts {
					t.Errorf("is %s with %v, not %s with %v", a.text1("status"), got, c.status, c.amounts)
				}
			}
			if got := types(now.events()); !slices.Equal(got, c.events) {
				t.Errorf("events %v, not %v", got, c.events)
			}
			newest := slices.MaxFunc(now.events(), func(a, b map[string]any) int { return strings.Compare(a["date"].(string), b["date"].(string)) })
			if kind := newest["type"].(string); !strings.HasSuffix(kind, "_FAILED") || newest["reason"] == "" {
				t.Errorf("the newest event is %v", newest)
			}
			r.agrees(at)
		})
	}
}

// TestAfterWhatWasFound checks that an operation found in the processor's books counts like any
// other operation.
func TestAfterWhatWasFound(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.paid(goodCard, "")
	r.act(at, processor.Capture)
	r.want(r.post(at+"/cancel", ""), 200, "")
	r.want(r.post(at+"/cancel", ""), 400, "InvalidPaymentStatus") // it is known as SETTLED now
	r.want(r.post(at+"/refund", `{"amount":420}`), 200, "")
	a := r.want(r.get(at+events), 200, "")
	capture := a.events()[1]["id"].(string)
	r.act(at, processor.Refund, 1000)
	r.want(r.post(at+"/refund", `{"amount":2000,"transactionEventId":"`+capture+`"}`), 200, "")
	a = r.want(r.post(at+"/refund", `{"transactionEventId":"`+capture+`"}`), 200, "")
	if a.field("processor", "amountRefunded") != 2420.0 {
		t.Errorf("%v of 2420 are refunded", a.field("processor", "amountRefunded"))
	}
	r.want(r.post(at+"/refund", ""), 409, "PaymentAlreadyRefunded")
	r.agrees(at)

	at = r.paid(goodCard, "")
	r.act(at, processor.Void)
	r.want(r.post(at+"/capture", ""), 200, "")
	r.want(r.post(at+"/capture", ""), 400, "InvalidPaymentStatus")
	r.agrees(at)
}

// TestSettledAllTheSame checks that the status of a SETTLED payment refuses a cancel, even if the
// processor's books contain a refund from outside by then (D7).
func TestSettledAllTheSame(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.paid(goodCard, "")
	r.want(r.post(at+"/capture", ""), 200, "")
	r.act(at, processor.Refund, 1000)
	r.want(r.post(at+"/cancel", ""), 400, "InvalidPaymentStatus")
	if a := r.want(r.get(at), 200, ""); a.field("processor", "amountRefunded") != 1000.0 {
		t.Errorf("the refund was not found: %s", a.text)
	}
	r.agrees(at)
}

// TestFoundOnWhatWasLost checks a refund from outside on a capture whose confirmation was lost:
// reading the processor's books records both, in their order.
func TestFoundOnWhatWasLost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.unheard()
	at := r.paid(settlesCard, "")
	if a := r.want(r.post(at+"/capture", ""), 200, ""); a.text1("status") != "SETTLING" {
		t.Fatal(a.text)
	}
	_, err := r.sim.Settle(t.Context())
	must(t, err)
	r.act(at, processor.Refund, 420)
	r.want(r.post(at+"/cancel", ""), 200, "")
	if a := r.want(r.get(at), 200, ""); a.text1("status") != "SETTLED" || a.field("processor", "amountRefunded") != 420.0 {
		t.Errorf("found %s", a.text)
	}
	r.agrees(at)
}

// TestBooksThatCannotBeRead checks that the outcome is unknown as long as the processor does not
// return the reason of a refusal (D8). The outcome is recorded once the processor returns the
// reason.
func TestBooksThatCannotBeRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.paid(goodCard, "")
	r.act(at, processor.Capture)
	r.overdue(func(q *http.Request) bool { return q.URL.Query().Has("reference") })
	a := r.want(r.post(at+"/cancel", ""), 200, "")
	if a.text1("status") != "AUTHORIZED" || a.text1("statusReason", "type") != "GATEWAY_TIMEOUT" {
		t.Errorf("answered %s", a.text)
	}
	if read := r.want(r.get(at), 200, ""); read.text1("statusReason", "type") != "GATEWAY_TIMEOUT" {
		t.Errorf("read as %s", read.text)
	}
	r.cut.Store(nil)
	r.until(at, "status", "SETTLED")
	r.agrees(at)
}
