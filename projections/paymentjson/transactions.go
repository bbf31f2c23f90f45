package paymentjson

import (
	"cmp"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// renderTransactions renders the payment's transactions. Each authorization at a processor is a
// SALE (D6, D15), oldest request first. Each refund is a REFUND after them, in the order of their
// last answers, so that PAYMENT.REFUND is about the last one (§6.2). Operations on a sale are its
// events; so is a refund that our own rules refused (D7).
func renderTransactions(s payment.State, o Options) []Transaction {
	var sales, refunds []payment.Operation
	for op := range s.Each {
		switch {
		case op.Kind == processor.Authorize:
			sales = append(sales, *op)
		case op.Kind == processor.Refund && !op.Refused:
			refunds = append(refunds, *op)
		}
	}
	byRequest := func(a, b payment.Operation) int { return cmp.Compare(a.Revision, b.Revision) }
	slices.SortFunc(sales, byRequest)
	slices.SortFunc(refunds, byRequest)
	whole := s
	if o.Events || len(sales) > 1 { // for a single sale the totals are enough
		whole = s.Whole()
	}
	out := make([]Transaction, 0, len(sales)+len(refunds))
	for _, op := range sales {
		out = append(out, renderSale(whole, op, o))
	}
	slices.SortStableFunc(refunds, func(a, b payment.Operation) int { return lastAnswered(a).Compare(lastAnswered(b)) })
	for _, op := range refunds {
		out = append(out, renderRefund(s, op, o))
	}
	return out
}

// lastAnswered is the time of the processor's last answer to an operation, else of the request.
func lastAnswered(op payment.Operation) time.Time {
	if len(op.Answers) > 0 {
		return op.Answer().At
	}
	return op.RequestedAt
}

// renderSale renders one authorization. The newest has the payment's status, an earlier one the
// status that it alone ended with.
func renderSale(s payment.State, op payment.Operation, o Options) Transaction {
	parts := saleOperations(s, op)
	alone := payment.State{Amount: s.Amount, Totals: s.Totals, Operations: parts} // the domain derives the status of this sale alone
	t := renderTransaction(s, op, o, transactionSale)
	if op.Revision == s.Authorization().Revision {
		t.Amount = s.Amount // an adjustment gives the authorization a new total
	}
	t.OrderID, t.AuthorizationCode = s.OrderID, op.AuthorizationCode
	t.ProcessorStatus, t.ProcessorStatusReason = alone.Status(), renderReason(alone.StatusReason())
	if o.Events {
		t.Events = renderEvents(parts...)
	}
	return t
}

func saleOperations(s payment.State, sale payment.Operation) []payment.Operation {
	parts := make([]payment.Operation, 0, len(s.Operations))
	for _, op := range s.Operations {
		shown := op.Kind != processor.Refund || op.Refused
		if shown && saleOf(s, op) == sale.Revision {
			parts = append(parts, op)
		}
	}
	return parts
}

// saleOf returns the revision of the authorization that an operation acts upon, directly or through
// a capture.
func saleOf(s payment.State, op payment.Operation) uint64 {
	for op.Kind != processor.Authorize {
		parent, found := s.Operation(op.Parent)
		if !found {
			return 0
		}
		op = parent
	}
	return op.Revision
}

// renderRefund renders a refund, from its request on. A refund without an order id has the
// payment's (D10).
func renderRefund(s payment.State, op payment.Operation, o Options) Transaction {
	t := renderTransaction(s, op, o, transactionRefund)
	t.OrderID, t.Reason = cmp.Or(op.OrderID, s.OrderID), op.Reason
	t.ProcessorStatus, t.ProcessorStatusReason = refundStatus(op)
	if o.Events {
		t.Events = renderEvents(op)
	}
	return t
}

// refundStatus returns a refund's status as a payment status (§2.3, §6.2).
func refundStatus(op payment.Operation) (payment.Status, *StatusReason) {
	switch op.State {
	case payment.StateSucceeded:
		return payment.StatusSettled, nil
	case payment.StateFailed:
		return payment.StatusFailed, renderReason(op.Answer().Reason())
	case payment.StateUnknown:
		return payment.StatusPending, renderReason(&payment.Reason{Type: domain.GatewayTimeout})
	default:
		return payment.StatusPending, nil
	}
}

func renderTransaction(s payment.State, op payment.Operation, o Options, kind string) Transaction {
	t := Transaction{
		Type: kind, TransactionType: kind, Date: Time{op.RequestedAt}, Amount: op.Amount, CurrencyCode: s.Currency,
		ProcessorName: op.Target.Processor, ProcessorMerchantID: op.Target.MerchantID,
		ProcessorTransactionID: op.TransactionID, CardTokenType: cardTokenType(s, op),
	}
	if o.Webhook {
		t.Type = ""
	}
	return t
}
