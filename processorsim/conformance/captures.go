package conformance

import (
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

var captureChecks = []check{
	{
		id:      "capture",
		promise: "A final capture of the whole authorization succeeds with a transaction of its own, and the list has it below the authorization.",
		meaning: "The merchant does not get the money, or cannot refund it.",
		moves:   true,
		run: func(p *probe) {
			sale := p.succeeds(p.authorize(protocol.CardApproved, 1000))
			op := p.final(sale, 1000)
			answer := p.succeeds(op)
			if answer.ProcessorTransactionID == sale.ProcessorTransactionID {
				p.broken("the capture has the transaction of its authorization, want one of its own")
			}
			if r := p.once(op.Key); r.ParentID != sale.ProcessorTransactionID || !r.Final || r.Kind != processor.Capture {
				p.broken("the list has the capture as %s of %q, final: %v", r.Kind, r.ParentID, r.Final)
			}
		},
	},
	{
		id:      "capture.above",
		promise: "A capture above the authorization is FAILED; all of it can be captured afterwards.",
		meaning: "A customer pays more than he agreed to.",
		moves:   true,
		run: func(p *probe) {
			sale := p.succeeds(p.authorize(protocol.CardApproved, 1000))
			p.refused(p.final(sale, 1001), "above the authorization")
			p.succeeds(p.final(sale, 1000))
			p.refused(p.on(sale, processor.Capture, 1), "after the whole was captured")
		},
	},
	{
		id:      "capture.final-part",
		promise: "A final capture of a part succeeds and releases the rest: no other capture follows.",
		meaning: "The customer's money stays blocked, or is taken after the order is closed.",
		moves:   true,
		needs:   needs{can: []protocol.Capability{protocol.CanCapturePartly}},
		run: func(p *probe) {
			sale := p.succeeds(p.authorize(protocol.CardApproved, 1000))
			op := p.final(sale, 400)
			p.succeeds(op)
			p.hasAmount(op)
			p.refused(p.on(sale, processor.Capture, 1), "after a final capture")
		},
	},
	{
		id:      "capture.several",
		promise: "Captures that are not final add up to the authorization, each with a transaction of its own; one above the rest is FAILED.",
		meaning: "An order in several parcels is paid in part, or twice.",
		moves:   true,
		needs:   needs{can: []protocol.Capability{protocol.CanCaptureAgain}},
		run:     checkSeveralCaptures,
	},
	{
		id:      "capture.simultaneous",
		promise: "Simultaneous captures never take more than the authorization.",
		meaning: "A customer pays more than he agreed to.",
		moves:   true,
		needs:   needs{can: []protocol.Capability{protocol.CanCaptureAgain}},
		run: func(p *probe) {
			sale := p.succeeds(p.authorize(protocol.CardApproved, 1000))
			p.together(8, func(int) processor.Operation { return p.on(sale, processor.Capture, 300) })
			var taken domain.Amount
			for _, r := range p.listed() {
				if r.Kind == processor.Capture && (r.State == processor.Succeeded || r.State == processor.Pending) {
					taken += r.Amount
				}
			}
			if taken < 300 || taken > 1000 {
				p.broken("simultaneous captures of 300 took %d of 1000", taken)
			}
		},
	},
	{
		id:      "capture.fails",
		promise: "A capture that fails ends FAILED with a code, also if it was PENDING, and nothing of it can be refunded.",
		meaning: "The merchant ships an order that is not paid.",
		moves:   true,
		needs:   needs{cards: []protocol.TestCase{protocol.CardCaptureFails}},
		run: func(p *probe) {
			sale := p.succeeds(p.authorize(protocol.CardCaptureFails, 1000))
			op := p.final(sale, 1000)
			answer := p.refused(op, "with the card whose captures fail")
			if r := p.once(op.Key); r.State != processor.Failed {
				p.broken("the list has the failed capture as %s", r.State)
			}
			p.same("the look-up of a failed capture", p.known(op), answer)
			p.refused(p.on(sale, processor.Refund, 1), "of a failed capture")
		},
	},
}

func checkSeveralCaptures(p *probe) {
	sale := p.succeeds(p.authorize(protocol.CardApproved, 1000))
	transactions := map[string]bool{sale.ProcessorTransactionID: true}
	for _, amount := range []domain.Amount{300, 600} {
		op := p.on(sale, processor.Capture, amount)
		transactions[p.succeeds(op).ProcessorTransactionID] = true
		if r := p.once(op.Key); r.Final || r.Amount != amount {
			p.broken("the list has the capture with %d, final: %v", r.Amount, r.Final)
		}
	}
	p.refused(p.on(sale, processor.Capture, 101), "above the rest")
	transactions[p.succeeds(p.final(sale, 100)).ProcessorTransactionID] = true
	if len(transactions) != 4 {
		p.broken("an authorization and three captures have %d transactions", len(transactions))
	}
}
