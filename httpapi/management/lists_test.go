package management_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/processor"
	"payledger/httpapi/management"
	"payledger/httpapi/request"
	"payledger/projections"
	"payledger/projections/auditlog"
	"payledger/projections/deliveries"
	"payledger/projections/listing"
	"payledger/projections/paymentjson"
	"payledger/projections/statistics"
)

// lost is a dispute with every field and two facts.
func lost() dispute.State {
	until := noon.Add(48 * time.Hour)
	opened := dispute.Fact{
		EventID: "event-1", At: noon.Add(-2 * time.Minute), ReceivedAt: noon.Add(-time.Minute), Type: processor.Chargeback, Status: processor.DisputeOpen,
		TransactionID: "tx-1", MerchantID: "m-1", ReasonCode: "10.4", Reason: "FRAUD", Wording: "Other fraud", Amount: 2420, Currency: "EUR", ChallengeBy: &until,
	}
	late := opened
	late.EventID, late.Status, late.ChallengeBy, late.Amount = "event-2", processor.DisputeLost, nil, 2400
	return dispute.State{
		ID: "dispute-1", Account: "shop", Revision: 2, CreatedAt: noon, UpdatedAt: noon.Add(time.Minute), Current: opened,
		Subject: dispute.Subject{Payment: "payment-1", OrderID: "order-1", PaymentMethodType: "PAYMENT_CARD", Network: "VISA", Processor: "ADYEN", ProcessorDisputeID: "d-1"},
		Facts: []dispute.RecordedFact{
			{Fact: opened, Disposition: dispute.DispositionOpened, Entered: noon},
			{Fact: late, Disposition: dispute.DispositionRejected, Refusal: "it ended", Entered: noon.Add(time.Minute)},
		},
	}
}

const (
	disputeFields = `"id":"dispute-1","type":"DISPUTE","status":"OPEN","paymentId":"payment-1","orderId":"order-1","transactionId":"tx-1",` +
		`"paymentMethod":{"paymentMethodType":"PAYMENT_CARD","paymentMethodData":{"network":"VISA"}},"processor":"ADYEN","merchantId":"m-1","processorDisputeId":"d-1",` +
		`"reasonCode":"10.4","reason":"FRAUD","processorReason":"Other fraud","amount":2420,"currency":"EUR","challengeRequiredBy":"2026-03-16T12:00:00.000000Z",` +
		`"receivedAt":"2026-03-14T11:59:00.000000Z","openedAt":` + noonText + `,"updatedAt":"2026-03-14T12:01:00.000000Z"`
	factTimes = `"at":"2026-03-14T11:58:00.000000Z","receivedAt":"2026-03-14T11:59:00.000000Z","recordedAt":`
)

// TestGetDispute checks that the answer has every field of the dispute, and its history in the
// order of arrival, with refused notifications (D16, D20).
func TestGetDispute(t *testing.T) {
	r := newRig(t)
	bare := dispute.State{ID: "dispute-2", CreatedAt: noon, UpdatedAt: noon, Current: dispute.Fact{ReceivedAt: noon}}
	r.doubles.disputes = map[domain.DisputeID]dispute.State{"dispute-1": lost(), "dispute-2": bare}
	r.answered(`{` + disputeFields + `,"history":[` +
		`{"processorEventId":"event-1",` + factTimes + noonText + `,"type":"DISPUTE","status":"OPEN","verdict":"OPENED","reasonCode":"10.4","amount":2420,"currency":"EUR","challengeRequiredBy":"2026-03-16T12:00:00.000000Z"},` +
		`{"processorEventId":"event-2",` + factTimes + `"2026-03-14T12:01:00.000000Z","type":"DISPUTE","status":"LOST","verdict":"REJECTED","refusal":"it ended","reasonCode":"10.4","amount":2400,"currency":"EUR","challengeRequiredBy":null}]}`)(
		r.h.GetDispute(r.with("id", "dispute-1")))
	r.made(call("Dispute", domain.AccountID("shop"), domain.DisputeID("dispute-1")))
	r.answered(`{"id":"dispute-2","type":"","status":"","paymentId":"","orderId":"","paymentMethod":{"paymentMethodType":"","paymentMethodData":{"network":"OTHER"}},` +
		`"processor":"","processorDisputeId":"","reasonCode":"","amount":0,"currency":"","challengeRequiredBy":null,"receivedAt":` + noonText + `,"openedAt":` + noonText + `,"updatedAt":` + noonText + `,"history":[]}`)(
		r.h.GetDispute(r.with("id", "dispute-2")))
	r.refused(domain.ReasonEntityNotFound)(r.h.GetDispute(r.with("id", "dispute-3")))
}

