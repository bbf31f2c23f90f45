package payments

import (
	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/eventstore/commands/approvals"
	"payledger/httpapi/request"
)

type attemptRequest struct {
	PaymentMethodToken domain.Token `json:"paymentMethodToken"`
	shownPrice
}

type attemptStarted struct {
	CurrentAttempt currentAttempt `json:"currentAttempt"`
}

type currentAttempt struct {
	ID                 domain.AttemptID `json:"id"`
	ApprovalStatus     attempt.Status   `json:"approvalStatus"`
	PaymentMethodToken domain.Token     `json:"paymentMethodToken"`
}

// StartAttempt serves POST /payment-attempts, from the customer's browser. It answers 202: the
// merchant decides later.
func (h *Handlers) StartAttempt(c *request.Call, body attemptRequest) (any, error) {
	made, err := h.Commands.StartAttempt(c.Ctx, c.Caller(), approvals.AttemptInput{
		Session: c.Session, Token: body.PaymentMethodToken, Shown: body.price(),
	})
	return request.Accepted{Answer: attemptStarted{currentAttempt{made.ID, made.Status(h.Now()), made.Token}}}, err
}

type browserAttempt struct {
	ID             domain.AttemptID `json:"id"`
	ApprovalStatus attempt.Status   `json:"approvalStatus"`
	PaymentID      domain.PaymentID `json:"paymentId,omitempty"`     // once the payment can be read
	AmountChanged  bool             `json:"amountChanged,omitempty"` // the session's price differs from the price that the customer saw
}

// GetAttempt serves GET /payment-attempts/{id}. An attempt of another session has the error of an
// unknown attempt.
func (h *Handlers) GetAttempt(c *request.Call) (any, error) {
	found, err := h.Commands.Attempt(c.Ctx, c.Merchant.ID, attemptID(c))
	if err == nil && found.Session != c.Session {
		err = attempt.NotFound()
	}
	if err != nil {
		return nil, err
	}
	changed, err := h.Commands.AmountChanged(c.Ctx, found)
	answer := browserAttempt{ID: found.ID, ApprovalStatus: found.Status(h.Now()), AmountChanged: changed}
	if found.Done {
		answer.PaymentID = found.Payment
	}
	return answer, err
}

// attemptApproved is the answer of an approval; a repeated approval has the same answer (D5.15).
type attemptApproved struct {
	PaymentAttemptID domain.AttemptID `json:"paymentAttemptId"`
	PaymentID        domain.PaymentID `json:"paymentId"`
}

// ApproveAttempt serves POST /payment-attempts/{id}/approve.
func (h *Handlers) ApproveAttempt(c *request.Call) (any, error) {
	done, err := h.Commands.ApproveAttempt(c.Ctx, c.Caller(), attemptID(c))
	return attemptApproved{done.ID, done.Payment}, err
}

type abortRequest struct {
	Reason string `json:"reason"`
}

type attemptAborted struct {
	PaymentAttemptID domain.AttemptID `json:"paymentAttemptId"`
	ApprovalStatus   attempt.Status   `json:"approvalStatus"`
}

// AbortAttempt serves POST /payment-attempts/{id}/abort.
func (h *Handlers) AbortAttempt(c *request.Call, body abortRequest) (any, error) {
	done, err := h.Commands.AbortAttempt(c.Ctx, c.Caller(), attemptID(c), body.Reason)
	return attemptAborted{done.ID, done.Status(h.Now())}, err
}

func attemptID(c *request.Call) domain.AttemptID { return domain.AttemptID(c.Vars["id"]) }
