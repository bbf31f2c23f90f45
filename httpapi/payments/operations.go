package payments

import (
	"payledger/domain"
	"payledger/domain/payment"
	"payledger/eventstore/commands/payments"
	"payledger/httpapi/request"
)

// captureRequest is the body of POST /payments/{id}/capture (D10).
type captureRequest struct {
	Amount   *domain.Amount  `json:"amount"` // absent: the capturable amount
	Final    *bool           `json:"final"`  // absent: true
	Metadata domain.Metadata `json:"metadata"`
	Order    *domain.Order   `json:"order"`
	expansion
}

// CapturePayment serves POST /payments/{id}/capture.
func (h *Handlers) CapturePayment(c *request.Call, body captureRequest) (any, error) {
	key, err := h.operationKey(c)
	if err != nil {
		return nil, err
	}
	after, err := h.Commands.Capture(c.Ctx, c.Caller(), paymentID(c), payment.Capture{
		Request: payment.Request{IdempotencyKey: key}, Amount: body.Amount, Final: body.Final == nil || *body.Final,
		Metadata: request.Integers(body.Metadata), Order: body.Order,
	})
	return h.answer(c, after, err, body.events())
}

// refundRequest is the body of POST /payments/{id}/refund (D10).
type refundRequest struct {
	Amount             *domain.Amount  `json:"amount"` // absent: the refundable amount
	OrderID            string          `json:"orderId"`
	Reason             string          `json:"reason"`
	TransactionEventID string          `json:"transactionEventId"`
	Metadata           domain.Metadata `json:"metadata"`
	expansion
}

// RefundPayment serves POST /payments/{id}/refund.
func (h *Handlers) RefundPayment(c *request.Call, body refundRequest) (any, error) {
	key, err := h.operationKey(c)
	if err != nil {
		return nil, err
	}
	after, err := h.Commands.Refund(c.Ctx, c.Caller(), paymentID(c), payment.Refund{
		Request: payment.Request{IdempotencyKey: key}, Amount: body.Amount, OrderID: body.OrderID, Reason: body.Reason,
		TransactionEventID: body.TransactionEventID, Metadata: request.Integers(body.Metadata),
	})
	return h.answer(c, after, err, body.events())
}

// cancelRequest is the body of POST /payments/{id}/cancel (D10).
type cancelRequest struct {
	Reason string `json:"reason"`
	expansion
}

// CancelPayment serves POST /payments/{id}/cancel.
func (h *Handlers) CancelPayment(c *request.Call, body cancelRequest) (any, error) {
	key, err := h.operationKey(c)
	if err != nil {
		return nil, err
	}
	after, err := h.Commands.Cancel(c.Ctx, c.Caller(), paymentID(c), payment.Cancel{
		Request: payment.Request{IdempotencyKey: key}, Reason: body.Reason,
	})
	return h.answer(c, after, err, body.events())
}

// adjustRequest is the body of POST /payments/{id}/adjust-authorization (D10).
type adjustRequest struct {
	Amount domain.Amount `json:"amount"` // the new total
	expansion
}

// AdjustPayment serves POST /payments/{id}/adjust-authorization.
func (h *Handlers) AdjustPayment(c *request.Call, body adjustRequest) (any, error) {
	key, err := h.operationKey(c)
	if err != nil {
		return nil, unknownEntity(err)
	}
	after, err := h.Commands.Adjust(c.Ctx, c.Caller(), paymentID(c), payment.Adjust{
		Request: payment.Request{IdempotencyKey: key}, Amount: body.Amount,
	})
	return h.answer(c, after, unknownEntity(err), body.events())
}

// unknownEntity replaces the error of an unknown payment with EntityNotFound: only adjustments answer 404 (D3). It returns any
// other error unchanged.
func unknownEntity(err error) error {
	if err == nil || domain.ReasonOf(err) != domain.ReasonPayment {
		return err
	}
	return domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "The payment cannot be found.")
}

// resumeRequest is the body of POST /payments/{id}/resume (§4).
type resumeRequest struct {
	ResumeToken string `json:"resumeToken"`
	expansion
}

// ResumePayment serves POST /payments/{id}/resume. If the payment is not finished within the payment timeout, the answer is 202
// with the error NoActionsToHandle (D8).
func (h *Handlers) ResumePayment(c *request.Call, body resumeRequest) (any, error) {
	key, err := h.operationKey(c)
	if err != nil {
		return nil, err
	}
	action, outcome := h.Tokens.ReadResume(body.ResumeToken, c.Merchant.ID, paymentID(c))
	after, err := h.Commands.Resume(c.Ctx, c.Caller(), payments.ResumeInput{
		Payment: paymentID(c), Action: action, Outcome: outcome, IdempotencyKey: key,
	})
	return h.answer(c, after, err, body.events())
}

// operationKey returns the idempotency key of an operation on a payment. The error of an unknown payment comes before the error
// of a malformed key (D3).
func (h *Handlers) operationKey(c *request.Call) (string, error) {
	key, fault := request.IdempotencyKey(c.Header)
	if fault == nil {
		return key, nil
	}
	if _, err := h.Reader.Payment(c.Ctx, c.Merchant.ID, paymentID(c)); err != nil {
		return "", err
	}
	return "", fault
}
