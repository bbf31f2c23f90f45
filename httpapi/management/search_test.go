package management_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/domain/dispute"
	"payledger/domain/payment"
	"payledger/domain/workflow"
	"payledger/projections"
	"payledger/projections/deliveries"
	"payledger/projections/eventjson"
	"payledger/projections/listing"
	"payledger/projections/paymentjson"
)

const (
	deliveryID = "01JNZK3T5Y8QW7E2R4V6X9B0CD"
	replayID   = "5d0f3c1e-2b6a-4f7d-9c8e-0a1b2c3d4e5f"
)

func paid(id domain.PaymentID) payment.State {
	return payment.State{ID: id, OrderID: "order-1", Amount: 2420, Currency: "EUR", CreatedAt: noon}
}

// full puts one entity of each kind into the rig.
func (r *rig) full() {
	r.merchant.APIKeys = []account.APIKey{{ID: "key-2", Name: "till", CreatedAt: noon}}
	r.merchant.Endpoints = []account.Endpoint{hook}
	r.merchant.Users = []account.User{ada()}
	r.workflows = workflow.State{Workflows: []workflow.Workflow{{ID: "workflow-1", Definition: workflow.Definition{Name: "Cancel"}, CreatedAt: noon}}}
	r.payments = map[domain.PaymentID]payment.State{"payment-1": paid("payment-1"), domain.PaymentIDForKey("shop", "checkout-77"): paid("payment-2")}
	r.doubles.disputes = map[domain.DisputeID]dispute.State{"dispute-1": lost()}
	r.runs = map[domain.RunID]workflow.RunState{"run-1": {Revision: 1, StartedAt: noon, Payment: "payment-1", Workflow: workflow.Ref{ID: "workflow-1", Name: "Cancel"}}}
	r.attempts = map[domain.AttemptID]attempt.State{"attempt-1": {CreatedAt: noon, ExpiresAt: noon, Payment: "payment-1"}}
	r.doubles.deliveries = map[string]deliveries.Detail{
		deliveryID: {Row: deliveries.Row{EventType: "PAYMENT.STATUS", Status: "FAILED", PlannedAt: noon, Aggregate: "payment", AggregateID: "payment-1"}},
		replayID:   {Row: deliveries.Row{EventType: "DISPUTE.OPENED", Status: "PENDING", PlannedAt: noon, Aggregate: "dispute", AggregateID: "dispute-1"}},
	}
	r.replays = map[string]deliveries.Replay{replayID: {State: deliveries.ReplayRunning, CreatedAt: noon}}
	r.doubles.events = map[uint64]eventjson.Event{
		7: {ID: "event-7", Type: "payment.captured", Time: paymentjson.Time{Time: noon}, Payment: &paymentjson.Payment{ID: "payment-1"}},
		8: {ID: "event-8", Type: "account.created", Time: paymentjson.Time{Time: noon}},
	}
	r.customers = []string{"customer-7"}
}

const paymentFields = `"label":"order-1","matched":"%s","status":"PENDING","amount":2420,"currencyCode":"EUR","paymentId":"payment-1","at":` + noonText + `}`

