package notifier

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/notifier/delivery"
	"payledger/notifier/payload"
)

// wholeLife is a payment with every kind of webhook, and with events that cause none.
func wholeLife(id domain.PaymentID) []move {
	return []move{
		creation(id, nil), answer(actionDue), resume, answer(succeeded), // 1–4
		adjust(4000), answer(failed), cancel, answer(failed), // 5–8
		capture(400, false), answer(pends), answer(succeeded), capture(300, false), answer(succeeded), // 9–13
		capture(9000, true), capture(500, true), answer(failed), // 14–16
		refund(100), answer(pends), answer(succeeded), refund(100), answer(failed), refund(9000), // 17–22
		cancel, answer(succeeded), // 23–24
	}
}

// wholeLifeHooks are its webhooks: kind and sequence.
var wholeLifeHooks = []string{
	"PAYMENT.AUTHORIZATION_ADJUSTMENT.FAILED 6", "PAYMENT.CANCELLATION.FAILED 8", "PAYMENT.CAPTURE.FAILED 14",
	"PAYMENT.CAPTURE.FAILED 16", "PAYMENT.REFUND 19", "PAYMENT.REFUND 21", "PAYMENT.REFUND.FAILED 21",
	"PAYMENT.REFUND.FAILED 22", "PAYMENT.STATUS 10", "PAYMENT.STATUS 11", "PAYMENT.STATUS 2", "PAYMENT.STATUS 24",
	"PAYMENT.STATUS 4",
}

// came returns the names of the received webhooks, sorted.
func came(hooks []received) (names []string) {
	for _, h := range hooks {
		names = append(names, fmt.Sprintf("%s %d", h.EventType, h.Sequence))
	}
	slices.Sort(names)
	return names
}

// TestWholeLife: of one payment's events each endpoint gets exactly the kinds that it wants and
// that the events cause, with the status at the event (§6.2, D7, D17).
func TestWholeLife(t *testing.T) {
	t.Parallel()
	all, refunds := newReceiver(t, nil), newReceiver(t, nil)
	r := newRig(t)
	r.start()
	r.endpoint(all.url)
	r.endpoint(refunds.url, string(webhook.PaymentRefund), string(webhook.RefundFailed))
	id := newPaymentID()
	r.lead(id, wholeLife(id)...)
	hooks := all.waitFor(len(wholeLifeHooks))
	if got := came(hooks); !slices.Equal(got, wholeLifeHooks) {
		t.Errorf("came\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wholeLifeHooks, "\n"))
	}
	if got := came(refunds.waitFor(4)); !slices.Equal(got, wholeLifeHooks[4:8]) {
		t.Errorf("came %v", got)
	}
	statuses := map[uint64]payment.Status{}
	for _, h := range hooks {
		if h.EventType == webhook.PaymentStatus {
			statuses[h.Sequence] = h.Payment.Status
			if strings.Contains(string(h.body), "requiredAction") {
				t.Errorf("a required action leaves: %s", h.body)
			}
		}
	}
	want := map[uint64]payment.Status{
		2: payment.StatusPending, 4: payment.StatusAuthorized, 10: payment.StatusSettling,
		11: payment.StatusPartiallySettled, 24: payment.StatusSettled,
	}
	if !maps.Equal(statuses, want) {
		t.Errorf("statuses %v", statuses)
	}
	r.stop()
	all.none()
	refunds.none()
}

// TestPlannedAgain checks a crash before the planner's place was written: an event has the same
// deliveries again, every delivery exists once, and no webhook is repeated.
func TestPlannedAgain(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r, faults := crashRig(t, false, positions)
	r.endpoint(inbox.url)
	const payments = 5
	for range payments {
		id := newPaymentID()
		r.lead(id, wholeLife(id)...)
	}
	expected := payments * len(wholeLifeHooks)
	inbox.waitFor(expected)
	faults.await(t, expected, true)
	planned := slices.Sorted(maps.Keys(r.records()))
	r.crash(faults)
	r.pay(processor.Succeeded) // all that is older is planned when this comes
	if h := inbox.waitFor(1)[0]; h.Sequence != 2 || h.Payment.Status != payment.StatusAuthorized {
		t.Errorf("came %s", h.body)
	}
	r.stop()
	inbox.none()
	r.start()
	var again []string
	for name, d := range r.records() {
		if d.Status != delivery.Succeeded || len(d.Attempts) != 1 {
			t.Errorf("%s: %s after %d attempts", name, d.Status, len(d.Attempts))
		}
		again = append(again, name)
	}
	if len(planned) != expected || len(again) != expected+1 || !containsAll(again, planned) {
		t.Errorf("%d deliveries before, %d after, want %d", len(planned), len(again), expected+1)
	}
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

// TestKeyClaimCausesNoWebhook: the claim of an idempotency key is no payment (D9). It causes no
// webhook, and later events cause theirs.
func TestKeyClaimCausesNoWebhook(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newRig(t)
	r.start()
	r.endpoint(inbox.url)
	id := domain.PaymentIDForKey(merchantID, "key-1")
	r.move(id, func(s payment.State, q payment.Request) (payment.Event, error) {
		return payment.DecideClaim(s, payment.ClaimKey{At: q.At, Account: merchantID, Payment: newPaymentID(), Operation: processor.Capture})
	})
	other := r.pay(processor.Succeeded)
	if h := inbox.waitFor(1)[0]; h.Payment.ID != other.ID {
		t.Errorf("came %s", h.body)
	}
	r.stop()
	inbox.none()
}

// TestFailedCapture: a capture that the processor refuses comes as a signed webhook, which names
// the very event that the payment shows (§6.3).
func TestFailedCapture(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newRig(t)
	r.start()
	r.endpoint(inbox.url, string(webhook.CaptureFailed))
	id := newPaymentID()
	s := r.lead(id, creation(id, nil), answer(succeeded), capture(700, true), answerWith(processor.Answer{State: failed, Message: "no"}))
	hook := inbox.waitFor(1)[0] // its signature was verified
	var body struct {
		payload.Envelope
		payload.Failed
	}
	r.must(json.Unmarshal(hook.body, &body))
	e, err := r.store.Load(context.Background(), eventstore.Payments.Key(merchantID, string(id)), eventstore.Applied)
	r.must(err)
	want := payload.FailedPayment{ID: id, Amount: 2500, CurrencyCode: "EUR", OrderID: "order-1"}
	if body.EventType != webhook.CaptureFailed || body.Version != "2.4" || body.Payment != want || body.EventID != e.EventID || body.Sequence != 4 {
		t.Errorf("came %s", hook.body)
	}
	if body.RequestAmount == nil || *body.RequestAmount != 700 || body.SignedAt == "" || !shown(s, body.TransactionEvent.ID) {
		t.Errorf("came %s", hook.body)
	}
	r.stop()
	inbox.none()
}