// TestListDisputes checks that each parameter is passed to the views, and that the list has every
// field of a dispute.
func TestListDisputes(t *testing.T) {
	r := newRig(t)
	r.disputeList.Data = []dispute.State{lost()}
	r.answered(`{"data":[{` + disputeFields + `}]}`)(r.h.ListDisputes(r.query(
		"type=RETRIEVAL,DISPUTE&status=WON&status=LOST,WON&processor=ADYEN&reasonCode=13.1&sort=deadline&paymentId=p-1&orderId=o-1&processorDisputeId=d-1&from=2026-03-13T12:00:00&to=2026-03-14T12:00:00Z&limit=7")))
	from, to := noon.AddDate(0, 0, -1), noon
	r.made(call("Lag"), call("ListDisputes", domain.AccountID("shop"), projections.DisputeFilter{
		Types: []string{"DISPUTE", "RETRIEVAL"}, Statuses: []string{"LOST", "WON"}, Processors: []string{"ADYEN"}, ReasonCodes: []string{"13.1"},
		Payment: "p-1", OrderID: "o-1", ProcessorDisputeID: "d-1", From: &from, To: &to, ByDeadline: true, Now: noon,
	}, (*listing.Place)(nil), 7))
	r.disputeList.Data = nil
	r.answered(`{"data":[]}`)(r.h.ListDisputes(r.with()))
	r.made(call("Lag"), call("ListDisputes", domain.AccountID("shop"), projections.DisputeFilter{}, (*listing.Place)(nil), request.DefaultLimit))
}

// TestListAuditLog checks that each parameter is passed to the views, and that the list has their
// entries (D20).
func TestListAuditLog(t *testing.T) {
	r := newRig(t)
	position := uint64(7)
	r.audit.Data = []auditlog.Entry{{
		At: paymentjson.Time{Time: noon}, Actor: "user:ada", ActorName: "ada@shop.example", Action: "account.user_added", EventID: "event", RequestID: "request", From: "192.0.2.7",
		What: auditlog.Subject{Kind: "user", ID: "ben", Name: "ben@shop.example"}, Position: &position,
	}}
	r.answered(`{"data":[{"at":` + noonText + `,"actor":"user:ada","actorName":"ada@shop.example","action":"account.user_added","what":{"kind":"user","id":"ben","name":"ben@shop.example"},` +
		`"from":"192.0.2.7","eventId":"event","requestId":"request","position":7}]}`)(
		r.h.ListAuditLog(r.query("actor=user:ada&user=Ada&type=account.user_added,account.created&from=2026-03-13T12:00:00Z&to=2026-03-14T13:00:00%2B01:00&limit=7")))
	from, to := noon.AddDate(0, 0, -1), noon
	filter := auditlog.Filter{Actor: "user:ada", User: "Ada", Types: []string{"account.created", "account.user_added"}, From: &from, To: &to}
	r.made(call("Lag"), call("ListAudit", domain.AccountID("shop"), filter, (*listing.Place)(nil), 7))
	r.audit.Data = nil
	r.answered(`{"data":[]}`)(r.h.ListAuditLog(r.with()))
}

