package simulator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// TestCardTable walks every row of D13's table at authorization.
func TestCardTable(t *testing.T) {
	rows := []struct {
		number  string
		state   processor.State
		code    string
		threeDS string
		network domain.Network
	}{
		{"4111111111111111", processor.Succeeded, "", "", domain.NetworkVisa},
		{"4242424242424242", processor.Succeeded, "", "", domain.NetworkVisa},
		{"5252525252525258", processor.Succeeded, "", "", domain.NetworkMastercard},
		{"5555555555554444", processor.Succeeded, "", "", domain.NetworkMastercard},
		{"4035500000000000", processor.Succeeded, "", "", domain.NetworkVisa},
		{"5132000000000000", processor.Succeeded, "", "", domain.NetworkMastercard},
		{"4970000000000008", processor.Succeeded, "", "", domain.NetworkVisa},
		{"378282246310005", processor.Succeeded, "", "", domain.NetworkAmex},
		{"6011111111111117", processor.Succeeded, "", "", domain.NetworkDiscover},
		{"3530111333300000", processor.Succeeded, "", "", domain.NetworkJCB},
		{"4000000000000002", processor.Declined, "05", "", domain.NetworkVisa},
		{"5100000000000008", processor.Declined, "05", "", domain.NetworkMastercard},
		{"4000000000009995", processor.Declined, "51", "", domain.NetworkVisa},
		{"4000000000009987", processor.Declined, "41", "", domain.NetworkVisa},
		{"4000000000000069", processor.Declined, "54", "", domain.NetworkVisa},
		{"4000000000000010", processor.Failed, "gateway_rejected", "", domain.NetworkVisa},
		{"5100000000000016", processor.Failed, "gateway_rejected", "", domain.NetworkMastercard},
		{"4916994064252017", processor.ActionRequired, "", "CHALLENGE", domain.NetworkVisa},
		{"5306889942833340", processor.ActionRequired, "", "CHALLENGE", domain.NetworkMastercard},
		{"4929251897047956", processor.Succeeded, "", "AUTH_SUCCESS", domain.NetworkVisa},
		{"5512459816707531", processor.Succeeded, "", "AUTH_SUCCESS", domain.NetworkMastercard},
		{"4716429323842524", processor.Declined, "1A", "AUTH_FAILED", domain.NetworkVisa},
		{"5487971631330522", processor.Declined, "1A", "AUTH_FAILED", domain.NetworkMastercard},
		{"4000000000003220", processor.Pending, "", "", domain.NetworkVisa},
		{"4000000000000259", processor.Succeeded, "", "", domain.NetworkVisa},
		{"4000000000005126", processor.Succeeded, "", "", domain.NetworkVisa},
		{"4000000000005142", processor.Succeeded, "", "", domain.NetworkVisa},
		{"4000000000005159", processor.Succeeded, "", "", domain.NetworkVisa},
		{"4000000000005175", processor.Succeeded, "", "", domain.NetworkVisa},
		{"4000000000005266", processor.Failed, "technical_error", "", domain.NetworkVisa},
		{"4000000000005340", processor.Succeeded, "", "", domain.NetworkVisa},
		{"4000000000005423", processor.Succeeded, "", "", domain.NetworkVisa},
		{"4012888888881881", processor.Failed, "card_not_supported", "", ""},
	}
	b := newBench(t)
	for _, row := range rows {
		answer := b.send(b.authorize(row.number, 1000))
		switch {
		case answer.State != row.state || answer.Code != row.code || answer.ThreeDS != row.threeDS:
			t.Errorf("%s: %+v", row.number, answer)
		case row.network != "" && (answer.Bin != nil && answer.Bin.Network != row.network):
			t.Errorf("%s: binData %+v", row.number, answer.Bin)
		case row.state != processor.Failed && (answer.Bin == nil || answer.Risk == nil || answer.ProcessorTransactionID == ""):
			t.Errorf("%s: bin, risk or transaction is missing: %+v", row.number, answer)
		case answer.Retryable != (answer.Code == "technical_error"):
			t.Errorf("%s: retryable is %v", row.number, answer.Retryable)
		case !answer.At.Equal(start) || answer.ProcessorEventID == "":
			t.Errorf("%s: time or event id is wrong: %+v", row.number, answer)
		}
	}
	if n := len(b.books()); n != len(rows) {
		t.Errorf("%d lines for %d operations", n, len(rows))
	}
}

