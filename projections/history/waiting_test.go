package history

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/engine"
)

// move decides one event. request has the fields that every command has.
type move func(s payment.State, request payment.Request) (payment.Event, error)

// lead appends events to a payment, a second apart.
func lead(t *testing.T, store *engine.Store, id domain.PaymentID, moves ...move) {
	t.Helper()
	for i, decide := range moves {
		at := time.Date(2026, 3, 14, 9, 26, 53+i, 0, time.UTC)
		meta := eventstore.Meta{
			EventID: fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1), CommandID: fmt.Sprintf("11111111-0000-4000-8000-%012d", i+1),
			CorrelationID: fmt.Sprintf("request-%d", i+1), Actor: "api_key:first", At: at,
		}
		request := payment.Request{At: at, EventID: meta.EventID}
		_, err := eventstore.Execute(context.Background(), store, eventstore.Payments, eventstore.Payments.Key(owner, string(id)), meta,
			func(s payment.State) (payment.Event, error) { return decide(s, request) })
		if err != nil {
			t.Fatalf("move %d: %v", i+1, err)
		}
	}
}

func create(s payment.State, r payment.Request) (payment.Event, error) {
	amount := domain.Amount(1250)
	return payment.DecideCreate(s, payment.Create{
		At: r.At, ID: id, Account: owner, OrderID: "order-1", Currency: "EUR", Amount: &amount,
		Method: payment.Method{Token: "01token1", Type: instrument.MethodCard, AuthorizationType: "ESTIMATED", Card: domain.NewCard("4111111111111111", "12", "2030", true)},
		Route:  []payment.Target{{Processor: processor.Adyen, MerchantID: "north-adyen"}},
	})
}

// answer returns the move with the processor's answer to the request at a revision.
func answer(revision uint64, state processor.State) move {
	return func(s payment.State, r payment.Request) (payment.Event, error) {
		of := revision
		if op, _ := s.Operation(revision); op.Kind == processor.Complete { // the transaction of its authorization
			of = op.Parent
		}
		return payment.DecideAnswer(s, payment.RecordAnswer{
			At: r.At, EventID: r.EventID, Request: revision, ActionExpiresAt: r.At.Add(24 * time.Hour),
			Answer: processor.Answer{State: state, ProcessorTransactionID: fmt.Sprintf("ptx-%d", of), Message: "as the processor says"},
		})
	}
}

func resume(s payment.State, r payment.Request) (payment.Event, error) {
	return payment.DecideResume(s, payment.Resume{Request: r, Action: 1, Outcome: processor.Authenticated})
}

func capture(amount domain.Amount) move {
	return func(s payment.State, r payment.Request) (payment.Event, error) {
		return payment.DecideCapture(s, payment.Capture{Request: r, Amount: &amount})
	}
}

func refund(amount domain.Amount) move {
	return func(s payment.State, r payment.Request) (payment.Event, error) {
		return payment.DecideRefund(s, payment.Refund{Request: r, Amount: &amount})
	}
}

func adjust(s payment.State, r payment.Request) (payment.Event, error) {
	return payment.DecideAdjust(s, payment.Adjust{Request: r, Amount: 1500})
}

func cancel(s payment.State, r payment.Request) (payment.Event, error) {
	return payment.DecideCancel(s, payment.Cancel{Request: r, Reason: "out of stock"})
}

func timeOut(revision uint64) move {
	return func(s payment.State, r payment.Request) (payment.Event, error) {
		return payment.DecideTimeOut(s, payment.TimeOut{At: r.At, Request: revision})
	}
}

