package payments

import (
	"slices"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/httpapi/request"
)

// captureRequest is the body of POST /payments/{id}/capture (D10).
type captureRequest struct {
	Amount   *domain.Amount  `json:"amount"` // absent: all that is left
	Final    *bool           `json:"final"`  // absent: true
	Metadata domain.Metadata `json:"metadata"`
	Order    *domain.Order   `json:"order"`
	Expand   []string        `json:"expand"`
}

// CapturePayment serves POST /payments/{id}/capture.
func (h *Handlers) CapturePayment(c *request.Call) (any, error) {
	body, key, err := onPayment[captureRequest](h, c)
	if err != nil {
		return nil, err
	}
	after, err := h.Commands.Capture(c.Ctx, c.Caller(), paymentID(c), payment.Capture{
		Request: payment.Request{IdempotencyKey: key}, Amount: body.Amount, Final: body.Final == nil || *body.Final,
		Metadata: request.Integers(body.Metadata), Order: body.Order,
	})
	if err != nil {
		return nil, err
	}
	return h.renderPayment(c, after, slices.Contains(body.Expand, expandEvents))
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

// RefundPayment serves POST /payments/{id}/refund.
func (h *Handlers) RefundPayment(c *request.Call) (any, error) {
	body, key, err := onPayment[refundRequest](h, c)
	if err != nil {
		return nil, err
	}
	after, err := h.Commands.Refund(c.Ctx, c.Caller(), paymentID(c), payment.Refund{
		Request: payment.Request{IdempotencyKey: key}, Amount: body.Amount, OrderID: body.OrderID, Reason: body.Reason,
		TransactionEventID: body.TransactionEventID, Metadata: request.Integers(body.Metadata),
	})
	if err != nil {
		return nil, err
	}
	return h.renderPayment(c, after, slices.Contains(body.Expand, expandEvents))
}

// cancelRequest is the body of POST /payments/{id}/cancel (D10).
type cancelRequest struct {
	Reason string   `json:"reason"`
	Expand []string `json:"expand"`
}

// CancelPayment serves POST /payments/{id}/cancel.
func (h *Handlers) CancelPayment(c *request.Call) (any, error) {
	body, key, err := onPayment[cancelRequest](h, c)
	if err != nil {
		return nil, err
	}
	after, err := h.Commands.Cancel(c.Ctx, c.Caller(), paymentID(c), payment.Cancel{
		Request: payment.Request{IdempotencyKey: key}, Reason: body.Reason,
	})
	if err != nil {
		return nil, err
	}
	return h.renderPayment(c, after, slices.Contains(body.Expand, expandEvents))
}

// adjustRequest is the body of POST /payments/{id}/adjust-authorization (D10).
type adjustRequest struct {
	Amount domain.Amount `json:"amount"` // the new total
	Expand []string      `json:"expand"`
}

// AdjustPayment serves POST /payments/{id}/adjust-authorization.
func (h *Handlers) AdjustPayment(c *request.Call) (any, error) {
	body, key, err := onPayment[adjustRequest](h, c)
	if err != nil {
		return nil, unknownEntity(err)
	}
	after, err := h.Commands.Adjust(c.Ctx, c.Caller(), paymentID(c), payment.Adjust{
		Request: payment.Request{IdempotencyKey: key}, Amount: body.Amount,
	})
	if err != nil {
		return nil, unknownEntity(err)
	}
	return h.renderPayment(c, after, slices.Contains(body.Expand, expandEvents))
}

// unknownEntity is what an adjustment says of a payment that does not exist: it alone answers 404 (D3).
func unknownEntity(err error) error {
	if domain.ReasonOf(err) != domain.ReasonPayment {
		return err
	}
	return domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "The payment cannot be found.")
}

func paymentID(c *request.Call) domain.PaymentID { return domain.PaymentID(c.Vars["id"]) }

// onPayment reads the body and the idempotency key of an operation on a payment. A key of a wrong form is
// told after an unknown payment, whose guard comes first (D3).
func onPayment[T any](h *Handlers, c *request.Call) (body T, key string, err error) {
	if body, err = request.Decode[T](c); err != nil {
		return body, "", err
	}
	key, fault := request.IdempotencyKey(c.Header)
	if fault == nil {
		return body, key, nil
	}
	if _, err := h.Reader.Payment(c.Ctx, c.Merchant.ID, paymentID(c)); err != nil {
		return body, "", err
	}
	return body, "", fault
}