// TestAuthorizationCode: three of the six give one, and only when they approve (D13).
func TestAuthorizationCode(t *testing.T) {
	b := newBench(t)
	gives := map[processor.Name]bool{processor.Adyen: true, processor.Checkout: true, processor.Worldpay: true}
	for _, name := range processor.Names {
		for _, number := range []string{"4242424242424242", "4000000000000002"} {
			op := b.authorize(number, 1000)
			op.Processor = name
			code := b.send(op).AuthorizationCode
			if want := gives[name] && number == "4242424242424242"; (len(code) == 6) != want {
				t.Errorf("%s: authorization code %q for a card ending in %s", name, code, number[12:])
			}
		}
	}
}

func TestRisk(t *testing.T) {
	b := newBench(t)
	rows := []struct{ number, cvv, want string }{
		{"4242424242424242", "123", "MATCHED"},
		{"4242424242424242", "000", "NOT_MATCHED"},
		{"4242424242424242", "1234", "NOT_MATCHED"},
		{"4242424242424242", "", "NOT_PROVIDED"},
		{"378282246310005", "1234", "MATCHED"},
		{"378282246310005", "0000", "NOT_MATCHED"},
	}
	for _, row := range rows {
		op := b.authorize(row.number, 1000)
		op.Card.CVV = row.cvv
		answer := b.send(op)
		expect(t, answer, processor.Succeeded, "") // D13: still approved
		if answer.Risk.CVVResult != row.want {
			t.Errorf("%s with CVV %q: %s, want %s", row.number, row.cvv, answer.Risk.CVVResult, row.want)
		}
		if answer.Risk.FraudPre != "ACCEPT" || answer.Risk.FraudPost != "ACCEPT" || answer.Risk.AVSStreet != "MATCHED" {
			t.Errorf("%s: %+v", row.number, answer.Risk)
		}
	}
	expired := b.authorize("4242424242424242", 1000)
	expired.Card.ExpirationMonth, expired.Card.ExpirationYear = "02", "2026"
	expect(t, b.send(expired), processor.Declined, "54")
	last := b.authorize("4242424242424242", 1000)
	last.Card.ExpirationMonth, last.Card.ExpirationYear = "03", "2026"
	expect(t, b.send(last), processor.Succeeded, "")
}

func TestChallenge(t *testing.T) {
	for _, outcome := range []string{"AUTHENTICATED", "FAILED"} {
		b := newBench(t)
		authorize := b.authorize("4916994064252017", 1000)
		asked := b.send(authorize)
		if asked.ActionToken == "" || b.books()[0].State != processor.Pending {
			t.Fatalf("%+v, %+v", asked, b.books())
		}
		expect(t, b.send(b.on(asked, processor.Capture, 1)), processor.Failed, protocol.CodeNotAuthorized)
		complete := b.on(asked, processor.Complete, 0)
		complete.Outcome = processor.Outcome(outcome)
		answer := b.send(complete)
		want, code, threeDS := processor.Succeeded, "", "AUTH_SUCCESS"
		if outcome == "FAILED" {
			want, code, threeDS = processor.Declined, "1A", "AUTH_FAILED"
		}
		expect(t, answer, want, code)
		lines := b.books()
		switch {
		case answer.ThreeDS != threeDS || answer.ActionToken != "" || answer.ProcessorTransactionID != asked.ProcessorTransactionID:
			t.Errorf("%s: %+v", outcome, answer)
		case lines[0].State != want || lines[2].State != want || lines[2].ParentID != asked.ProcessorTransactionID:
			t.Errorf("%s: %+v", outcome, lines)
		}
		expect(t, b.send(authorize), processor.ActionRequired, "") // its own answer stays
		expect(t, *b.lookup(authorize).Answer, want, code)         // a look-up returns the result
		again := b.on(asked, processor.Complete, 0)
		again.Outcome = "AUTHENTICATED"
		expect(t, b.send(again), processor.Failed, protocol.CodeNoActionPending)
	}
}