// TestSearchByID checks that each kind of entity is found by its id, with every field of the
// result. Space around the text does not count. The text of an API key, and parts of ids, find
// nothing (D20).
func TestSearchByID(t *testing.T) {
	r := newRig(t)
	r.full()
	const at = `,"at":` + noonText + `}`
	for text, want := range map[string]string{
		"payment-1":     `{"kind":"payment","id":"payment-1",` + fmt.Sprintf(paymentFields, "id"),
		"%20payment-1+": `{"kind":"payment","id":"payment-1",` + fmt.Sprintf(paymentFields, "id"),
		"dispute-1":     `{"kind":"dispute","id":"dispute-1","label":"order-1","matched":"id","status":"OPEN","paymentId":"payment-1"` + at,
		"run-1":         `{"kind":"workflow_run","id":"run-1","label":"Cancel","matched":"id","status":"SKIPPED","paymentId":"payment-1","workflowId":"workflow-1"` + at,
		"attempt-1":     `{"kind":"payment_attempt","id":"attempt-1","matched":"id","status":"EXPIRED","paymentId":"payment-1"` + at,
		"key-2":         `{"kind":"api_key","id":"key-2","label":"till","matched":"id"` + at,
		"hook":          `{"kind":"webhook_endpoint","id":"hook","label":"my shop","matched":"id"` + at,
		"ada":           `{"kind":"user","id":"ada","label":"ada@shop.example","matched":"id"}`,
		"workflow-1":    `{"kind":"workflow","id":"workflow-1","label":"Cancel","matched":"id","workflowId":"workflow-1"` + at,
		deliveryID:      `{"kind":"webhook_delivery","id":"` + deliveryID + `","label":"PAYMENT.STATUS","matched":"id","status":"FAILED","paymentId":"payment-1"` + at,
		replayID: `{"kind":"webhook_delivery","id":"` + replayID + `","label":"DISPUTE.OPENED","matched":"id","status":"PENDING"` + at +
			`,{"kind":"webhook_replay","id":"` + replayID + `","matched":"id","status":"RUNNING"` + at,
		"7":                        `{"kind":"event","id":"event-7","label":"payment.captured","matched":"position","paymentId":"payment-1"` + at,
		"8":                        `{"kind":"event","id":"event-8","label":"account.created","matched":"position"` + at,
		"checkout-77":              `{"kind":"payment","id":"payment-2",` + strings.Replace(fmt.Sprintf(paymentFields, "idempotencyKey"), "payment-1", "payment-2", 1),
		"customer-7":               `{"kind":"customer","id":"customer-7","matched":"customerId"}`,
		"payment-":                 ``,
		"ada@shop.exa":             ``,
		"9":                        ``,
		"plk_sandbox_key-2_secret": ``,
	} {
		r.answered(`{"data":[` + want + `]}`)(r.h.Search(r.query("q=" + text)))
	}
}

// TestSearchOfPayments checks that payments are found by the processors' and the merchants' ids,
// each once and by the first field that has the text, and disputes by the processors' ids. Only a
// text with @ is looked up as an e-mail address.
func TestSearchOfPayments(t *testing.T) {
	r := newRig(t)
	r.transaction = []payment.State{paid("p-1"), paid("p-2")}
	d := lost()
	d.ID = "" // the list of the views has none
	r.disputeList.Data = []dispute.State{d}
	r.ofFilter = func(f projections.PaymentFilter) []projections.PaymentSummary {
		by := strings.Join(slices.Concat([]string{f.OrderID, string(f.Session)}, f.CustomerIDs, f.Emails), "")
		fields := map[bool]domain.PaymentID{f.OrderID != "": "p-order", f.Session != "": "p-session", f.CustomerIDs != nil: "p-customer", f.Emails != nil: "p-email"}
		return []projections.PaymentSummary{
			{ID: "p-1"}, {ID: fields[true], OrderID: by, Status: payment.StatusSettled, Amount: 7, CurrencyCode: "JPY", Date: paymentjson.Time{Time: noon}},
		}
	}
	transaction := func(id string) string {
		return `{"kind":"payment","id":"` + id + `",` + strings.Replace(fmt.Sprintf(paymentFields, "processorTransactionId"), "payment-1", id, 1)
	}
	of := func(id, by, text string) string {
		return `,{"kind":"payment","id":"` + id + `","label":"` + text + `","matched":"` + by + `","status":"SETTLED","amount":7,"currencyCode":"JPY","paymentId":"` + id + `","at":` + noonText + `}`
	}
	disputed := `,{"kind":"dispute","id":"` + string(domain.DisputeIDFor("shop", "ADYEN", "d-1")) + `","label":"order-1","matched":"processorDisputeId","status":"OPEN","paymentId":"payment-1","at":` + noonText + `}`
	for text, email := range map[string]string{"x": "", "a@b": of("p-email", "emailAddress", "a@b")} {
		r.answered(`{"data":[` + transaction("p-1") + `,` + transaction("p-2") + disputed +
			of("p-order", "orderId", text) + of("p-customer", "customerId", text) + of("p-session", "sessionId", text) + email + `]}`)(r.h.Search(r.query("q=" + text)))
	}
}

