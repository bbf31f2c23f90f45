package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/ordered"
	"payledger/processorsim/protocol"
	"payledger/projections/eventjson"
	"payledger/projections/eventjson/eventjsontest"
)

// disputed opens disputes of two payments, alternating the types, and waits until the list shows
// all of them.
func disputed(r *rig, n int) (payments []string, all []map[string]any) {
	r.t.Helper()
	for range 2 {
		at := r.paid(goodCard, "")
		r.want(r.post(at+"/capture", ""), 200, "")
		payments = append(payments, strings.TrimPrefix(at, "/payments/"))
	}
	for i := range n {
		_, err := r.sim.OpenDispute(context.Background(), protocol.DisputeOrder{
			Reference: domain.PaymentID(payments[i%2]), Type: processor.DisputeTypes[i%3], ReasonCode: []string{"10.4", "13.1"}[i%2],
		})
		must(r.t, err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); len(all) < n; <-tick.C {
		if all = r.disputes(""); time.Now().After(deadline) {
			r.t.Fatalf("%d of %d disputes are shown", len(all), n)
		}
	}
	return payments, all
}

// disputes reads a list to its end.
func (r *rig) disputes(query string) (all []map[string]any) {
	r.t.Helper()
	for cursor := ""; ; {
		a := r.want(r.get("/management/disputes?"+query+cursor), 200, "")
		for _, d := range a.field("data").([]any) {
			all = append(all, d.(map[string]any))
		}
		next := a.text1("nextCursor")
		if next == "" {
			return all
		}
		cursor = "&cursor=" + url.QueryEscape(next)
	}
}

// TestDisputes: each filter, alone and with others, whole and in pages; one dispute with its
// history (D20).
func TestDisputes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	payments, all := disputed(r, 9)
	if sorted := slices.IsSortedFunc(all, func(a, b map[string]any) int {
		return strings.Compare(b["openedAt"].(string), a["openedAt"].(string))
	}); !sorted {
		t.Errorf("not newest first: %v", all)
	}
	middle := all[4]["openedAt"].(string)
	for query, fits := range map[string]func(map[string]any) bool{
		"type=RETRIEVAL":                             func(d map[string]any) bool { return d["type"] == "RETRIEVAL" },
		"type=RETRIEVAL,DISPUTE":                     func(d map[string]any) bool { return d["type"] != "PREARBITRATION" },
		"type=DISPUTE&type=PREARBITRATION":           func(d map[string]any) bool { return d["type"] != "RETRIEVAL" },
		"status=OPEN":                                func(map[string]any) bool { return true },
		"status=WON,LOST":                            func(map[string]any) bool { return false },
		"processor=ADYEN":                            func(map[string]any) bool { return true },
		"processor=STRIPE":                           func(map[string]any) bool { return false },
		"reasonCode=13.1":                            func(d map[string]any) bool { return d["reasonCode"] == "13.1" },
		"paymentId=" + payments[1]:                   func(d map[string]any) bool { return d["paymentId"] == payments[1] },
		"paymentId=" + payments[1] + "&type=DISPUTE": func(d map[string]any) bool { return d["paymentId"] == payments[1] && d["type"] == "DISPUTE" },
		"orderId=order-1":                            func(map[string]any) bool { return true },
		"orderId=order-2":                            func(map[string]any) bool { return false },
		"processorDisputeId=" + all[2]["processorDisputeId"].(string): func(d map[string]any) bool { return d["id"] == all[2]["id"] },
		"from=" + middle:                   func(d map[string]any) bool { return d["openedAt"].(string) >= middle },
		"to=" + middle:                     func(d map[string]any) bool { return d["openedAt"].(string) <= middle },
		"from=" + middle + "&to=" + middle: func(d map[string]any) bool { return d["openedAt"].(string) == middle },
		"from=2001-01-01T00:00:00%2B01:00": func(map[string]any) bool { return true },
	} {
		var want []string
		for _, d := range all {
			if fits(d) {
				want = append(want, d["id"].(string))
			}
		}
		for _, limit := range []int{1, 4, 100} {
			var got []string
			for _, d := range r.disputes(fmt.Sprintf("%s&limit=%d", query, limit)) {
				got = append(got, d["id"].(string))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s in pages of %d: %v, want %v", query, limit, got, want)
			}
		}
	}
	one := r.want(r.get("/management/disputes/"+all[0]["id"].(string)), 200, "")
	if history, _ := one.field("history").([]any); len(history) != 1 || history[0].(map[string]any)["verdict"] != "OPENED" {
		t.Errorf("%s", one.text)
	}
	for field, value := range map[string]any{"amount": 2420.0, "currency": "EUR", "processor": "ADYEN", "status": "OPEN", "orderId": "order-1", "merchantId": r.books(payments[0])[0].ProcessorMerchantID} {
		if one.field(field) != value {
			t.Errorf("%s is %v: %s", field, one.field(field), one.text)
		}
	}
}

