package payments

import (
	"cmp"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/eventstore/commands/payments"
	"payledger/httpapi/request"
)

type captureRequest struct {
	Amount   *domain.Amount  `json:"amount"` // absent: the capturable amount
	Final    *bool           `json:"final"`  // absent: true
	Metadata domain.Metadata `json:"metadata"`
	Order    *domain.Order   `json:"order"`
	expansion
}

// CapturePayment serves POST /payments/{id}/capture.
func (h *Handlers) CapturePayment(c *request.Call, body captureRequest) (any, error) {
	return h.operate(c, body.expansion, func(key payment.Request) (payment.State, error) {
		return h.Commands.Capture(c.Ctx, c.Caller(), paymentID(c), payment.Capture{
			Request: key, Amount: body.Amount, Final: body.Final == nil || *body.Final,
			Metadata: request.Integers(body.Metadata), Order: body.Order,
		})
	})
}

type refundRequest struct {
	Amount             *domain.Amount  `json:"amount"` // absent: the refundable amount
	OrderID            string          `json:"orderId"`
	Reason             string          `json:"reason"`
	TransactionEventID string          `json:"transactionEventId"`
	Metadata           domain.Metadata `json:"metadata"`
	expansion
}

// RefundPayment serves POST /payments/{id}/refund. The answer warns about disputes beside which the
// refund was made (D22.2).
func (h *Handlers) RefundPayment(c *request.Call, body refundRequest) (any, error) {
	var refunded payment.State
	answer, err := h.operate(c, body.expansion, func(key payment.Request) (after payment.State, err error) {
		refunded, err = h.Commands.Refund(c.Ctx, c.Caller(), paymentID(c), payment.Refund{
			Request: key, Amount: body.Amount, OrderID: body.OrderID, Reason: body.Reason,
			TransactionEventID: body.TransactionEventID, Metadata: request.Integers(body.Metadata),
			RefuseDisputed: c.Query.Get("refuse_disputed") == "true",
		})
		return refunded, err
	})
	if err != nil {
		return nil, err
	}
	warnings := h.refundWarnings(c, failedRefund(refunded))
	if len(warnings) == 0 {
		return answer, nil
	}
	shown, err := h.render(c, refunded, body.events())
	return refundAnswer{shown, warnings}, err
}

type cancelRequest struct {
	Reason string `json:"reason"`
	expansion
}

// CancelPayment serves POST /payments/{id}/cancel.
func (h *Handlers) CancelPayment(c *request.Call, body cancelRequest) (any, error) {
	return h.operate(c, body.expansion, func(key payment.Request) (payment.State, error) {
		return h.Commands.Cancel(c.Ctx, c.Caller(), paymentID(c), payment.Cancel{Request: key, Reason: body.Reason})
	})
}

type adjustRequest struct {
	Amount domain.Amount `json:"amount"` // the new total
	expansion
}

// AdjustPayment serves POST /payments/{id}/adjust-authorization.
func (h *Handlers) AdjustPayment(c *request.Call, body adjustRequest) (any, error) {
	answer, err := h.operate(c, body.expansion, func(key payment.Request) (payment.State, error) {
		return h.Commands.Adjust(c.Ctx, c.Caller(), paymentID(c), payment.Adjust{Request: key, Amount: body.Amount})
	})
	return answer, unknownEntity(err)
}

// unknownEntity replaces the error of an unknown payment with EntityNotFound: only adjustments
// answer 404 (D3).
func unknownEntity(err error) error {
	if err == nil || domain.ReasonOf(err) != domain.ReasonPayment {
		return err
	}
	return domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "The payment cannot be found.")
}

type resumeRequest struct {
	ResumeToken string `json:"resumeToken"`
	expansion
}

// ResumePayment serves POST /payments/{id}/resume; 202 with NoActionsToHandle if the payment is not
// finished in time (D8).
func (h *Handlers) ResumePayment(c *request.Call, body resumeRequest) (any, error) {
	return h.operate(c, body.expansion, func(key payment.Request) (payment.State, error) {
		action, outcome := h.Tokens.ReadResume(body.ResumeToken, c.Merchant.ID, paymentID(c))
		return h.Commands.Resume(c.Ctx, c.Caller(), payments.ResumeInput{
			Payment: paymentID(c), Action: action, Outcome: outcome, IdempotencyKey: key.IdempotencyKey,
		})
	})
}

// operate executes an operation on the payment of the path. The error of an unknown payment comes
// before that of a malformed key (D3).
func (h *Handlers) operate(c *request.Call, e expansion, execute func(payment.Request) (payment.State, error)) (any, error) {
	key, fault := request.IdempotencyKey(c.Header)
	if fault != nil {
		_, err := h.Reader.Payment(c.Ctx, c.Merchant.ID, paymentID(c))
		return nil, cmp.Or(err, fault)
	}
	after, err := execute(payment.Request{IdempotencyKey: key})
	return h.answer(c, after, err, e.events())
}
