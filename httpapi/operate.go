package httpapi

import (
	"slices"

	"payledger/domain"
	"payledger/eventstore/commands"
)

// captureRequest is the body of POST /payments/{id}/capture (D10).
type captureRequest struct {
	Amount   *domain.Amount  `json:"amount"` // absent: all that is left
	Final    *bool           `json:"final"`  // absent: true
	Metadata domain.Metadata `json:"metadata"`
	Order    *domain.Order   `json:"order"`
	Expand   []string        `json:"expand"`
}

// capturePayment: POST /payments/{id}/capture.
func capturePayment(c *call) (any, error) {
	body, key, err := onPayment[captureRequest](c)
	if err != nil {
		return nil, err
	}
	after, err := c.api.Commands.Capture(c.ctx, c.caller(), commands.CaptureInput{
		Payment: c.paymentID(), Amount: body.Amount, Final: body.Final == nil || *body.Final,
		Metadata: integers(body.Metadata), Order: body.Order, IdempotencyKey: key,
	})
	if err != nil {
		return nil, err
	}
	return c.renderPayment(after, slices.Contains(body.Expand, expandEvents))
}

// refundRequest is the body of POST /payments/{id}/refund (D10).
type refundRequest struct {
	Amount             *domain.Amount  `json:"amount"` // absent: all that is left
	OrderID            string          `json:"orderId"`
	Reason             string          `json:"reason"`
	TransactionEventID string          `json:"transactionEventId"`
	Metadata           domain.Metadata `json:"metadata"`
	Expand             []string        `json:"expand"`
}

// refundPayment: POST /payments/{id}/refund.
func refundPayment(c *call) (any, error) {
	body, key, err := onPayment[refundRequest](c)
	if err != nil {
		return nil, err
	}
	after, err := c.api.Commands.Refund(c.ctx, c.caller(), commands.RefundInput{
		Payment: c.paymentID(), Amount: body.Amount, OrderID: body.OrderID, Reason: body.Reason,
		TransactionEventID: body.TransactionEventID, Metadata: integers(body.Metadata), IdempotencyKey: key,
	})
	if err != nil {
		return nil, err
	}
	return c.renderPayment(after, slices.Contains(body.Expand, expandEvents))
}

// cancelRequest is the body of POST /payments/{id}/cancel (D10).
type cancelRequest struct {
	Reason string   `json:"reason"`
	Expand []string `json:"expand"`
}

// cancelPayment: POST /payments/{id}/cancel.
func cancelPayment(c *call) (any, error) {
	body, key, err := onPayment[cancelRequest](c)
	if err != nil {
		return nil, err
	}
	after, err := c.api.Commands.Cancel(c.ctx, c.caller(), commands.CancelInput{
		Payment: c.paymentID(), Reason: body.Reason, IdempotencyKey: key,
	})
	if err != nil {
		return nil, err
	}
	return c.renderPayment(after, slices.Contains(body.Expand, expandEvents))
}

// adjustRequest is the body of POST /payments/{id}/adjust-authorization (D10).
type adjustRequest struct {
	Amount domain.Amount `json:"amount"` // the new total
	Expand []string      `json:"expand"`
}

// adjustPayment: POST /payments/{id}/adjust-authorization.
func adjustPayment(c *call) (any, error) {
	body, key, err := onPayment[adjustRequest](c)
	if err != nil {
		return nil, unknownEntity(err)
	}
	after, err := c.api.Commands.Adjust(c.ctx, c.caller(), commands.AdjustInput{
		Payment: c.paymentID(), Amount: body.Amount, IdempotencyKey: key,
	})
	if err != nil {
		return nil, unknownEntity(err)
	}
	return c.renderPayment(after, slices.Contains(body.Expand, expandEvents))
}

// unknownEntity is what an adjustment says of a payment that does not exist: it alone answers 404 (D3).
func unknownEntity(err error) error {
	if domain.ReasonOf(err) != domain.ReasonPayment {
		return err
	}
	return domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "The payment cannot be found.")
}

func (c *call) paymentID() domain.PaymentID { return domain.PaymentID(c.vars["id"]) }

// onPayment reads the body and the idempotency key of an operation on a payment. A key of a wrong form is
// told after an unknown payment, whose guard comes first (D3).
func onPayment[T any](c *call) (body T, key string, err error) {
	if body, err = decode[T](c); err != nil {
		return body, "", err
	}
	key, fault := idempotencyKey(c.r.Header)
	if fault == nil {
		return body, key, nil
	}
	if _, err := c.api.Reader.Payment(c.ctx, c.merchant.ID, c.paymentID()); err != nil {
		return body, "", err
	}
	return body, "", fault
}