// TestPagesOfLists checks that the cursor of a page leads to the next page. A cursor of another
// list, account or filter is a fault (D11).
func TestPagesOfLists(t *testing.T) {
	r := newRig(t)
	place := &listing.Place{At: noon, ID: "last"}
	r.disputeList.Next, r.audit.Next = place, place
	disputes, err := r.h.ListDisputes(r.query("type=DISPUTE,RETRIEVAL"))
	must(t, err)
	entries, err := r.h.ListAuditLog(r.query("actor=user:ada"))
	must(t, err)
	of := cursorOf(t, disputes)
	audit := cursorOf(t, entries)
	if of == "" || audit == "" || of == audit {
		t.Fatal(of, audit)
	}
	const otherFilters = "$.cursor is a cursor of this list with other filters; send it with the parameters of the page that it came from, or leave it out"
	for _, c := range []struct {
		operation, query, fault string
		list                    func(*request.Call) (any, error)
	}{
		{"listDisputes", "type=RETRIEVAL&type=DISPUTE&cursor=" + of, "", r.h.ListDisputes},
		{"listDisputes", "type=DISPUTE&cursor=" + of, otherFilters, nil},
		{"listDisputes", "cursor=" + audit, "$.cursor is not a cursor of this list", nil},
		{"listDisputes", "cursor=x", "$.cursor is not a cursor of this list", nil},
		{"listAuditLog", "actor=user:ada&cursor=" + audit, "", r.h.ListAuditLog},
		{"listAuditLog", "actor=user:ben&cursor=" + audit, otherFilters, nil},
		{"listAuditLog", "cursor=" + of, "$.cursor is not a cursor of this list", nil},
	} {
		call := r.query(c.query)
		if c.list == nil {
			same(t, c.query, r.faults(c.operation, call), []string{c.fault})
			continue
		}
		same(t, c.query, r.faults(c.operation, call), nil)
		_, err := c.list(call)
		must(t, err)
		if d := cmp.Diff(any(place), r.calls[len(r.calls)-1].In[2]); d != "" {
			t.Errorf("%s is read from another place (-want +got): %s", c.query, d)
		}
		call.Merchant.ID = "another"
		same(t, "another account", r.faults(c.operation, call), []string{"$.cursor is not a cursor of this list"})
	}
}

func cursorOf(t *testing.T, list any) string {
	t.Helper()
	var page struct{ NextCursor string }
	must(t, json.Unmarshal([]byte(asJSON(t, list)), &page))
	return page.NextCursor
}

// TestRulesOfLists checks the faults of the periods and of the types of the audit log.
func TestRulesOfLists(t *testing.T) {
	r := newRig(t)
	for _, operation := range []string{"listDisputes", "listAuditLog", "getReconciliation"} {
		for query, want := range map[string][]string{
			"": nil,
			"from=2026-03-02T00:00:00Z&to=2026-03-02T00:00:00Z":        nil,
			"from=2026-03-02T00:00:00Z&to=2026-03-02T00:59:59%2B01:00": {"$.from must not be after to"},
			"from=2026-03-02T00:00:00.000001Z&to=2026-03-02T00:00:00":  {"$.from must not be after to"},
			"from=yesterday&to=2026-03-02T00:00:00Z":                   nil, // the schema reports it
			"from=2026-03-02T00:00:00Z":                                nil,
			"to=2026-03-02T00:00:00Z":                                  nil,
		} {
			same(t, operation+"?"+query, r.faults(operation, r.query(query)), want)
		}
	}
	same(t, "types", r.faults("listAuditLog", r.query("type=account.created,webhook.replay_requested&type=payment.captured")), nil)
	for _, query := range []string{"type=account.created,account.made", "type=4111111111111111&type=a%22b"} {
		same(t, query, r.faults("listAuditLog", r.query(query)), []string{"$.type has an unknown event type"}) // the value may be a card number
	}
}

