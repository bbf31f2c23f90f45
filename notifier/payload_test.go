package notifier

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
	"payledger/notifier/message"
	"payledger/notifier/payload"
	"payledger/projections/paymentjson"
)

// played plays moves of a payment, and returns its newest event with the payment after it.
func played(t *testing.T, store *engine.Store, account domain.AccountID, moves ...move) (*eventstore.Recorded, payment.State) {
	t.Helper()
	var tip eventstore.Tip[payment.State]
	for i, decide := range moves {
		at := goldenTime.Add(time.Duration(i-1) * time.Second)
		id := fmt.Sprintf("22222222-0000-4000-8000-%012d", i+1)
		var err error
		tip, err = eventstore.Execute(context.Background(), store, eventstore.Payments, eventstore.Payments.Key(account, "01golden"),
			eventstore.Meta{EventID: id, CommandID: id, CorrelationID: "test", Actor: "test", At: at},
			func(s payment.State) (payment.Event, error) { return decide(s, payment.Request{At: at, EventID: id}) })
		if err != nil {
			t.Fatalf("move %d: %v", i+1, err)
		}
	}
	return tip.Recorded, tip.State
}

// writer returns a writer of messages without views.
func writer(t *testing.T, s *engine.Store, v *secrets.Store) *message.Writer {
	t.Helper()
	w, err := message.NewWriter(context.Background(), s, v, nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestPayloads compares the body of every kind with a reviewed file (§6.2, §6.3, D17).
func TestPayloads(t *testing.T) {
	t.Parallel()
	store := eventstoretest.Open(t, t.TempDir())
	vault := eventstoretest.Secrets(t, store)
	sealed, err := vault.Seal(context.Background(), secrets.PersonalKeyName("acct1", "customer-7", ""), domain.Personal{
		CardholderName: "Ada Example",
		Customer:       &domain.Customer{Email: "ada@example.org", BillingAddress: &domain.Address{City: "Zürich", CountryCode: "CH"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	create := creation("01golden", func(c *payment.Create) {
		c.CustomerID, c.Metadata, c.Personal = "customer-7", domain.Metadata{"shop": "north", "attempt": int64(2)}, sealed
		c.Order = &domain.Order{CountryCode: "CH"} // left out of webhooks
		c.Method.Descriptor = "NORTH"
	})
	refuses := answerWith(processor.Answer{State: failed, Code: "refused", Message: "not possible <now>"})
	life := func(moves ...move) []move { return append([]move{create}, moves...) }
	paid := func(moves ...move) []move {
		return append(life(answer(succeeded), capture(2500, true), answer(succeeded)), moves...)
	}
	w := writer(t, store, vault)
	endpoint := account.Endpoint{ID: goldenDelivery.Endpoint, Description: "Shop backend"}
	for i, c := range []struct {
		name  string
		kind  webhook.Kind
		moves []move
	}{
		{"payment_status", webhook.PaymentStatus, life(answerWith(processor.Answer{State: processor.Declined, ProcessorTransactionID: "ptx-1", Code: "51", Message: "Insufficient <funds>"}))},
		{"payment_status_action", webhook.PaymentStatus, life(answer(actionDue))},
		{"payment_status_settling", webhook.PaymentStatus, life(answer(succeeded), capture(400, false), answer(pends))},
		{"payment_refund", webhook.PaymentRefund, paid(refund(300), answer(pends), answer(succeeded))},
		{"payment_refund_unsuccessful", webhook.PaymentRefund, paid(refund(300), answer(pends), refuses)},
		{"capture_failed", webhook.CaptureFailed, life(answer(succeeded), capture(400, false), refuses)},
		{"capture_refused", webhook.CaptureFailed, life(answer(succeeded), capture(2501, true))},
		{"refund_failed", webhook.RefundFailed, paid(refund(300), answer(pends), refuses)},
		{"refund_refused", webhook.RefundFailed, paid(refund(2501))},
		{"cancellation_failed", webhook.CancellationFailed, life(answer(succeeded), cancel, refuses)},
		{"adjustment_failed", webhook.AdjustmentFailed, life(answer(succeeded), adjust(4000), refuses)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, state := played(t, store, domain.AccountID(fmt.Sprint("account", i)), c.moves...)
			members, err := w.Members(context.Background(), r, c.kind, false)
			if err != nil {
				t.Fatal(err)
			}
			got, err := payload.Body{Head: payload.NewEnvelope(r, c.kind, endpoint), Rest: members.JSON}.SignedAt(r.Time.Add(2 * time.Second))
			if err != nil {
				t.Fatal(err)
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, got, "", "  "); err != nil {
				t.Fatal(err)
			}
			golden(t, c.name+".json", append(pretty.Bytes(), '\n'))
			var failure payload.Failed
			if err := json.Unmarshal(got, &failure); err != nil {
				t.Fatal(err)
			}
			if !payload.ShowsCustomer(c.kind) && !shown(state, failure.TransactionEvent.ID) {
				t.Errorf("GET does not show the transaction event %s", failure.TransactionEvent.ID)
			}
		})
	}
}

// shown reports whether GET with expand shows a failure of that id (§6.3).
func shown(s payment.State, id string) bool {
	for _, tx := range paymentjson.Render(s, domain.Personal{}, paymentjson.Options{Events: true}).Transactions {
		for _, e := range tx.Events {
			if e.ID == id {
				return strings.HasSuffix(e.Type, "_FAILED")
			}
		}
	}
	return false
}

// TestFailureIsNoOther: an event that is no failure has no such body.
func TestFailureIsNoOther(t *testing.T) {
	t.Parallel()
	r, _ := played(t, eventstoretest.Open(t, t.TempDir()), merchantID, creation("01golden", nil), answer(succeeded))
	for _, kind := range []webhook.Kind{webhook.CaptureFailed, webhook.RefundFailed, webhook.CancellationFailed, webhook.AdjustmentFailed} {
		if p, err := payload.OfPayment(kind, r, payment.State{}, domain.Personal{}, false); err == nil {
			t.Errorf("an authorization gives %s: %+v", kind, p)
		}
	}
}
