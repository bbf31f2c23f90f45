package projections

import (
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// renderTransactions lists the payment's transactions, oldest first: each try at a processor is a SALE
// of its own (D6, D15).
func renderTransactions(s payment.State, o RenderOptions) []Transaction {
	out := make([]Transaction, 0, len(s.Operations))
	for _, op := range s.Operations {
		if op.Kind == processor.Authorize {
			out = append(out, renderSale(s, op, o))
		}
	}
	return out
}

func renderSale(s payment.State, op payment.Operation, o RenderOptions) Transaction {
	alone := payment.State{Operations: []payment.Operation{op}} // the domain's own rules, for this try
	t := Transaction{
		Type: transactionSale, TransactionType: transactionSale, Date: Time{op.RequestedAt},
		Amount: op.Amount, CurrencyCode: s.Currency, OrderID: s.OrderID,
		ProcessorStatus: alone.Status(), ProcessorStatusReason: renderReason(alone.StatusReason()),
		ProcessorName: op.Target.Processor, ProcessorMerchantID: op.Target.MerchantID,
		ProcessorTransactionID: op.TransactionID, AuthorizationCode: op.AuthorizationCode,
		CardTokenType: cardTokenType(s),
	}
	if o.Webhook {
		t.Type = ""
	}
	if o.Events {
		t.Events = renderEvents(op, t.ProcessorStatusReason)
	}
	return t
}

// authorizationEvents names the transaction event that brought an operation into a state; one that was
// only requested, or waits for an answer that did not come in time, has none yet (D6).
var authorizationEvents = map[payment.OperationState]string{
	payment.StatePending:   "AUTHORIZATION_PENDING",
	payment.StateSucceeded: "AUTHORIZATION_SUCCEEDED",
	payment.StateDeclined:  "AUTHORIZATION_DECLINED",
	payment.StateFailed:    "AUTHORIZATION_FAILED",
}

// renderEvents lists what the state keeps of an operation's events: its newest answer.
func renderEvents(op payment.Operation, reason *StatusReason) []TransactionEvent {
	kind, answered := authorizationEvents[op.State]
	if !answered {
		return []TransactionEvent{}
	}
	e := TransactionEvent{
		ID: op.EventID, Type: kind, Date: Time{op.AnsweredAt}, Amount: op.Amount,
		ProcessorEventID: op.ProcessorEventID, StatusReason: reason,
	}
	if reason != nil {
		e.Reason = reason.Message
	}
	return []TransactionEvent{e}
}
