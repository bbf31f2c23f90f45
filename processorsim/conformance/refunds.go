package conformance

import (
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

var refundChecks = []check{
	{
		id:      "refund",
		promise: "A refund of the whole capture succeeds with a transaction of its own; a second one is FAILED.",
		meaning: "The customer gets no money back, or gets it twice.",
		moves:   true,
		run: func(p *probe) {
			sale := p.sale(1000)
			op := p.on(sale, processor.Refund, 1000)
			if answer := p.succeeds(op); answer.ProcessorTransactionID == sale.ProcessorTransactionID {
				p.broken("the refund has the transaction of its authorization, want one of its own")
			}
			p.hasAmount(op)
			p.refused(p.on(sale, processor.Refund, 1), "after the whole was refunded")
		},
	},
	{
		id:      "refund.above",
		promise: "A refund above the captured amount, or of an authorization without a capture, is FAILED.",
		meaning: "The merchant pays out money that he never got.",
		moves:   true,
		run: func(p *probe) {
			sale := p.succeeds(p.authorize(protocol.CardApproved, 1000))
			p.refused(p.on(sale, processor.Refund, 1), "without a capture")
			p.succeeds(p.final(sale, 1000))
			p.refused(p.on(sale, processor.Refund, 1001), "above the capture")
			p.succeeds(p.on(sale, processor.Refund, 1000))
		},
	},
	{
		id:      "refund.parts",
		promise: "Refunds of parts add up to the captured amount; one above the rest is FAILED.",
		meaning: "A customer who returns two articles gets too little or too much.",
		moves:   true,
		needs:   needs{can: []protocol.Capability{protocol.CanRefundPartly}},
		run: func(p *probe) {
			sale := p.sale(1000)
			p.succeeds(p.on(sale, processor.Refund, 300))
			p.succeeds(p.on(sale, processor.Refund, 600))
			p.refused(p.on(sale, processor.Refund, 101), "above the rest")
			p.succeeds(p.on(sale, processor.Refund, 100))
		},
	},
	{
		id:      "refund.of-capture",
		promise: "A refund that names a capture takes at most that capture's amount.",
		meaning: "The refund of one parcel takes the money of another.",
		moves:   true,
		needs:   needs{can: []protocol.Capability{protocol.CanRefundCapture, protocol.CanCaptureAgain}},
		run: func(p *probe) {
			sale := p.succeeds(p.authorize(protocol.CardApproved, 1000))
			first := p.succeeds(p.on(sale, processor.Capture, 400))
			second := p.succeeds(p.final(sale, 600))
			p.refused(p.on(first, processor.Refund, 401), "above the named capture")
			op := p.on(first, processor.Refund, 400)
			p.succeeds(op)
			if r := p.once(op.Key); r.ParentID != first.ProcessorTransactionID {
				p.broken("the list has the refund of %q, want %q", r.ParentID, first.ProcessorTransactionID)
			}
			p.refused(p.on(first, processor.Refund, 1), "of a capture that was refunded")
			p.succeeds(p.on(second, processor.Refund, 600))
		},
	},
	{
		id:      "refund.fails",
		promise: "A refund that fails ends FAILED with a code, also if it was PENDING, and its amount can be refunded again.",
		meaning: "The customer waits for money that never comes.",
		moves:   true,
		needs:   needs{cards: []protocol.TestCase{protocol.CardRefundFails}},
		run: func(p *probe) {
			sale := p.succeeds(p.authorize(protocol.CardRefundFails, 1000))
			p.succeeds(p.final(sale, 1000))
			op := p.on(sale, processor.Refund, 1000)
			answer := p.refused(op, "with the card whose refunds fail")
			p.same("the look-up of a failed refund", p.known(op), answer)
			again := p.send(p.on(sale, processor.Refund, 1000))
			if again.Code == protocol.CodeAboveCaptured {
				p.broken("a refund after a failed one is refused as above the rest: the failed one still counts")
			}
		},
	},
}

// sale is an authorization that is captured as a whole.
func (p *probe) sale(amount domain.Amount) processor.Answer {
	approved := p.succeeds(p.authorize(protocol.CardApproved, amount))
	p.succeeds(p.final(approved, amount))
	return approved
}
