package simulator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

func unknown(t testing.TB, r result) {
	t.Helper()
	if !errors.Is(r.err, processor.ErrUnknown) {
		t.Errorf("want an unknown outcome, got %+v %v", r.answer, r.err)
	}
}

func (b *bench) try(op processor.Operation) result {
	answer, err := b.client.Send(b.t.Context(), op)
	return result{answer, err}
}

func TestFaultError(t *testing.T) {
	b := newBench(t)
	b.fault(protocol.Fault{Mode: protocol.TechnicalError, Count: new(1)})
	op := b.authorize("4242424242424242", 1000)
	for range 2 { // a repeat gets the same refusal, also after the fault is used up
		answer := b.send(op)
		expect(t, answer, processor.Failed, protocol.CodeTechnicalError)
		if !answer.Retryable || answer.ProcessorTransactionID != "" {
			t.Errorf("%+v", answer)
		}
		b.reopen()
	}
	expect(t, b.send(b.authorize("4242424242424242", 1000)), processor.Succeeded, "")
}

func TestFaultDropBefore(t *testing.T) {
	b := newBench(t)
	b.approved(1) // the cut comes on a kept connection too
	b.fault(protocol.Fault{Mode: protocol.DropBefore, Operation: processor.Authorize, Count: new(1)})
	op := b.authorize("4242424242424242", 1000)
	unknown(t, b.try(op))
	if l := b.lookup(op); l.State != processor.Unseen || len(b.books()) != 1 {
		t.Errorf("%+v %+v", l, b.books())
	}
	expect(t, b.send(op), processor.Succeeded, "")
}

func TestFaultDropAfter(t *testing.T) {
	b := newBench(t)
	b.approved(1)
	b.fault(protocol.Fault{Mode: protocol.DropAfter, Processor: processor.Adyen, Count: new(1)})
	op := b.authorize("4242424242424242", 1000)
	unknown(t, b.try(op))
	b.reopen()
	expect(t, *b.lookup(op).Answer, processor.Succeeded, "")
	expect(t, b.send(op), processor.Succeeded, "")
	if n := len(b.books()); n != 2 {
		t.Errorf("%d lines", n)
	}
}

func TestFaultLatency(t *testing.T) {
	b := newBench(t)
	b.fault(protocol.Fault{Mode: protocol.Latency, DelayMs: 500, Count: new(2)})
	op := b.authorize("4242424242424242", 1000)
	done := b.sendLater(t.Context(), op)
	b.clock.AwaitTimers(1)
	if l := b.lookup(op); l.State != processor.Running {
		t.Errorf("%+v", l)
	}
	if l, err := b.client.Fence(t.Context(), op.Processor, op.Key); err != nil || l.State != processor.Running {
		t.Errorf("%+v %v", l, err)
	}
	unknown(t, b.try(op)) // 409 in progress
	b.clock.Advance(500 * time.Millisecond)
	r := <-done
	must(t, r.err)
	expect(t, r.answer, processor.Succeeded, "")

	ctx, giveUp := context.WithCancel(t.Context())
	late := b.authorize("4242424242424242", 1000)
	done = b.sendLater(ctx, late)
	b.clock.AwaitTimers(1)
	giveUp()
	unknown(t, <-done)
	for b.lookup(late).State != processor.Known { // the operation is committed without an answer
	}
	b.clock.AwaitTimers(0)
}

func TestFaultLatencyAtClose(t *testing.T) {
	b := newBench(t)
	b.fault(protocol.Fault{Mode: protocol.Latency, DelayMs: 500})
	op := b.authorize("4242424242424242", 1000)
	done := b.sendLater(t.Context(), op)
	b.clock.AwaitTimers(1)
	b.reopen()
	r := <-done
	must(t, r.err)
	expect(t, r.answer, processor.Succeeded, "")
	expect(t, *b.lookup(op).Answer, processor.Succeeded, "")
}

// fixed is a source of randomness that repeats one number: a rate hits if it is above this share.
type fixed byte

func (f fixed) Read(p []byte) (int, error) {
	copy(p, bytes.Repeat([]byte{byte(f)}, len(p)))
	return len(p), nil
}

func TestFaultRate(t *testing.T) {
	for _, row := range []struct {
		rate   float64
		random fixed
		hits   bool
	}{{0, 0, false}, {0.5, 0x7f, true}, {0.5, 0x81, false}, {1, 0xff, true}} {
		b := newBench(t)
		b.close()
		b.random = row.random
		b.open()
		b.fault(protocol.Fault{Mode: protocol.TechnicalError, Rate: &row.rate})
		answer := b.send(b.authorize("4242424242424242", 1000))
		if (answer.State == processor.Failed) != row.hits {
			t.Errorf("%+v: %+v", row, answer)
		}
	}
}

func TestFaultList(t *testing.T) {
	b := newBench(t)
	b.fault(protocol.Fault{Mode: protocol.TechnicalError, Processor: processor.Stripe})
	b.fault(protocol.Fault{Mode: protocol.TechnicalError, Operation: processor.Void, Count: new(2)})
	sale := b.approved(1000) // neither fits
	expect(t, b.send(b.on(sale, processor.Void, 0)), processor.Failed, protocol.CodeTechnicalError)
	response, err := b.server.Client().Get(b.server.URL + "/sim/faults")
	must(t, err)
	defer response.Body.Close()
	var list struct{ Faults []protocol.Fault }
	must(t, json.NewDecoder(response.Body).Decode(&list))
	if len(list.Faults) != 2 || *list.Faults[1].Count != 1 {
		t.Errorf("%+v", list)
	}
	must(t, b.client.ClearFaults(t.Context()))
	expect(t, b.send(b.on(sale, processor.Void, 0)), processor.Succeeded, "")

	for _, body := range []string{
		`{}`, `{"mode":"latency"}`, `{"mode":"error","rate":1.5}`, `{"mode":"error","count":0}`,
		`{"mode":"error","processor":"NOBODY"}`, `{"mode":"error","operation":"pay"}`, `{"mode":"latency","delayMs":-1}`,
		`{"mode":"error","delayMs":5}`,
	} {
		if status, text := b.post("/sim/faults", body); status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
}
