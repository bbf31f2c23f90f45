package export_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
	"payledger/projections/export"
	"payledger/projections/paymentjson"
)

// history makes the feed of random payments and disputes, which the rules of the domain decided.
type history struct {
	*rand.Rand
	feed
	payments []payment.State
	disputes []dispute.State
}

func (h *history) at() time.Time { return start.Add(time.Duration(len(h.all)) * time.Minute) }

func (h *history) event(kind, aggregate, id string, revision uint64) *export.Event {
	h.all = append(h.all, export.Event{
		Position: uint64(len(h.all) + 1), ID: fmt.Sprintf("event-%d", len(h.all)+1), Time: paymentjson.Time{Time: h.at()}, Account: "acct",
		Aggregate: aggregate, AggregateID: id, Revision: revision, Type: kind, Actor: "api_key:first", Hash: "00", Fact: []byte("{}"),
	})
	return &h.all[len(h.all)-1]
}

// pay adds a payment with some random commands and answers. Refused commands add no event.
func (h *history) pay(commands int) {
	id := domain.PaymentID(fmt.Sprintf("payment-%04d", len(h.payments)))
	route := []payment.Target{{Processor: processor.Adyen, MerchantID: "a"}, {Processor: processor.Stripe, MerchantID: "s"}}
	var s payment.State
	decided := func(e payment.Event, err error) {
		if err != nil || e == nil {
			return
		}
		s = payment.Evolve(s, e)
		shown := paymentjson.Render(s, domain.Personal{}, paymentjson.Options{})
		added := h.event(e.Type(), "payment", string(id), s.Revision)
		added.Payment, added.AmountHeld = &shown, s.Held()
	}
	decided(payment.DecideCreate(s, payment.Create{
		At: h.at(), ID: id, Account: "acct", OrderID: "order", Currency: []domain.Currency{"EUR", "JPY", "KWD"}[h.IntN(3)],
		Amount: new(domain.Amount(h.IntN(10) * 100)), Route: route[:1+h.IntN(2)], AutoCapture: h.IntN(5) == 0,
		Method: payment.Method{Type: "PAYMENT_CARD", AuthorizationType: "ESTIMATED"},
	}))
	for range commands {
		h.step(s, decided)
	}
	h.payments = append(h.payments, s)
}

func (h *history) step(s payment.State, decided func(payment.Event, error)) {
	request := payment.Request{At: h.at(), EventID: fmt.Sprintf("answer-%d", len(h.all))}
	var amount *domain.Amount
	if h.IntN(3) > 0 {
		amount = new(domain.Amount(1 + h.IntN(int(s.Amount)/2+1)))
	}
	switch h.IntN(9) {
	case 0:
		decided(payment.DecideCapture(s, payment.Capture{Request: request, Amount: amount, Final: h.IntN(3) == 0}))
	case 1:
		decided(payment.DecideCancel(s, payment.Cancel{Request: request}))
	case 2:
		decided(payment.DecideRefund(s, payment.Refund{Request: request, Amount: amount}))
	case 3:
		decided(payment.DecideAdjust(s, payment.Adjust{Request: request, Amount: s.Amount + domain.Amount(h.IntN(5)-2)*50}))
	case 4:
		h.outOfBand(s, request, decided)
	default:
		h.answer(s, request, decided)
	}
}

// answer records a random answer to a random operation.
func (h *history) answer(s payment.State, request payment.Request, decided func(payment.Event, error)) {
	op := s.Operations[len(s.Operations)-1]
	if h.IntN(4) == 0 {
		op = s.Operations[h.IntN(len(s.Operations))]
	}
	answer := processor.Answer{State: processor.Succeeded, ProcessorTransactionID: fmt.Sprintf("%s.%d", s.ID, op.Revision)}
	switch h.IntN(8) {
	case 0, 1, 2:
		answer.State = processor.Pending
	case 3:
		answer.State, answer.Code, answer.Retryable = processor.Failed, processor.CodeRejected, true
	case 4:
		answer.State, answer.Code = processor.Failed, processor.CodeFenced
	}
	decided(payment.DecideAnswer(s, payment.RecordAnswer{At: request.At, EventID: request.EventID, Request: op.Revision, Answer: answer}))
}

// outOfBand records an out-of-band operation: a void, or a capture, refund or adjustment that the
// amounts allow.
func (h *history) outOfBand(s payment.State, request payment.Request, decided func(payment.Event, error)) {
	record := processor.Record{
		Kind: []processor.Kind{processor.Capture, processor.Void, processor.Refund, processor.Adjust}[h.IntN(4)], ID: request.EventID,
		State: processor.Succeeded, Currency: s.Currency, Final: h.IntN(3) == 0, CreatedAt: request.At,
	}
	record.Processor, record.MerchantID = s.Authorization().Target.Processor, s.Authorization().Target.MerchantID
	left := map[processor.Kind]domain.Amount{
		processor.Capture: s.Amount - s.Captured(), processor.Refund: s.Captured() - s.Refunded(), processor.Adjust: s.Amount + 200,
	}[record.Kind]
	if left < 1 && record.Kind != processor.Void {
		return
	}
	record.Amount = min(left, domain.Amount(1+h.IntN(500)))
	if record.Kind == processor.Adjust {
		record.Amount += s.Captured()
	}
	decided(payment.DecideOutOfBand(s, payment.RecordOutOfBand{At: request.At, EventID: request.EventID, Record: record}))
}