// TestRejectedFirst: the first notification about a dispute is impossible. Its event names the
// dispute and the payment, and has no dispute after it. A possible one opens the dispute later
// (D16).
func TestRejectedFirst(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	id := strings.TrimPrefix(r.paid(goodCard, ""), "/payments/")
	tell := func(notice, kind, status, at string) {
		r.want(r.signedNotify("ADYEN", fmt.Sprintf(`{"id":%q,"processor":"ADYEN","type":"dispute","reference":%q,"dispute":{"disputePspReference":"dp_1","disputeType":%q,
			"disputeStatus":%q,"reasonCode":"10.4","disputedAmount":{"value":100,"currency":"EUR"},"eventDate":%q}}`, notice, id, kind, status, at)), 200, "")
	}
	tell("nt_1", "RequestForInformation", "Lost", "2026-03-01T12:00:00Z")
	tell("nt_2", "Chargeback", "Undefended", "2999-03-01T12:00:00Z")
	tell("nt_3", "Chargeback", "Undefended", "2026-03-01T13:00:00Z")
	var shown []string
	name := string(domain.DisputeIDFor(r.account.AccountID, "ADYEN", "dp_1"))
	events, err := r.store.History(t.Context(), eventstore.Disputes.Key(r.account.AccountID, name))
	must(t, err)
	for _, recorded := range events {
		e, err := eventjson.Render(t.Context(), r.store, ordered.Event{Recorded: recorded, Position: 1})
		must(t, err)
		text, err := e.Append(nil, false)
		must(t, err)
		must(t, eventjsontest.CheckEvent(text))
		var event struct {
			Event struct {
				ID, AccountID string
				Subject       struct{ PaymentID, ProcessorDisputeID string }
			}
			Dispute map[string]any
		}
		must(t, json.Unmarshal(text, &event))
		if event.Event.ID != name || event.Event.AccountID != string(r.account.AccountID) || event.Event.Subject.PaymentID != id || event.Event.Subject.ProcessorDisputeID != "dp_1" {
			t.Errorf("%s", text)
		}
		shown = append(shown, fmt.Sprint(recorded.Type, " ", event.Dispute != nil))
	}
	if want := []string{"dispute.rejected false", "dispute.rejected false", "dispute.opened true"}; !slices.Equal(shown, want) {
		t.Errorf("%v, want %v", shown, want)
	}
}

// TestDisputesRefused checks the errors for invalid filters, for cursors of other lists, and for
// disputes of other accounts (D1, D3).
func TestDisputesRefused(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	_, all := disputed(r, 3)
	page := r.want(r.get("/management/disputes?limit=1&type=DISPUTE,RETRIEVAL"), 200, "")
	cursor := url.QueryEscape(page.text1("nextCursor"))
	if cursor == "" {
		t.Fatal(page.text)
	}
	r.want(r.get("/management/disputes?limit=2&type=RETRIEVAL&type=DISPUTE&cursor="+cursor), 200, "") // the same filter
	for query, path := range map[string]string{
		"cursor=" + cursor:                "$.cursor",
		"type=RETRIEVAL&cursor=" + cursor: "$.cursor",
		"cursor=x":                        "$.cursor",
		"type=CHARGEBACK":                 "$.type",
		"status=open":                     "$.status",
		"processor=ACME":                  "$.processor",
		"from=yesterday":                  "$.from",
		"from=2026-03-02T00:00:00Z&to=2026-03-01T00:00:00Z": "$.from",
		"limit=0":             "$.limit",
		"limit=101":           "$.limit",
		"paymentId=":          "$.paymentId",
		"order_id=1":          "$.order_id",
		"orderId=1&orderId=2": "$.orderId",
	} {
		a := r.want(r.get("/management/disputes?"+query), 422, "RequestValidationError")
		if faults := a.faults(); len(faults) != 1 || !strings.HasPrefix(faults[0], "QueryString "+path+" ") {
			t.Errorf("%s: %v", query, faults)
		}
	}
	payments := r.want(r.get("/payments?limit=1"), 200, "")
	if other := payments.text1("nextCursor"); other != "" {
		r.want(r.get("/management/disputes?cursor="+url.QueryEscape(other)), 422, "RequestValidationError")
	}
	for _, id := range []string{"01nothing", "a.b", "%2A", all[0]["processorDisputeId"].(string), all[0]["paymentId"].(string)} {
		r.want(r.get("/management/disputes/"+id), 404, "EntityNotFound")
	}
	r.want(r.post("/management/disputes", "{}"), 405, "MethodNotAllowed")
	r.want(r.do(request{method: "GET", path: "/management/disputes", header: map[string]string{"X-Api-Key": ""}}), 401, "Unauthorized")
}