// TestSearchOrder checks that everything is looked up for the caller's account, ids first, each
// list for as many results as are missing. The search has no more than 20 results and ends when it
// has them.
func TestSearchOrder(t *testing.T) {
	owner := domain.AccountID("shop")
	id := func(text string) []called {
		return []called{
			call("Lag"), call("Payment", owner, domain.PaymentID(text)), call("Dispute", owner, domain.DisputeID(text)),
			call("FindRun", owner, domain.RunID(text)), call("Attempt", owner, domain.AttemptID(text)), call("Workflows", owner),
		}
	}
	none := (*listing.Place)(nil)
	lists := func(text string, left int) []called {
		return []called{
			call("PaymentsOfTransaction", owner, text, 20), call("ListDisputes", owner, projections.DisputeFilter{ProcessorDisputeID: text}, none, left),
			call("Payment", owner, domain.PaymentIDForKey("shop", text)),
			call("ListPayments", owner, projections.PaymentFilter{OrderID: text}, none, left),
			call("ListPayments", owner, projections.PaymentFilter{CustomerIDs: []string{text}}, none, left),
			call("ListPayments", owner, projections.PaymentFilter{Session: domain.SessionID(text)}, none, left),
		}
	}
	customer := func(text string) called { return call("HasCustomer", owner, text) }
	emails := call("ListPayments", owner, projections.PaymentFilter{Emails: []string{"a@b"}}, none, 20)
	webhooks := []called{call("Delivery", owner, deliveryID), call("Replay", owner, deliveryID)}

	r := newRig(t)
	for text, want := range map[string][]called{
		"x":        slices.Concat(id("x"), lists("x", 20), []called{customer("x")}),
		"a@b":      slices.Concat(id("a@b"), lists("a@b", 20), []called{emails, customer("a@b")}),
		"7":        slices.Concat(id("7"), []called{call("At", owner, uint64(7))}, lists("7", 20), []called{customer("7")}),
		"0":        slices.Concat(id("0"), lists("0", 20), []called{customer("0")}),
		deliveryID: slices.Concat(id(deliveryID), webhooks, lists(deliveryID, 20), []called{customer(deliveryID)}),
		// the first number that JSON readers may not read exactly
		"9007199254740992": slices.Concat(id("9007199254740992"), lists("9007199254740992", 20), []called{customer("9007199254740992")}),
	} {
		_, err := r.h.Search(r.query("q=" + text))
		must(t, err)
		r.made(want...)
	}
	r.h.Deliveries, r.h.Events = nil, nil
	for _, text := range []string{deliveryID, "7"} {
		_, err := r.h.Search(r.query("q=" + text))
		must(t, err)
		r.made(slices.Concat(id(text), lists(text, 20), []called{customer(text)})...)
	}

	for i := range 17 {
		r.transaction = append(r.transaction, paid(domain.PaymentID(fmt.Sprint("t-", i))))
	}
	r.ofFilter = func(f projections.PaymentFilter) (all []projections.PaymentSummary) {
		for i := range 2 {
			all = append(all, projections.PaymentSummary{ID: domain.PaymentID(fmt.Sprint(f.OrderID, f.CustomerIDs, i))})
		}
		return all
	}
	got, err := r.h.Search(r.query("q=x"))
	must(t, err)
	want := slices.Concat(id("x"), lists("x", 3)[:5])
	want[len(want)-1].In = slices.Clone(want[len(want)-1].In)
	want[len(want)-1].In[3] = 1
	if r.made(want...); strings.Count(asJSON(t, got), `"kind"`) != 20 {
		t.Errorf("found %s", asJSON(t, got))
	}
}

// TestSearchFails checks that a failed look-up fails the search: a list without it would look like
// the whole result.
func TestSearchFails(t *testing.T) {
	for method, text := range map[string]string{
		"Payment": "x", "Dispute": "x", "FindRun": "x", "Attempt": "x", "Workflows": "x", "Delivery": deliveryID, "Replay": replayID, "At": "7",
		"PaymentsOfTransaction": "x", "ListDisputes": "x", "ListPayments": "x", "HasCustomer": "x",
	} {
		r := newRig(t)
		r.fails[method] = errors.New("not now")
		if got, err := r.h.Search(r.query("q=" + text)); !errors.Is(err, r.fails[method]) {
			t.Errorf("%s fails: %v, %v", method, got, err)
		}
	}
}

// TestSearchRules: the text is not blank. An absent or empty one is the schema's fault.
func TestSearchRules(t *testing.T) {
	r := newRig(t)
	for query, want := range map[string][]string{"q=x": nil, "q=%20x": nil, "": nil, "q=": nil, "q=%20%09": {"$.q must not be blank"}} {
		same(t, query, r.faults("search", r.query(query)), want)
	}
	same(t, "found by the schema", r.faults("search", r.query("q=%20"), domain.Violation{Path: "$.q"}), nil)
}
