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
		t.Events = renderEvents(op)
	}
	return t
}

// authorizationEvents names the transaction event that brought an operation into a state; a request that
// waits for an answer has none yet (D6).
var authorizationEvents = map[payment.OperationState]string{
	payment.StatePending:   "AUTHORIZATION_PENDING",
	payment.StateSucceeded: "AUTHORIZATION_SUCCEEDED",
	payment.StateDeclined:  "AUTHORIZATION_DECLINED",
	payment.StateFailed:    "AUTHORIZATION_FAILED",
}

// renderEvents lists an operation's answers, oldest first.
func renderEvents(op payment.Operation) []TransactionEvent {
	events := make([]TransactionEvent, len(op.Answers))
	for i, a := range op.Answers {
		events[i] = TransactionEvent{
			ID: a.EventID, Type: authorizationEvents[a.State], Date: Time{a.At}, Amount: op.Amount,
			ProcessorEventID: a.ProcessorEventID, StatusReason: renderReason(a.Reason()),
		}
		if r := events[i].StatusReason; r != nil {
			events[i].Reason = r.Message
		}
	}
	return events
}