// TestStatistics checks the days of the call: without to it ends today, without from it is the day
// of to. The answer is the report of the views with the counts of webhooks, without these if they
// cannot be read (D20).
func TestStatistics(t *testing.T) {
	r := newRig(t)
	day, err := statistics.ParseDay("2026-03-14")
	must(t, err)
	r.report = statistics.Report{From: day, To: day, Count: statistics.Count{Payments: 2}}
	r.sent = deliveries.Statistics{Counts: deliveries.Counts{Deliveries: 3}}
	report := asJSON(t, r.report)
	const requests = `,"requests":{"since":"2026-03-15T12:00:00.000000Z","allSince":"2026-03-15T12:00:00.000000Z","nodes":1,"silentNodes":0,"requests":0,"clientErrors":0,"serverErrors":0,"byDay":[]}}`
	whole, report := strings.TrimSuffix(report, "}")+`,"webhooks":`+asJSON(t, r.sent)+requests, strings.TrimSuffix(report, "}")+requests
	for query, want := range map[string]statistics.Query{
		"":                               {From: day, To: day},
		"to=2026-03-10":                  {From: day - 4, To: day - 4},
		"from=2026-03-08":                {From: day - 6, To: day},
		"from=2026-02-28&to=2026-03-01":  {From: day - 14, To: day - 13},
		"by=day":                         {From: day, To: day},
		"by=hour":                        {From: day, To: day, Hourly: true},
		"currencyCode=EUR&status=FAILED": {From: day, To: day, Currency: "EUR", Status: "FAILED"},
	} {
		calls := []called{call("Lag"), call("Statistics", domain.AccountID("shop"), want), call("Counts", domain.AccountID("shop"), deliveries.Period{From: want.From, To: want.To, Hourly: want.Hourly})}
		r.answered(whole)(r.h.GetStatistics(r.query(query)))
		r.made(calls...)
		r.fails["Counts"] = errors.New("the index stands still")
		r.answered(report)(r.h.GetStatistics(r.query(query)))
		r.made(calls...)
		delete(r.fails, "Counts")
	}
	if !strings.Contains(r.log.String(), "the index stands still") {
		t.Error(r.log.String())
	}
	r.h.Deliveries = nil
	r.answered(report)(r.h.GetStatistics(r.query("")))
}

// TestStatisticsRules: the days exist, are in order, and are at most 366.
func TestStatisticsRules(t *testing.T) {
	r := newRig(t)
	const order, many = "$.from must not be after to, which is today if it is absent", "$.from must be less than 366 days before to"
	for query, want := range map[string][]string{
		"":                              nil,
		"from=2025-03-14":               nil, // 366 days
		"from=2025-03-13":               {many},
		"from=2024-01-01&to=2024-12-31": nil,
		"from=2024-01-01&to=2025-01-01": {many},
		"from=2026-03-15":               {order},
		"from=2026-03-02&to=2026-03-01": {order},
		"from=2026-02-30&to=2026-02-31": {"$.from is no day: write it as 2026-03-14", "$.to is no day: write it as 2026-03-14"},
		"from=2026-02-30&to=2020-01-01": {"$.from is no day: write it as 2026-03-14"},
		"from=2026-02-12&by=hour":       nil, // 31 days
		"from=2026-02-11&by=hour":       {"$.from must be less than 31 days before to, with by=hour"},
	} {
		same(t, query, r.faults("getStatistics", r.query(query)), want)
	}
	same(t, "found by the schema", r.faults("getStatistics", r.query("to=14.3.2026"), domain.Violation{Path: "$.to"}), nil)
}

// TestUnreadableViews checks that each answer from views has their lag, that their failures are
// passed on, and that nothing is read while the lag is unknown (D11).
func TestUnreadableViews(t *testing.T) {
	failed := errors.New("the views are closed")
	for _, c := range []struct {
		reads string
		list  func(*management.Handlers, *request.Call) (any, error)
	}{
		{"ListDisputes", (*management.Handlers).ListDisputes}, {"ListAudit", (*management.Handlers).ListAuditLog},
		{"Statistics", (*management.Handlers).GetStatistics}, {"Payment", (*management.Handlers).Search},
	} {
		r := newRig(t)
		r.lag, r.fails[c.reads] = projections.Lag{Events: 3, Age: time.Millisecond + 1}, failed
		one := r.query("q=x")
		if _, err := c.list(r.h, one); !errors.Is(err, failed) || one.AnswerHeader.Get("Payledger-Lag") != "events=3, ms=2" {
			t.Errorf("%s: %v with %v", c.reads, err, one.AnswerHeader)
		}
		r.calls, r.fails["Lag"] = nil, domain.Unavailable(failed)
		r.refused(domain.ReasonServiceUnavailable)(c.list(r.h, r.query("q=x")))
		r.made(call("Lag"))
	}
}
