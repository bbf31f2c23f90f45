package payment_test

import (
	"fmt"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// found is the model of out-of-band operations: the sums change at once, whatever operations are
// open.
func (b *book) found(c payment.RecordOutOfBand) string {
	r := c.Record
	switch {
	case b.sale == nil:
		return noSuch
	}
	for _, i := range b.items {
		requested := i.theirs == "" && i.stage != "refused" && i.kind == r.Kind && r.Key == domain.OperationKey(fmt.Sprintf("01payment.%d", i.revision))
		if requested || i.theirs == r.ID {
			return answered
		}
	}
	if r.State != processor.Succeeded || r.Kind == processor.Authorize || r.Kind == processor.Complete {
		return nothing
	}
	if r.Answer.State != r.State || r.Currency != b.currency && (r.Kind != processor.Void || r.Currency != "") || r.Processor != processor.Adyen || r.MerchantID != "m" {
		return foreign
	}
	moved := map[processor.Kind]domain.Amount{processor.Capture: b.taken + b.taking, processor.Refund: b.back + b.backing}
	if r.Amount > domain.MaxAmount-moved[r.Kind] {
		return foreign
	}
	b.recorded("", "")
	i := item{kind: r.Kind, amount: r.Amount, final: r.Final, theirs: r.ID, before: c.Overtaken, stage: "elsewhere"}
	for _, capture := range b.items {
		if r.Kind == processor.Refund && capture.kind == processor.Capture && capture.theirs != "" && "t-"+capture.theirs == r.ParentID {
			i.of = capture.revision
		}
	}
	done := b.ask(i)
	done.stage, done.ids = "yes", []string{c.EventID}
	switch r.Kind {
	case processor.Capture:
		b.taken += r.Amount
		b.ended = b.ended || r.Final
		return "payment.capture_found"
	case processor.Refund:
		b.back += r.Amount
		return "payment.refund_found"
	case processor.Adjust:
		if !c.Overtaken {
			b.total = r.Amount
		}
		return "payment.adjustment_found"
	}
	b.released = true
	if b.sale.stage != "yes" && !(b.sale.stage == "no" && b.end == "DECLINED") {
		b.settleSale("gone", "")
	}
	return "payment.void_found"
}

// The following functions are the processor's view of completed and accepted operations: captures,
// and refunds of all or of one capture.

func (b *book) capturable(but *item) domain.Amount {
	rest := b.total - b.taken
	for _, i := range b.items {
		if i.kind == processor.Capture && i.stage == "waits" && i != but {
			rest -= i.amount
		}
	}
	return rest
}

func (b *book) returnable(capture uint64, but *item) domain.Amount {
	rest := b.taken
	if of := b.find(capture); of != nil {
		rest = 0
		if of.stage == "yes" {
			rest = of.amount
		}
	}
	for _, i := range b.items {
		if i.kind == processor.Refund && (i.stage == "yes" || i.stage == "waits") && i != but && (capture == 0 || i.of == capture) {
			rest -= i.amount
		}
	}
	if capture != 0 {
		return min(rest, b.returnable(0, but))
	}
	return rest
}

// can reports whether a processor may approve an operation.
func (b *book) can(i *item) bool {
	switch i.kind {
	case processor.Capture:
		return i.amount <= b.capturable(i)
	case processor.Refund:
		return i.amount <= b.returnable(i.of, i)
	case processor.Adjust:
		return i.amount >= b.total-b.capturable(nil)
	}
	return true
}

// found records an operation that a processor may have done, mostly for the first time.
func (m *machine) found(t *rapid.T) {
	r := processor.Record{
		ID: fmt.Sprintf("op-%d", rapid.IntRange(1, 12).Draw(t, "id")), State: processor.Succeeded, Final: rapid.Bool().Draw(t, "final"),
		Kind:      rapid.SampledFrom([]processor.Kind{processor.Capture, processor.Void, processor.Refund, processor.Adjust}).Draw(t, "kind"),
		Key:       domain.OperationKey(rapid.SampledFrom([]string{"sim.1", "sim.1", "sim.1", "", "01payment.2", "01payment.4", "01payment.9999", "01paymenx.2"}).Draw(t, "key")),
		CreatedAt: m.clock,
	}
	r.Answer.ProcessorTransactionID = "t-" + r.ID
	r.Processor, r.MerchantID, r.Currency = processor.Adyen, "m", m.book.currency
	switch rapid.IntRange(0, 15).Draw(t, "foreign") {
	case 0:
		r.Processor = processor.Stripe
	case 1:
		r.MerchantID = "m-2"
	case 2:
		r.Currency = "USD"
	case 3:
		r.Currency = ""
	}
	rest := domain.Amount(0)
	switch r.Kind {
	case processor.Capture:
		rest = m.book.capturable(nil)
	case processor.Refund:
		of := uint64(0)
		for _, i := range m.book.items {
			if i.kind == processor.Capture && i.theirs != "" && rapid.Bool().Draw(t, "of this one") {
				r.ParentID, of = "t-"+i.theirs, i.revision
			}
		}
		rest = m.book.returnable(of, nil)
	case processor.Adjust:
		rest = m.book.total - m.book.capturable(nil) + domain.Amount(rapid.Int64Range(0, 5000).Draw(t, "more"))
	}
	switch {
	case rapid.IntRange(0, 9).Draw(t, "undecided") == 0:
		r.State = rapid.SampledFrom([]processor.State{processor.Pending, processor.Failed}).Draw(t, "state")
	case rapid.IntRange(0, 15).Draw(t, "other") == 0:
		r.Kind = rapid.SampledFrom([]processor.Kind{processor.Authorize, processor.Complete}).Draw(t, "other kind")
	case rest < 1 && r.Kind != processor.Void || rest > domain.MaxAmount:
		return
	}
	r.Amount = rest
	if (r.Kind == processor.Capture || r.Kind == processor.Refund) && rest > 1 && rapid.Bool().Draw(t, "a part") {
		r.Amount = domain.Amount(rapid.Int64Range(1, int64(rest)).Draw(t, "amount"))
	}
	r.Answer.State = r.State
	if rapid.IntRange(0, 15).Draw(t, "contradiction") == 0 {
		r.Answer.State = processor.Pending
	}
	c := payment.RecordOutOfBand{At: m.tick(t), EventID: fmt.Sprintf("event-%d", m.state.Revision+1), Record: r}
	c.Overtaken = r.Kind == processor.Adjust && rapid.IntRange(0, 3).Draw(t, "overtaken") == 0
	event, err := payment.DecideOutOfBand(m.state, c)
	m.step(t, event, err, m.book.found(c))
}
