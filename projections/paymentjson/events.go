package paymentjson

import (
	"slices"

	"payledger/domain/payment"
	"payledger/domain/processor"
)

// eventTypes is the transaction event of an answer, by operation and resulting state (D6). An
// adjustment only accepted has none.
var eventTypes = map[processor.Kind]map[payment.OperationState]string{
	processor.Authorize: {
		payment.StatePending:   "AUTHORIZATION_PENDING",
		payment.StateSucceeded: "AUTHORIZATION_SUCCEEDED",
		payment.StateDeclined:  "AUTHORIZATION_DECLINED",
		payment.StateFailed:    "AUTHORIZATION_FAILED",
		payment.StateAction:    "ACTION_REQUIRED",
		payment.StateCompleted: "ACTION_COMPLETED",
	},
	processor.Capture: {
		payment.StatePending:   "CAPTURE_PENDING",
		payment.StateSucceeded: "CAPTURE_SUCCEEDED",
		payment.StateFailed:    "CAPTURE_FAILED",
	},
	processor.Void: {
		payment.StatePending:   "CANCELLATION_PENDING",
		payment.StateSucceeded: "CANCELLATION_SUCCEEDED",
		payment.StateFailed:    "CANCELLATION_FAILED",
	},
	processor.Refund: {
		payment.StatePending:   "REFUND_PENDING",
		payment.StateSucceeded: "REFUND_SUCCEEDED",
		payment.StateFailed:    "REFUND_FAILED",
	},
	processor.Adjust: {
		payment.StateSucceeded: "AUTHORIZATION_ADJUSTMENT_SUCCEEDED",
		payment.StateFailed:    "AUTHORIZATION_ADJUSTMENT_FAILED",
	},
}

// renderEvents renders the answers of some operations by time, and those of one time by operation.
// The list is never nil.
func renderEvents(operations ...payment.Operation) []TransactionEvent {
	events := []TransactionEvent{}
	for _, op := range operations {
		for _, a := range op.Answers {
			if kind, shown := eventTypes[op.Kind][a.State]; shown {
				events = append(events, renderEvent(op, a, kind))
			}
		}
	}
	slices.SortStableFunc(events, func(a, b TransactionEvent) int { return a.Date.Compare(b.Date.Time) })
	return events
}

func renderEvent(op payment.Operation, a payment.OperationAnswer, kind string) TransactionEvent {
	e := TransactionEvent{
		ID: a.EventID, Type: kind, Date: Time{a.At}, Amount: op.Amount,
		ProcessorEventID: a.ProcessorEventID, StatusReason: renderReason(a.Reason()),
	}
	if e.StatusReason != nil {
		e.Reason = e.StatusReason.Message
	}
	if op.Kind == processor.Capture {
		e.Final = &op.Final
	}
	return e
}
