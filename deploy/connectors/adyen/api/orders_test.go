package api

import (
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

const approvedCard = "4111111145551142"

// total returns how often something took effect at Adyen.
func (d *double) total() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, times := range d.effects {
		n += times
	}
	return n
}

// TestLostAuthorization: an authorization whose answer was lost is never guessed. Its webhook tells
// it; without one it is cancelled when no request can be on its way any more, and what Adyen says
// about the cancel is its end.
func TestLostAuthorization(t *testing.T) {
	r := newRig(t)
	op := authorization("01p.1", approvedCard)
	r.lost(op, lostAfter)
	if l := r.lookup(op.Key); l.State != processor.Running {
		t.Fatalf("%+v", l)
	}
	r.messages(r.d.drain()...)
	if l := r.lookup(op.Key); l.State != processor.Known || l.Answer.State != processor.Succeeded || l.Answer.AuthorizationCode != "012345" {
		t.Fatalf("after the webhook: %+v", l)
	}

	for _, how := range []mode{lostBefore, lostAfter, late} {
		r := newRig(t)
		r.lost(op, how)
		hidden := r.d.drain() // the webhook does not come in time
		r.now = r.now.Add(29 * time.Minute)
		if l := r.lookup(op.Key); l.State != processor.Running || len(r.wire.paths) != 1 {
			t.Fatalf("too early: %+v %v", l, r.wire.paths)
		}
		r.wire.flush()
		r.now = r.now.Add(time.Minute)
		if l := r.fence(op.Key); l.State != processor.Running || len(r.wire.paths) != 2 || r.wire.paths[1] != "/v71/cancels" {
			t.Fatalf("%+v %v", l, r.wire.paths)
		}
		r.messages(hidden...) // too late: the cancel takes it back
		if l := r.lookup(op.Key); l.State != processor.Running {
			t.Fatalf("after a success that came too late: %+v", l)
		}
		r.messages(r.d.drain()...)
		l := r.lookup(op.Key)
		if how == lostBefore && l.State != processor.Unseen || how != lostBefore && (l.State != processor.Known || l.Answer.Code != protocol.CodeVoided) {
			t.Fatalf("%d: %+v", how, l)
		}
		if r.d.total() != 0 {
			t.Errorf("money is held: %v", r.d.effects)
		}
		if how != lostBefore {
			continue
		}
		if a := r.sent(op); a.State != processor.Succeeded || r.d.total() != 1 {
			t.Errorf("again: %+v %v", a, r.d.effects)
		}
	}
}

// TestFoundAfterAll: when Adyen says that nothing could be cancelled, and told a success before,
// the payment is cancelled by Adyen's own reference.
func TestFoundAfterAll(t *testing.T) {
	r := newRig(t)
	op := authorization("01p.1", approvedCard)
	r.lost(op, late)
	r.now = r.now.Add(time.Hour)
	r.lookup(op.Key) // cancels nothing
	nothing := r.d.drain()
	r.wire.flush() // it arrives all the same
	r.messages(r.d.drain()...)
	r.messages(nothing...)
	if l := r.lookup(op.Key); l.State != processor.Running {
		t.Fatalf("%+v", l)
	}
	r.now = r.now.Add(time.Hour)
	r.lookup(op.Key)
	if last := r.wire.paths[len(r.wire.paths)-1]; !strings.HasSuffix(last, "/cancels") || last == "/v71/cancels" {
		t.Errorf("%v", r.wire.paths)
	}
	r.messages(r.d.drain()...)
	if l := r.lookup(op.Key); l.State != processor.Known || l.Answer.Code != protocol.CodeVoided || r.d.total() != 0 {
		t.Errorf("%+v %v", l, r.d.effects)
	}
}

// TestRepeated: with its card, a lost authorization is sent again under the same key, and has the
// answer of the first.
func TestRepeated(t *testing.T) {
	for _, how := range []mode{running, lostBefore, lostAfter, late} {
		r := newRig(t)
		op := authorization("01p.1", approvedCard)
		r.lost(op, how)
		r.now = r.now.Add(time.Hour)
		if a := r.sent(op); a.State != processor.Succeeded {
			t.Errorf("%d: %+v", how, a)
		}
		r.wire.flush()
		if r.d.total() != 1 {
			t.Errorf("%d: done %v", how, r.d.effects)
		}
	}
}