// TestWaiting: every entry of a lifecycle has the open operations with the time since each is open,
// and the changes.
func TestWaiting(t *testing.T) {
	store, vault := ledger(t)
	lead(t, store, id,
		create, answer(1, processor.ActionRequired), resume, answer(3, processor.Succeeded),
		adjust, answer(5, processor.Succeeded),
		capture(400), timeOut(7), answer(7, processor.Pending), answer(7, processor.Succeeded), capture(9999),
		refund(300), answer(12, processor.Pending), cancel, answer(14, processor.Failed))
	next := time.Date(2026, 3, 14, 9, 30, 0, 0, time.UTC)
	h := Reader{Store: store, Secrets: vault, NextLookup: func(key domain.OperationKey, _ time.Time) (time.Time, bool) {
		return next, strings.HasSuffix(string(key), ".12")
	}}
	want := []string{
		"payment.created | authorize .1 REQUESTED 09:26:53",
		"payment.action_required | authorize .1 ACTION 09:26:54 until 2026-03-15 09:26:54",
		"payment.resumed | complete .3 REQUESTED 09:26:55",
		"payment.authorized |",
		"payment.adjustment_requested | adjust .5 REQUESTED 09:26:57",
		"payment.adjusted |",
		"payment.capture_requested | capture .7 REQUESTED 09:26:59",
		"payment.capture_timed_out | capture .7 UNKNOWN 09:26:59",
		"payment.capture_pending | capture .7 PENDING 09:26:59",
		"payment.captured |",
		"payment.capture_refused |",
		"payment.refund_requested | refund .12 REQUESTED 09:27:04",
		"payment.refund_pending | refund .12 PENDING 09:27:04",
		"payment.void_requested | refund .12 PENDING 09:27:04 void .14 REQUESTED 09:27:06",
		"payment.void_failed | refund .12 PENDING 09:27:04 next 09:30:00",
	}
	for _, at := range []At{{}, {Revision: 14}} { // only the newest entry has the time of the next query
		entries, err := h.all(owner, id, at)
		if err != nil {
			t.Fatal(err)
		}
		compareWaits(t, entries, want[:len(entries)])
		if at.Revision == 0 && len(entries) != len(want) {
			t.Errorf("%d entries, want %d", len(entries), len(want))
		}
	}
}

func compareWaits(t *testing.T, entries []Entry, want []string) {
	t.Helper()
	for i, e := range entries {
		if got := describe(e); got != want[i] {
			t.Errorf("revision %d: %s\nwant %s", e.Revision, got, want[i])
		}
		if e.Actor != "api_key:first" || len(e.Changed) == 0 || e.CorrelationID == "" {
			t.Errorf("revision %d: by %q, %d changes", e.Revision, e.Actor, len(e.Changed))
		}
	}
}

func describe(e Entry) string {
	text := e.Type + " |"
	for _, w := range e.Waiting {
		_, operation, _ := strings.Cut(string(w.Key), ".")
		text += fmt.Sprintf(" %s .%s %s %s", w.Operation, operation, w.State, w.Since.Format("15:04:05"))
		if w.ExpiresAt != nil {
			text += " until " + w.ExpiresAt.Format("2006-01-02 15:04:05")
		}
		if w.AskedNext != nil {
			text += " next " + w.AskedNext.Format("15:04:05")
		}
	}
	return text
}

// TestKeyClaim: the stream of an idempotency key's claim is not a payment (D9).
func TestKeyClaim(t *testing.T) {
	store, vault := ledger(t)
	claimed := domain.PaymentIDForKey(owner, "key-1")
	lead(t, store, claimed, func(s payment.State, r payment.Request) (payment.Event, error) {
		return payment.DecideClaim(s, payment.ClaimKey{At: r.At, Account: owner, Payment: id, Operation: processor.Capture})
	})
	h := Reader{Store: store, Secrets: vault}
	entries, err := h.all(owner, claimed, At{})
	if domain.ReasonOf(err) != domain.ReasonPayment || entries != nil {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestNoToken: a history shows the customer's required action, but never the action's token.
func TestNoToken(t *testing.T) {
	store, vault := ledger(t)
	lead(t, store, id, create, answer(1, processor.ActionRequired))
	h := Reader{Store: store, Secrets: vault}
	entries, err := h.all(owner, id, At{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(entries[1].Payment.RequiredAction)
	if err != nil || !strings.Contains(string(text), "3DS_AUTHENTICATION") || strings.Contains(string(text), "clientToken") {
		t.Errorf("%s, %v", text, err)
	}
}
