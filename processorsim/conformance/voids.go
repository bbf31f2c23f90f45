package conformance

import (
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

var voidChecks = []check{
	{
		id:      "void",
		promise: "A void releases the authorization: a capture and a second void afterwards are FAILED.",
		meaning: "A cancelled order is charged, or the customer's money stays blocked.",
		moves:   true,
		needs:   needs{can: []protocol.Capability{protocol.CanVoid}},
		run: func(p *probe) {
			sale := p.succeeds(p.authorize(protocol.CardApproved, 1000))
			op := p.on(sale, processor.Void, 0)
			p.succeeds(op)
			p.once(op.Key)
			p.refused(p.on(sale, processor.Capture, 1), "after a void")
			p.refused(p.on(sale, processor.Void, 0), "after a void")
		},
	},
	{
		id:      "void.captured",
		promise: "A void after the whole amount was captured is FAILED and not retryable, and the capture stays.",
		meaning: "The ledger shows a payment as cancelled that the customer has paid.",
		moves:   true,
		needs:   needs{can: []protocol.Capability{protocol.CanVoid}},
		run: func(p *probe) {
			sale := p.sale(1000)
			if answer := p.refused(p.on(sale, processor.Void, 0), "after the capture"); answer.Retryable {
				p.broken("a void after the capture is retryable: the ledger takes a decision for a fault that may pass")
			}
			p.succeeds(p.on(sale, processor.Refund, 1000))
		},
	},
	{
		id:      "void.rest",
		promise: "A void after a capture of a part releases the rest only: the captured part can be refunded.",
		meaning: "A cancelled rest of an order takes the paid part with it.",
		moves:   true,
		needs:   needs{can: []protocol.Capability{protocol.CanVoid, protocol.CanCaptureAgain}},
		run: func(p *probe) {
			sale := p.succeeds(p.authorize(protocol.CardApproved, 1000))
			p.succeeds(p.on(sale, processor.Capture, 400))
			p.succeeds(p.on(sale, processor.Void, 0))
			p.refused(p.on(sale, processor.Capture, 1), "after a void")
			p.refused(p.on(sale, processor.Refund, 401), "above the capture")
			p.succeeds(p.on(sale, processor.Refund, 400))
		},
	},
	{
		id:      "void.fails",
		promise: "A void that the processor refuses is FAILED with a code, and the authorization can still be captured.",
		meaning: "An order counts as cancelled whose money is still held.",
		moves:   true,
		needs:   needs{cards: []protocol.TestCase{protocol.CardVoidFails}, can: []protocol.Capability{protocol.CanVoid}},
		run: func(p *probe) {
			sale := p.succeeds(p.authorize(protocol.CardVoidFails, 1000))
			p.refused(p.on(sale, processor.Void, 0), "with the card whose voids fail")
			p.succeeds(p.final(sale, 1000))
		},
	},
	{
		id: "void.pending",
		promise: "A void of a PENDING authorization ends it: the authorization is FAILED with the code voided, or had its result just before, and a " +
			"capture is FAILED.",
		meaning: "A cancelled order is charged when its payment is approved later, or its payment stays open for ever.",
		moves:   true,
		needs:   needs{cards: []protocol.TestCase{protocol.CardPending}, can: []protocol.Capability{protocol.CanVoid}},
		run:     checkPendingVoid,
	},
	{
		id:      "adjust",
		promise: "An adjustment sets the new total, also a lower one, which limits captures; after a capture it is FAILED.",
		meaning: "A hotel cannot charge the longer stay, or charges more than was agreed.",
		moves:   true,
		needs:   needs{can: []protocol.Capability{protocol.CanAdjust}},
		run: func(p *probe) {
			sale := p.succeeds(p.authorize(protocol.CardApproved, 1000))
			for _, total := range []processor.Operation{
				p.on(sale, processor.Adjust, 1500), p.on(sale, processor.Adjust, 1500), p.on(sale, processor.Adjust, 1200),
			} {
				p.succeeds(total)
				p.hasAmount(total)
			}
			p.refused(p.on(sale, processor.Capture, 1201), "above the new total")
			p.succeeds(p.final(sale, 1200))
			p.refused(p.on(sale, processor.Adjust, 1300), "after a capture")
		},
	},
}

func checkPendingVoid(p *probe) {
	op := p.authorize(protocol.CardPending, 1000)
	first := p.pending(op)
	p.succeeds(p.on(first, processor.Void, 0))
	answer := first
	p.until("the end of a pending authorization that was voided", func() bool {
		answer = p.known(op)
		return answer.State != processor.Pending
	})
	switch {
	case answer.State == processor.Succeeded: // before the void
	case answer.State != processor.Failed || answer.Code != protocol.CodeVoided:
		p.broken("the authorization is %s %s after the void, want FAILED %s", answer.State, answer.Code, protocol.CodeVoided)
	}
	if r := p.once(op.Key); r.State != answer.State {
		p.broken("the list has the voided authorization as %s, the look-up as %s", r.State, answer.State)
	}
	p.refused(p.on(first, processor.Capture, 1000), "after a void")
}