// TestAsynchronous: PENDING for 2 s, then the result (D13).
func TestAsynchronous(t *testing.T) {
	b := newBench(t)
	settles := func(op processor.Operation, state processor.State, code string) {
		t.Helper()
		expect(t, b.send(op), processor.Pending, "")
		b.clock.Advance(2*time.Second - 1)
		expect(t, *b.lookup(op).Answer, processor.Pending, "")
		b.clock.Advance(1)
		expect(t, *b.lookup(op).Answer, state, code)
		expect(t, b.send(op), state, code)
	}
	settles(b.authorize("4000000000003220", 1000), processor.Succeeded, "")
	sale := b.send(b.authorize("4000000000005175", 1000))
	settles(b.on(sale, processor.Capture, 400), processor.Succeeded, "")
	expect(t, b.send(b.on(sale, processor.Refund, 400)), processor.Succeeded, "")

	sale = b.send(b.authorize("4000000000005142", 1000))
	failing := b.on(sale, processor.Capture, 1000)
	failing.Final = true
	settles(failing, processor.Failed, protocol.CodeCaptureFailed)
	expect(t, b.send(b.on(sale, processor.Refund, 1)), processor.Failed, protocol.CodeAboveCaptured)
	// Nothing followed from it: all is held again, and can be tried or released.
	expect(t, b.send(b.on(sale, processor.Capture, 400)), processor.Pending, "")
	expect(t, b.send(b.on(sale, processor.Void, 0)), processor.Succeeded, "")

	sale = b.send(b.authorize("4000000000005126", 1000))
	taken := b.send(b.on(sale, processor.Capture, 1000))
	expect(t, taken, processor.Succeeded, "")
	for _, parent := range []processor.Answer{sale, taken, sale} { // a failed refund returns its reserved amount
		settles(b.on(parent, processor.Refund, 1000), processor.Failed, protocol.CodeRefundFailed)
	}
	expect(t, b.send(b.on(taken, processor.Refund, 600)), processor.Pending, "")
	expect(t, b.send(b.on(sale, processor.Refund, 401)), processor.Failed, protocol.CodeAboveCaptured)
}

// TestNeverAnswers checks that the operation is committed without an answer, and that the look-up
// returns it (D13).
func TestNeverAnswers(t *testing.T) {
	b := newBench(t)
	op := b.authorize("4000000000006470", 1000)
	ctx, giveUp := context.WithCancel(t.Context())
	done := b.sendLater(ctx, op)
	for b.lookup(op).State != processor.Known {
	}
	expect(t, *b.lookup(op).Answer, processor.Succeeded, "")
	giveUp()
	if r := <-done; !errors.Is(r.err, processor.ErrUnknown) || !errors.Is(r.err, context.Canceled) {
		t.Errorf("%+v", r)
	}
	expect(t, b.send(b.on(*b.lookup(op).Answer, processor.Capture, 1000)), processor.Succeeded, "")

	held := b.authorize("4000000000006470", 1000)
	done = b.sendLater(t.Context(), held)
	for b.lookup(held).State != processor.Known {
	}
	b.reopen() // a shutdown ends held calls
	if r := <-done; !errors.Is(r.err, processor.ErrUnknown) {
		t.Errorf("%+v", r)
	}
	expect(t, *b.lookup(held).Answer, processor.Succeeded, "")
}

// TestFirstProcessorFails: a technical error at the first processor tried, approved at a later one
// (D13).
func TestFirstProcessorFails(t *testing.T) {
	b := newBench(t)
	at := func(name processor.Name, reference domain.PaymentID, state processor.State, code string) {
		t.Helper()
		op := b.authorize("4000000000005266", 1000)
		op.Processor, op.Reference = name, reference
		answer := b.send(op)
		expect(t, answer, state, code)
		if answer.Retryable != (state == processor.Failed) {
			t.Errorf("retryable is %v", answer.Retryable)
		}
	}
	at(processor.Stripe, "01a", processor.Failed, protocol.CodeTechnicalError)
	at(processor.Stripe, "01a", processor.Failed, protocol.CodeTechnicalError)
	at(processor.Adyen, "01a", processor.Succeeded, "")
	at(processor.Adyen, "01b", processor.Failed, protocol.CodeTechnicalError)
	b.reopen()
	at(processor.Checkout, "01b", processor.Succeeded, "")
}
