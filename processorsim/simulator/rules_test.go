package simulator_test

import (
	"testing"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

func TestCaptures(t *testing.T) {
	b := newBench(t)
	sale := b.approved(1000)
	first := b.send(b.on(sale, processor.Capture, 300))
	expect(t, first, processor.Succeeded, "")
	if first.ProcessorTransactionID == sale.ProcessorTransactionID {
		t.Error("a capture has a transaction of its own")
	}
	expect(t, b.send(b.on(sale, processor.Capture, 701)), processor.Failed, protocol.CodeAboveAuthorized)
	expect(t, b.send(b.on(sale, processor.Capture, 0)), processor.Failed, protocol.CodeInvalidAmount)
	expect(t, b.send(b.on(sale, processor.Adjust, 2000)), processor.Failed, protocol.CodeAlreadyCaptured)
	last := b.on(sale, processor.Capture, 200)
	last.Final = true
	expect(t, b.send(last), processor.Succeeded, "")
	expect(t, b.send(b.on(sale, processor.Capture, 1)), processor.Failed, protocol.CodeAboveAuthorized)
	expect(t, b.send(b.on(sale, processor.Void, 0)), processor.Failed, protocol.CodeAlreadyCaptured)

	wrong := b.on(b.approved(1000), processor.Capture, 10)
	wrong.Currency = "USD"
	expect(t, b.send(wrong), processor.Failed, protocol.CodeCurrencyMismatch)
	expect(t, b.send(b.on(processor.Answer{ProcessorTransactionID: "adyen_none"}, processor.Capture, 1)), processor.Failed, protocol.CodeParentNotFound)
	foreign := b.on(sale, processor.Capture, 1)
	foreign.Processor = processor.Stripe
	expect(t, b.send(foreign), processor.Failed, protocol.CodeParentNotFound)
	other := b.on(sale, processor.Capture, 1)
	other.Reference = "01other"
	expect(t, b.send(other), processor.Failed, protocol.CodeParentNotFound)
	declined := b.send(b.authorize("4000000000000002", 1000))
	expect(t, b.send(b.on(declined, processor.Capture, 1)), processor.Failed, protocol.CodeNotAuthorized)
	expect(t, b.send(b.on(declined, processor.Void, 0)), processor.Failed, protocol.CodeNotAuthorized)
}

func TestVoids(t *testing.T) {
	b := newBench(t)
	sale := b.approved(1000)
	void := b.on(sale, processor.Void, 0)
	void.Currency = "" // a void concerns the whole authorization
	answer := b.send(void)
	expect(t, answer, processor.Succeeded, "")
	if lines := b.books(); answer.ProcessorTransactionID != sale.ProcessorTransactionID || lines[1].Currency != "EUR" {
		t.Errorf("%+v %+v", answer, lines)
	}
	expect(t, b.send(void), processor.Succeeded, "")
	expect(t, b.send(b.on(sale, processor.Void, 0)), processor.Failed, protocol.CodeAlreadyVoided)
	expect(t, b.send(b.on(sale, processor.Capture, 1)), processor.Failed, protocol.CodeAlreadyVoided)
	expect(t, b.send(b.on(sale, processor.Adjust, 1)), processor.Failed, protocol.CodeAlreadyVoided)

	partly := b.approved(1000)
	expect(t, b.send(b.on(partly, processor.Capture, 400)), processor.Succeeded, "")
	expect(t, b.send(b.on(partly, processor.Void, 0)), processor.Succeeded, "") // D7: releases the rest
	expect(t, b.send(b.on(partly, processor.Capture, 1)), processor.Failed, protocol.CodeAboveAuthorized)
	expect(t, b.send(b.on(partly, processor.Refund, 400)), processor.Succeeded, "")
	expect(t, b.send(b.on(partly, processor.Void, 0)), processor.Failed, protocol.CodeAlreadyCaptured)

	refusing := b.send(b.authorize("4000000000005159", 1000))
	expect(t, b.send(b.on(refusing, processor.Void, 0)), processor.Failed, protocol.CodeVoidRefused)
	expect(t, b.send(b.on(refusing, processor.Capture, 1000)), processor.Succeeded, "")

	verification := b.approved(0) // D5: no hold
	expect(t, b.send(b.on(verification, processor.Capture, 1)), processor.Failed, protocol.CodeAboveAuthorized)
	expect(t, b.send(b.on(verification, processor.Void, 0)), processor.Succeeded, "")
}

// TestVoidBeforeResult: an authorization without a result ends FAILED with its void, for good.
func TestVoidBeforeResult(t *testing.T) {
	b := newBench(t)
	for _, number := range []string{"4000000000003220", "4916994064252017"} {
		op := b.authorize(number, 1000)
		sale := b.send(op)
		expect(t, b.send(b.on(sale, processor.Void, 0)), processor.Succeeded, "")
		b.clock.Advance(5e9)
		expect(t, b.send(b.on(sale, processor.Capture, 1)), processor.Failed, protocol.CodeAlreadyVoided)
		lines := b.books()
		if line := lines[len(lines)-3]; line.Operation != processor.Authorize || line.State != processor.Failed {
			t.Errorf("%+v", line)
		}
	}
	if l := b.lookup(processor.Operation{Processor: processor.Adyen, Key: "01payment.1"}); l.Answer.Code != protocol.CodeVoided {
		t.Errorf("%+v", l.Answer)
	}
}

func TestRefunds(t *testing.T) {
	b := newBench(t)
	sale := b.approved(1000)
	expect(t, b.send(b.on(sale, processor.Refund, 1)), processor.Failed, protocol.CodeAboveCaptured)
	first := b.send(b.on(sale, processor.Capture, 600))
	second := b.send(b.on(sale, processor.Capture, 400))
	expect(t, b.send(b.on(first, processor.Refund, 601)), processor.Failed, protocol.CodeAboveCaptured)
	expect(t, b.send(b.on(first, processor.Refund, 500)), processor.Succeeded, "")
	expect(t, b.send(b.on(first, processor.Refund, 101)), processor.Failed, protocol.CodeAboveCaptured)
	expect(t, b.send(b.on(sale, processor.Refund, 450)), processor.Succeeded, "")
	expect(t, b.send(b.on(second, processor.Refund, 51)), processor.Failed, protocol.CodeAboveCaptured)
	expect(t, b.send(b.on(second, processor.Refund, 50)), processor.Succeeded, "")
	expect(t, b.send(b.on(sale, processor.Refund, 1)), processor.Failed, protocol.CodeAboveCaptured)
	expect(t, b.send(b.on(sale, processor.Refund, 0)), processor.Failed, protocol.CodeInvalidAmount)
	expect(t, b.send(b.on(processor.Answer{ProcessorTransactionID: "none"}, processor.Refund, 1)), processor.Failed, protocol.CodeParentNotFound)

	slow := b.send(b.authorize("4000000000005175", 100))
	capture := b.send(b.on(slow, processor.Capture, 100))
	expect(t, b.send(b.on(capture, processor.Refund, 100)), processor.Failed, protocol.CodeAboveCaptured)
}

func TestAdjustments(t *testing.T) {
	b := newBench(t)
	sale := b.approved(1000)
	for _, total := range []domain.Amount{1500, 1500, 700} {
		expect(t, b.send(b.on(sale, processor.Adjust, total)), processor.Succeeded, "") // D10: the new total
	}
	expect(t, b.send(b.on(sale, processor.Adjust, 0)), processor.Failed, protocol.CodeInvalidAmount)
	expect(t, b.send(b.on(sale, processor.Capture, 701)), processor.Failed, protocol.CodeAboveAuthorized)
	expect(t, b.send(b.on(sale, processor.Capture, 700)), processor.Succeeded, "")
}

// TestBehindTheBack plays the §6.3 triggers: the next operation of the service is refused (D14).
func TestBehindTheBack(t *testing.T) {
	b := newBench(t)
	sale := b.approved(1000)
	part := domain.Amount(300)
	line, err := b.client.Act(t.Context(), processor.Capture, "01payment", &part)
	must(t, err)
	if line.Operation != processor.Capture || line.Amount != 300 || line.State != processor.Succeeded || line.ParentID != sale.ProcessorTransactionID {
		t.Errorf("%+v", line)
	}
	if _, err := b.client.Act(t.Context(), processor.Capture, "01payment", nil); err != nil {
		t.Fatal(err)
	}
	expect(t, b.send(b.on(sale, processor.Void, 0)), processor.Failed, protocol.CodeAlreadyCaptured)
	if _, err := b.client.Act(t.Context(), processor.Refund, "01payment", nil); err != nil {
		t.Fatal(err)
	}
	expect(t, b.send(b.on(sale, processor.Refund, 1)), processor.Failed, protocol.CodeAboveCaptured)

	sale = b.approved(500)
	if line, err = b.client.Act(t.Context(), processor.Void, "01payment", nil); err != nil || line.Amount != 500 {
		t.Fatalf("%+v %v", line, err)
	}
	expect(t, b.send(b.on(sale, processor.Capture, 1)), processor.Failed, protocol.CodeAlreadyVoided)
	before := len(b.books())
	for body, want := range map[string]int{
		`{"reference":"01payment"}`:            422, // refused by the rules
		`{"reference":"01unknown"}`:            422,
		`{"reference":"01payment","amount":1}`: 422, // a void has no amount
		`{"reference":"a b"}`:                  422,
		`{`:                                    400,
	} {
		if status, text := b.post("/sim/void", body); status != want {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	if len(b.books()) != before {
		t.Error("a refused act left a line")
	}
}

func TestSettle(t *testing.T) {
	b := newBench(t)
	sale := b.send(b.authorize("4000000000005175", 1000))
	op := b.on(sale, processor.Capture, 1000)
	expect(t, b.send(op), processor.Pending, "")
	for _, want := range []int{1, 0} {
		if n, err := b.client.Settle(t.Context()); err != nil || n != want {
			t.Errorf("%d %v", n, err)
		}
	}
	expect(t, *b.lookup(op).Answer, processor.Succeeded, "")
	b.clock.Advance(5e9) // its timer finds nothing to do
	if lines := b.books(); len(lines) != 2 || !lines[1].UpdatedAt.Equal(start) {
		t.Errorf("%+v", lines)
	}
}
