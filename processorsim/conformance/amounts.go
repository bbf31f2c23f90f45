package conformance

import (
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

var amountChecks = []check{
	amountCheck("amount.two-digits", "EUR", "a euro with two decimals"),
	amountCheck("amount.no-digits", "JPY", "a yen without decimals"),
	amountCheck("amount.three-digits", "KWD", "a dinar with three decimals"),
	{
		id:      "amount.largest",
		promise: "The largest amount, 2^53 - 1, is taken exactly or refused, never rounded.",
		meaning: "A large payment is booked with another amount than the customer paid.",
		moves:   true,
		run: func(p *probe) {
			op := p.authorize(protocol.CardApproved, domain.MaxAmount)
			answer := p.ended(op)
			if answer.State == processor.Failed || answer.State == processor.Declined {
				return // a vendor has a limit
			}
			p.hasAmount(op)
			capture := p.final(answer, domain.MaxAmount)
			p.succeeds(capture)
			p.hasAmount(capture)
		},
	},
	{
		id:      "amount.currency",
		promise: "A capture, a refund or an adjustment in another currency than the authorization's is FAILED and moves nothing.",
		meaning: "100 euros are refunded as 100 dollars.",
		moves:   true,
		run: func(p *probe) {
			sale := p.succeeds(p.authorize(protocol.CardApproved, 1000))
			wrong := p.final(sale, 1000)
			wrong.Currency = "USD"
			p.refused(wrong, "in another currency")
			adjust := p.on(sale, processor.Adjust, 2000)
			adjust.Currency = "USD"
			p.refused(adjust, "in another currency")
			p.succeeds(p.final(sale, 1000))
			refund := p.on(sale, processor.Refund, 1000)
			refund.Currency = "USD"
			p.refused(refund, "in another currency")
			p.succeeds(p.on(sale, processor.Refund, 1000))
		},
	},
}

// amountCheck authorizes, captures and refunds an amount of a currency. Operations one unit above
// show that the connector counts in the same units. The last digit is 0: some vendors count three
// decimals in tens, and refuse the rest.
func amountCheck(id string, currency domain.Currency, named string) check {
	return check{
		id:      id,
		promise: "Amounts are minor units: " + named + " is authorized, captured, refunded and listed exactly.",
		meaning: "A payment is a hundred times too large or too small.",
		moves:   true,
		run: func(p *probe) {
			in := func(op processor.Operation) processor.Operation { op.Currency = currency; return op }
			sale := in(p.authorize(protocol.CardApproved, 1230))
			approved := p.succeeds(sale)
			p.hasAmount(sale)
			p.refused(in(p.on(approved, processor.Capture, 1231)), "one unit above the authorization")
			capture := in(p.final(approved, 1230))
			p.succeeds(capture)
			p.hasAmount(capture)
			p.refused(in(p.on(approved, processor.Refund, 1231)), "one unit above the capture")
			refund := in(p.on(approved, processor.Refund, 1230))
			p.succeeds(refund)
			p.hasAmount(refund)
		},
	}
}

// hasAmount checks that the list has an operation with its amount and currency.
func (p *probe) hasAmount(op processor.Operation) {
	if r := p.once(op.Key); r.Amount != op.Amount || r.Currency != op.Currency {
		p.broken("the list has %s of %d %s, sent were %d %s", op.Kind, r.Amount, r.Currency, op.Amount, op.Currency)
	}
}
