package export

import "time"

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
// A capture also releases its part of the hold. holds minus authorizations is 0 at any time: a hold is no money yet. receivable
// is the money that the processors owe the merchant: sales minus refunds minus disputes.
const (
	ledgerHolds          = "holds"
	ledgerAuthorizations = "authorizations"
	ledgerReceivable     = "receivable"
	ledgerSales          = "sales"
	ledgerRefunds        = "refunds"
	ledgerDisputes       = "disputes"
)

// move is a change of a balance. debit and credit are the accounts when it grows; when it shrinks, the other way round.
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

// paymentEntries returns the postings of an event that changed a payment from before to after. A new payment has an empty
// before. If another processor authorizes the payment, the hold at the former one is released.
func paymentEntries(position int64, at time.Time, before, after PaymentRow) []EntryRow {
	of := func(p PaymentRow) EntryRow {
		return EntryRow{
			Position: position, Time: at, Account: after.Account, Payment: after.ID, Processor: p.Processor,
			Currency: after.Currency, Exponent: after.Exponent,
		}
	}
	var lines []EntryRow
	if before.Processor != after.Processor && before.AmountHeld > 0 {
		lines = post(of(before), move{ledgerHolds, ledgerAuthorizations, -before.AmountHeld})
		before.AmountHeld = 0
	}
	line := of(after)
	line.Line = int64(len(lines))
	return append(lines, post(line,
		move{ledgerHolds, ledgerAuthorizations, after.AmountHeld - before.AmountHeld},
		move{ledgerReceivable, ledgerSales, after.AmountCaptured - before.AmountCaptured},
		move{ledgerRefunds, ledgerReceivable, after.AmountRefunded - before.AmountRefunded},
	)...)
}

func disputeEntries(position int64, at time.Time, before, after DisputeRow) []EntryRow {
	line := EntryRow{
		Position: position, Time: at, Account: after.Account, Payment: after.Payment, Dispute: after.ID,
		Processor: after.Processor, Currency: after.Currency, Exponent: after.Exponent,
	}
	return post(line, move{ledgerDisputes, ledgerReceivable, after.AmountWithheld - before.AmountWithheld})
}
