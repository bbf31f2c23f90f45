package notifier

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/dispute"
	"payledger/domain/processor"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/codec"
	"payledger/eventstore/eventstoretest"
	"payledger/notifier/payload"
)

// disputeTold records facts, and returns the newest event of the log.
func disputeTold(t *testing.T, facts ...dispute.Fact) *eventstore.Recorded {
	t.Helper()
	var s dispute.State
	var event dispute.Event
	for i, f := range facts {
		var err error
		event, err = dispute.DecideRecord(s, dispute.Record{
			At: goldenTime.Add(time.Duration(i) * time.Second), ID: "01dispute", Account: merchantID, Fact: f, Subject: dispute.Subject{
				Payment: "01golden", OrderID: "order-1", PaymentMethodType: "PAYMENT_CARD", Network: "VISA", Processor: processor.Stripe, ProcessorDisputeID: "dp_1",
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		s = dispute.Evolve(s, event)
	}
	body, err := codec.Marshal(map[string]any{"event": event, "state": s})
	if err != nil {
		t.Fatal(err)
	}
	return &eventstore.Recorded{
		Key: eventstore.Disputes.Key(merchantID, "01dispute"), Shard: 3, Seq: 70_000, Revision: s.Revision, Type: event.Type(),
		Schema: eventstore.Disputes.Schema, EventID: "33333333-0000-4000-8000-000000000001", Time: s.UpdatedAt, Body: body,
	}
}

// TestDisputePayloads compares the bodies of DISPUTE.OPENED and DISPUTE.STATUS with reviewed files,
// and their fields with the lists of the contract (§6.2, §6.4, D16, D17).
func TestDisputePayloads(t *testing.T) {
	t.Parallel()
	by := time.Date(2026, 3, 28, 23, 59, 59, 0, time.UTC)
	open := dispute.Fact{
		EventID: "nt_1", At: goldenTime.Add(-time.Minute), ReceivedAt: goldenTime.Add(-time.Second), Type: processor.Chargeback, Status: processor.DisputeOpen,
		TransactionID: "ptx-2", MerchantID: "merchant-5", ReasonCode: "13.1", Reason: "PRODUCT_NOT_RECEIVED", Wording: "product_not_received",
		Amount: 1250, Currency: "EUR", ChallengeBy: &by,
	}
	won := open
	won.EventID, won.At, won.Status, won.ChallengeBy = "nt_2", goldenTime, processor.DisputeWon, nil
	bare := dispute.Fact{
		EventID: "nt_3", At: goldenTime, ReceivedAt: goldenTime, Type: processor.Retrieval, Status: processor.DisputeOpen, ReasonCode: "ZZ9", Amount: 1250, Currency: "JPY",
	}
	ours := []string{"eventId", "sequence", "signedAt"}
	opened := append(ours, "eventType", "version", "primerAccountId", "transactionId", "orderId", "processorId", "processorDisputeId", "paymentId")
	required := append(ours, "eventType", "version", "type", "status", "primerAccountId", "orderId", "paymentId", "paymentMethod", "processor",
		"processorDisputeId", "receivedAt", "challengeRequiredBy", "reasonCode", "amount", "currency")
	full := append(slices.Clone(required), "transactionId", "reason", "processorReason", "merchantId")
	store := eventstoretest.Open(t, t.TempDir())
	w := writer(t, store, eventstoretest.Secrets(t, store))
	for _, c := range []struct {
		name    string
		kind    webhook.Kind
		facts   []dispute.Fact
		members []string
	}{
		{"dispute_opened", webhook.DisputeOpened, []dispute.Fact{open}, opened},
		{"dispute_status", webhook.DisputeStatus, []dispute.Fact{open}, full},
		{"dispute_status_won", webhook.DisputeStatus, []dispute.Fact{open, won}, full},
		{"dispute_status_bare", webhook.DisputeStatus, []dispute.Fact{bare}, required},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := disputeTold(t, c.facts...)
			rest, err := w.Members(context.Background(), r, c.kind, false)
			if err != nil || rest.Personal != (domain.Personal{}) {
				t.Fatal(rest.Personal, err)
			}
			endpoint := account.Endpoint{ID: goldenDelivery.Endpoint, Description: "Shop backend"}
			got, err := payload.Body{Head: payload.NewEnvelope(r, c.kind, endpoint), Rest: rest.JSON}.SignedAt(r.Time.Add(2 * time.Second))
			if err != nil {
				t.Fatal(err)
			}
			var pretty bytes.Buffer
			var members map[string]any
			if err := json.Indent(&pretty, got, "", "  "); err != nil {
				t.Fatal(err)
			}
			golden(t, c.name+".json", append(pretty.Bytes(), '\n'))
			if err := json.Unmarshal(got, &members); err != nil {
				t.Fatal(err)
			}
			if names, want := slices.Sorted(maps.Keys(members)), slices.Sorted(slices.Values(c.members)); !slices.Equal(names, want) {
				t.Errorf("members %v\nwant %v", names, want)
			}
		})
	}
	never := disputeTold(t, dispute.Fact{EventID: "nt_1", At: goldenTime, Type: processor.Retrieval, Status: processor.DisputeWon})
	if _, err := w.Members(context.Background(), never, webhook.DisputeStatus, false); err == nil {
		t.Error("a dispute that was never opened has a payload")
	}
}