// TestNothingDone: after no connection, or an answer that the key is unused, the key is unseen.
func TestNothingDone(t *testing.T) {
	for _, how := range []mode{noLine, busy} {
		r := newRig(t)
		op := authorization("01p.1", approvedCard)
		r.lost(op, how)
		if l := r.fence(op.Key); l.State != processor.Fenced {
			t.Errorf("%d: %+v", how, l)
		}
	}
}

// TestDoubtfulRefusal: a refusal of a repeat says nothing about the first try.
func TestDoubtfulRefusal(t *testing.T) {
	r := newRig(t)
	sale := r.sent(authorization("01p.1", approvedCard))
	op := following(processor.Capture, "01p.2", sale.ProcessorTransactionID, 1250)
	r.lost(op, lostAfter)
	r.d.answers = map[string]reply{}
	kept := r.d.payments
	r.d.payments = map[string]*held{} // Adyen refuses now
	if l := r.lookup(op.Key); l.State != processor.Running {
		t.Errorf("%+v", l)
	}
	r.d.payments = kept
	r.messages(r.d.drain()...)
	if l := r.lookup(op.Key); l.State != processor.Known || l.Answer.State != processor.Succeeded {
		t.Errorf("%+v", l)
	}
	fresh := following(processor.Capture, "01p.3", sale.ProcessorTransactionID, 1250)
	r.d.payments = map[string]*held{}
	if a := r.sent(fresh); a.State != processor.Failed || a.Code != "adyen_167" {
		t.Errorf("%+v", a)
	}
}

// TestWebhooks: outcomes come before the answer is recorded, twice, late and in any order; each
// operation ends once.
func TestWebhooks(t *testing.T) {
	r := newRig(t)
	sale := r.sent(authorization("01p.1", approvedCard))
	capture := following(processor.Capture, "01p.2", sale.ProcessorTransactionID, 1000)
	r.lost(capture, lostAfter)
	hooks := r.d.drain()
	slices.Reverse(hooks)
	hooks = append(hooks, hooks...)
	if taken := r.messages(hooks...); len(taken) != len(hooks) {
		t.Errorf("%d of %d webhooks were taken", len(taken), len(hooks))
	}
	l := r.lookup(capture.Key)
	if l.State != processor.Known || l.Answer.State != processor.Succeeded || l.Answer.ProcessorTransactionID == sale.ProcessorTransactionID {
		t.Fatalf("%+v", l)
	}
	refund := following(processor.Refund, "01p.3", l.Answer.ProcessorTransactionID, 400)
	if a := r.sent(refund); a.State != processor.Pending {
		t.Errorf("%+v", a)
	}
	r.messages(r.d.drain()...)
	if l := r.lookup(refund.Key); l.Answer.State != processor.Succeeded {
		t.Errorf("%+v", l)
	}
	void := following(processor.Void, "01p.4", sale.ProcessorTransactionID, 0)
	r.sent(void)
	r.messages(r.d.drain()...)
	if l := r.lookup(void.Key); l.Answer.State != processor.Failed || l.Answer.Code != protocol.CodeVoidRefused {
		t.Errorf("%+v", l)
	}
	if r.d.total() != 3 {
		t.Errorf("%v", r.d.effects)
	}
}

// TestReturned: a capture that the bank returns after its success ends FAILED, whichever webhook
// comes first.
func TestReturned(t *testing.T) {
	for _, reversed := range []bool{false, true} {
		r := newRig(t)
		sale := r.sent(authorization("01p.1", cardReturned))
		r.messages(r.d.drain()...)
		op := following(processor.Capture, "01p.2", sale.ProcessorTransactionID, 1250)
		r.sent(op)
		hooks := r.d.drain()
		if reversed {
			slices.Reverse(hooks)
		} else {
			r.messages(hooks[0])
			if l := r.lookup(op.Key); l.Answer.State != processor.Succeeded {
				t.Errorf("%+v", l)
			}
		}
		r.messages(append(hooks, hooks...)...)
		if l := r.lookup(op.Key); l.Answer.State != processor.Failed || l.Answer.Code != protocol.CodeCaptureFailed {
			t.Errorf("reversed %t: %+v", reversed, l.Answer)
		}
	}
}