// argue adds a dispute with random notifications: amounts in several currencies, newer and older
// ones, impossible ones.
func (h *history) argue(notifications int) {
	id := domain.DisputeID(fmt.Sprintf("dispute-%04d", len(h.disputes)))
	begin := h.at()
	var s dispute.State
	for n := range notifications {
		fact := dispute.Fact{
			EventID: fmt.Sprint(n), At: begin.Add(time.Duration(n*60+h.IntN(90)-30) * time.Second), ReceivedAt: h.at(), ReasonCode: "13.1",
			Type: processor.DisputeTypes[h.IntN(3)], Status: processor.DisputeStatuses[h.IntN(7)], Amount: domain.Amount(700 + 60*h.IntN(2)),
			Currency: []domain.Currency{"EUR", "USD", "JPY"}[h.IntN(3)],
		}
		e, err := dispute.DecideRecord(s, dispute.Record{At: h.at(), ID: id, Account: "acct", Fact: fact, Subject: dispute.Subject{
			Payment: "payment-0000", OrderID: "order", Processor: processor.Adyen, ProcessorDisputeID: "psp-" + string(id),
		}})
		if err != nil || e == nil {
			continue
		}
		s = dispute.Evolve(s, e)
		var shown export.Dispute
		shown.ID, shown.CreatedAt, shown.UpdatedAt = s.ID, paymentjson.Time{Time: s.CreatedAt}, paymentjson.Time{Time: s.UpdatedAt}
		shown.Subject.Payment, shown.Subject.OrderID, shown.Subject.Processor = s.Subject.Payment, s.Subject.OrderID, s.Subject.Processor
		shown.Subject.ProcessorDisputeID, shown.Current.Type, shown.Current.Status = s.Subject.ProcessorDisputeID, s.Current.Type, s.Current.Status
		shown.Current.ReasonCode, shown.Current.Amount, shown.Current.Currency = s.Current.ReasonCode, s.Current.Amount, s.Current.Currency
		h.event(e.Type(), "dispute", string(id), s.Revision).Dispute = &shown
	}
	h.disputes = append(h.disputes, s)
}

// sums are debits minus credits, by payment or dispute, ledger account and currency. A sum of 0 is
// absent.
type sums map[string]int64

func (s sums) add(of, ledger string, currency domain.Currency, by domain.Amount) {
	s[fmt.Sprint(of, " ", ledger, " ", currency)] += int64(by)
}

func (s sums) drop() { maps.DeleteFunc(s, func(_ string, sum int64) bool { return sum == 0 }) }

// TestPostings: in random histories of payments and disputes, the only aggregates with postings,
// the postings of each add up to its newest state, in each currency. So those of a void, of a full
// refund, and of a dispute that was won or cancelled, add up to 0.
func TestPostings(t *testing.T) {
	h := &history{Rand: rand.New(rand.NewPCG(seedtest.Seed(t), 38))}
	for range 250 {
		h.pay(h.IntN(24))
		h.argue(h.IntN(8))
	}
	out := target(t, export.SQLite)
	run(t, export.Config{Source: &h.feed, Format: export.SQLite, Out: out})
	posted, expected := sums{}, sums{}
	for _, row := range readBack(t, export.SQLite, out, "entries") {
		of := row["payment_id"]
		if row["dispute_id"] != nil {
			of = row["dispute_id"]
		}
		posted.add(of.(string), row["ledger_account"].(string), domain.Currency(row["currency"].(string)), domain.Amount(row["debit"].(int64)-row["credit"].(int64)))
	}
	seen := map[string]int{}
	for _, s := range h.payments {
		seen[string(s.Status())]++
		expected.add(string(s.ID), "holds", s.Currency, held(s))
		expected.add(string(s.ID), "authorizations", s.Currency, -held(s))
		expected.add(string(s.ID), "sales", s.Currency, -s.Captured())
		expected.add(string(s.ID), "refunds", s.Currency, s.Refunded())
		expected.add(string(s.ID), "receivable", s.Currency, s.Captured()-s.Refunded())
	}
	for _, s := range h.disputes {
		seen[s.Current.Place().String()]++
		if c := s.Current; c.Type != "" && c.Type != processor.Retrieval && c.Status != processor.DisputeWon && c.Status != processor.DisputeCancelled {
			expected.add(string(s.ID), "disputes", c.Currency, c.Amount)
			expected.add(string(s.ID), "receivable", c.Currency, -c.Amount)
		}
	}
	posted.drop()
	expected.drop()
	for key := range maps.Keys(posted) {
		if posted[key] != expected[key] {
			t.Errorf("%s: posted %d, expected %d", key, posted[key], expected[key])
		}
	}
	for key := range maps.Keys(expected) {
		if posted[key] == 0 {
			t.Errorf("%s: nothing is posted, expected %d", key, expected[key])
		}
	}
	for _, reached := range []string{"SETTLED", "SETTLING", "PARTIALLY_SETTLED", "CANCELLED", "DISPUTE WON", "DISPUTE LOST"} {
		if seen[reached] < 5 {
			t.Errorf("%d histories ended %s", seen[reached], reached)
		}
	}
	t.Logf("%d events, ends %v", len(h.all), seen)
}

// held is the model of the hold: the authorized amount, less confirmed captures. A void and a final
// capture release all but accepted captures.
func held(s payment.State) domain.Amount {
	var captured, accepted domain.Amount
	authorized, released := false, false
	for op := range s.Each {
		done := op.State == payment.StateSucceeded
		switch {
		case op.Kind == processor.Authorize && done:
			authorized = true
		case op.Kind == processor.Void && done, op.Kind == processor.Capture && done && op.Final:
			released = true
		}
		if op.Kind == processor.Capture && done {
			captured += op.Amount
		}
		if op.Kind == processor.Capture && op.State == payment.StatePending {
			accepted += op.Amount
		}
	}
	left := max(0, s.Amount-captured)
	switch {
	case !authorized:
		return 0
	case released:
		return min(left, accepted)
	default:
		return left
	}
}
