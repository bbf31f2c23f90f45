package export

import (
	"slices"
	"time"
)

// Ledger accounts of the postings.
//
//	event                          debit            credit
//	authorization, larger hold     holds            authorizations
//	release, smaller hold          authorizations   holds
//	capture                        receivable       sales
//	refund                         refunds          receivable
//	chargeback withheld            disputes         receivable
//	chargeback given back          receivable       disputes
//
// A capture also releases its part of the hold. holds minus authorizations is 0 at any time: a hold
// is no money yet. receivable is the money that the processors owe the merchant: sales minus
// refunds minus disputes. If the currency of a chargeback changes, the former amount is given back
// in the former currency.
const (
	ledgerHolds          = "holds"
	ledgerAuthorizations = "authorizations"
	ledgerReceivable     = "receivable"
	ledgerSales          = "sales"
	ledgerRefunds        = "refunds"
	ledgerDisputes       = "disputes"
)

// move is a change of a balance. debit and credit are the accounts when it grows; when it shrinks,
// the other way round.
type move struct {
	debit, credit string
	by            int64 // minor units
}

// post returns the lines of an event's moves. Moves of 0 have no lines.
func post(at EntryRow, moves ...move) []EntryRow {
	var lines []EntryRow
	for _, m := range moves {
		if m.by == 0 {
			continue
		}
		debit, credit, amount := m.debit, m.credit, m.by
		if amount < 0 {
			debit, credit, amount = credit, debit, -amount
		}
		line := at
		line.Line, line.Ledger, line.Debit = at.Line+int64(len(lines))+1, debit, amount
		lines = append(lines, line)
		line.Line, line.Ledger, line.Debit, line.Credit = line.Line+1, credit, 0, amount
		lines = append(lines, line)
	}
	return lines
}

// balance is the balances of a payment or dispute, in one currency at one processor.
type balance struct {
	processor, currency string
	exponent            int64
	moves               []move // by is the balance
}

// opposite returns the balance that makes b zero.
func (b balance) opposite() balance {
	b.moves = slices.Clone(b.moves)
	for i := range b.moves {
		b.moves[i].by = -b.moves[i].by
	}
	return b
}

// rebook returns the postings that change a balance from before to after. An amount is never the
// difference of two currencies: if the currency or the processor changes, the whole former balance
// is posted back, in its own currency, before the new one is posted.
func rebook(at EntryRow, before, after balance) (lines []EntryRow) {
	former := before.opposite()
	if before.processor == after.processor && before.currency == after.currency && before.exponent == after.exponent {
		for i := range after.moves {
			former.moves[i].by += after.moves[i].by
		}
		return post(at.in(after), former.moves...)
	}
	lines = post(at.in(former), former.moves...)
	at.Line += int64(len(lines))
	return append(lines, post(at.in(after), after.moves...)...)
}

func (r EntryRow) in(b balance) EntryRow {
	r.Processor, r.Currency, r.Exponent = b.processor, b.currency, b.exponent
	return r
}

// paymentEntries returns the postings of an event that changed a payment from before to after. A
// new payment has an empty before.
func paymentEntries(position int64, at time.Time, before, after PaymentRow) []EntryRow {
	of := func(p PaymentRow) balance {
		return balance{p.Processor, p.Currency, p.Exponent, []move{
			{ledgerHolds, ledgerAuthorizations, p.AmountHeld},
			{ledgerReceivable, ledgerSales, p.AmountCaptured},
			{ledgerRefunds, ledgerReceivable, p.AmountRefunded},
		}}
	}
	return rebook(EntryRow{Position: position, Time: at, Account: after.Account, Payment: after.ID}, of(before), of(after))
}

// disputeEntries does the same for a dispute. Its processor may report another amount, in another
// currency, at any time (D16).
func disputeEntries(position int64, at time.Time, before, after DisputeRow) []EntryRow {
	of := func(d DisputeRow) balance {
		return balance{d.Processor, d.Currency, d.Exponent, []move{{ledgerDisputes, ledgerReceivable, d.AmountWithheld}}}
	}
	return rebook(EntryRow{Position: position, Time: at, Account: after.Account, Payment: after.Payment, Dispute: after.ID}, of(before), of(after))
}