// TestOtherMoney: a webhook about another amount or currency is no result.
func TestOtherMoney(t *testing.T) {
	r := newRig(t)
	sale := r.sent(authorization("01p.1", approvedCard))
	op := following(processor.Capture, "01p.2", sale.ProcessorTransactionID, 1250)
	pending := r.sent(op)
	right := r.d.drain()
	v := vendor(t, nil)
	for _, other := range []amount{{"EUR", 1251}, {"EUR", 1249}, {"USD", 1250}} {
		reference := ""
		for own := range r.d.effects {
			if own != "" && r.d.byOwn[own] == nil {
				reference = own
			}
		}
		body := webhook(item{
			PspReference: pending.ProcessorTransactionID, OriginalReference: sale.ProcessorTransactionID, MerchantAccountCode: v.Account,
			MerchantReference: reference, Amount: other, EventCode: "CAPTURE", Success: "true", EventDate: r.now,
		}, testHMAC)
		if r.messages(body); r.lookup(op.Key).Answer.State != processor.Pending {
			t.Errorf("%+v is taken", other)
		}
	}
	if r.messages(right...); r.lookup(op.Key).Answer.State != processor.Succeeded {
		t.Error("the right amount is not taken")
	}
}

// TestChallenge: a bank that wants to ask the customer is a decline.
func TestChallenge(t *testing.T) {
	r := newRig(t)
	if a := r.sent(authorization("01p.1", cardChallenge)); a.State != processor.Declined || a.Code != protocol.CodeAuthenticationError {
		t.Errorf("%+v", a)
	}
}

// TestCaptureOfAdjusted: after an adjustment the vendor gets a capture that is not final only if
// the capture takes the whole adjusted amount. The connector refuses a smaller one.
func TestCaptureOfAdjusted(t *testing.T) {
	for _, row := range []struct {
		held, amount domain.Amount
		want         processor.State
	}{{1000, 1000, processor.Succeeded}, {1000, 999, processor.Failed}, {1500, 1250, processor.Failed}, {1500, 1500, processor.Succeeded}} {
		r := newRig(t)
		sale := r.sent(authorization("01p.1", approvedCard)).ProcessorTransactionID
		r.sent(following(processor.Adjust, "01p.2", sale, row.held))
		r.messages(r.d.drain()...)
		capture := following(processor.Capture, "01p.3", sale, row.amount)
		capture.Final = false
		r.sent(capture)
		r.messages(r.d.drain()...)
		if l := r.lookup(capture.Key); l.Answer == nil || l.Answer.State != row.want || row.want == processor.Failed && l.Answer.Code != protocol.CodeNotSupported {
			t.Errorf("%+v: %+v", row, l.Answer)
		}
	}
}

// TestVoidNotDecided: a cancel that Adyen refuses at once, or that fails for a reason that is not
// known to be a decision, is not refused, after which the ledger would capture (D5.8): the failure
// is retryable.
func TestVoidNotDecided(t *testing.T) {
	r := newRig(t)
	sale := r.sent(authorization("01p.1", approvedCard))
	kept := r.d.payments
	r.d.payments = map[string]*held{} // Adyen does not know the payment
	if a := r.sent(following(processor.Void, "01p.2", sale.ProcessorTransactionID, 0)); a.State != processor.Failed || a.Code != "adyen_167" || !a.Retryable {
		t.Errorf("%+v", a)
	}
	r.d.payments = kept
	for reason, want := range map[string]protocol.Code{
		"Acquirer Error": protocol.CodeTechnicalError, "Issuer Unavailable": protocol.CodeTechnicalError, "Not Submitted": protocol.CodeTechnicalError,
		"something new": protocol.CodeTechnicalError, "": protocol.CodeTechnicalError, "Insufficient balance on payment": protocol.CodeVoidRefused,
	} {
		e, ok := vendor(t, nil).event(item{EventCode: "CANCELLATION", PspReference: "P2", MerchantReference: "01p.0123456789", Success: "false", Reason: reason})
		if !ok || e.Result.Answer.Code != want || e.Result.Answer.Retryable != (want == protocol.CodeTechnicalError) {
			t.Errorf("%s: %+v", reason, e.Result)
		}
	}
}
