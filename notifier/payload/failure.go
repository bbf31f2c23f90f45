package payload

import (
	"fmt"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
)

// Failed is the body of the four *.FAILED of payments after the envelope. It has no personal data
// (§6.3).
type Failed struct {
	Payment          FailedPayment    `json:"payment"`
	RequestAmount    *domain.Amount   `json:"requestAmount,omitempty"` // absent for a cancellation
	TransactionEvent transactionEvent `json:"transactionEvent"`
}

// FailedPayment names the payment whose operation failed.
type FailedPayment struct {
	ID           domain.PaymentID `json:"id"`
	Amount       domain.Amount    `json:"amount"`
	CurrencyCode domain.Currency  `json:"currencyCode"`
	OrderID      string           `json:"orderId"`
}

// transactionEvent names the failure among transactions.events of GET /payments/{id} (D6).
type transactionEvent struct {
	ID string `json:"id"`
}

// newFailurePayload returns the body for the operation that failed with the event r. s is the
// payment after r.
func newFailurePayload(r *eventstore.Recorded, s payment.State) (any, error) {
	event, err := eventstore.Payments.Event(r)
	if err != nil {
		return nil, err
	}
	id := failureOf(event)
	op, found := operationOf(s, id)
	if !found {
		return nil, fmt.Errorf("notifier: %s revision %d, %s, is no failure of an operation", r.Key, r.Revision, r.Type)
	}
	p := Failed{
		TransactionEvent: transactionEvent{ID: id},
		Payment:          FailedPayment{ID: s.ID, Amount: s.Amount, CurrencyCode: s.Currency, OrderID: s.OrderID},
	}
	if op.Kind != processor.Void {
		p.RequestAmount = &op.Amount
	}
	return p, nil
}

// failureOf returns the id of the transaction event for a failure of an operation; "" for any other
// event.
func failureOf(e payment.Event) string {
	switch e := e.(type) {
	case payment.CaptureRefused:
		return e.EventID
	case payment.CaptureFailed:
		return e.EventID
	case payment.VoidFailed:
		return e.EventID
	case payment.RefundRefused:
		return e.EventID
	case payment.RefundFailed:
		return e.EventID
	case payment.AdjustmentFailed:
		return e.EventID
	default:
		return ""
	}
}

func operationOf(s payment.State, eventID string) (payment.Operation, bool) {
	for _, op := range s.Whole().Operations {
		for _, a := range op.Answers {
			if a.EventID == eventID && eventID != "" {
				return op, true
			}
		}
	}
	return payment.Operation{}, false
}
