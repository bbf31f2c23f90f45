package httpapi

import (
	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/eventstore/commands"
)

// attemptRequest is the body of POST /payment-attempts (D12).
type attemptRequest struct {
	PaymentMethodToken domain.Token `json:"paymentMethodToken"`
	seenPrice
}

// attemptStarted is the answer: the session's active attempt.
type attemptStarted struct {
	CurrentAttempt currentAttempt `json:"currentAttempt"`
}

type currentAttempt struct {
	ID                 domain.AttemptID `json:"id"`
	ApprovalStatus     attempt.Status   `json:"approvalStatus"`
	PaymentMethodToken domain.Token     `json:"paymentMethodToken"`
}

// startAttempt: POST /payment-attempts, from the customer's browser. 202: the merchant decides later.
func startAttempt(c *call) (any, error) {
	body, err := decode[attemptRequest](c)
	if err != nil {
		return nil, err
	}
	made, err := c.api.Commands.StartAttempt(c.ctx, c.caller(), commands.AttemptInput{
		Session: c.session, Token: body.PaymentMethodToken, Shown: body.shown(),
	})
	if err != nil {
		return nil, err
	}
	return accepted{attemptStarted{currentAttempt{made.ID, made.Status(c.api.Now()), made.Token}}}, nil
}

// attemptSeen is an attempt as the customer's browser sees it.
type attemptSeen struct {
	ID             domain.AttemptID `json:"id"`
	ApprovalStatus attempt.Status   `json:"approvalStatus"`
	PaymentID      domain.PaymentID `json:"paymentId,omitempty"`     // once the payment can be read
	AmountChanged  bool             `json:"amountChanged,omitempty"` // the session asks for another price than the customer saw
}

// getAttempt: GET /payment-attempts/{id}. An attempt of another session is as unknown as one that is not there.
func getAttempt(c *call) (any, error) {
	found, err := c.api.Commands.Attempt(c.ctx, c.merchant.ID, c.attemptID())
	if err == nil && found.Session != c.session {
		err = attempt.Unknown()
	}
	if err != nil {
		return nil, err
	}
	changed, err := c.api.Commands.AmountChanged(c.ctx, found)
	if err != nil {
		return nil, err
	}
	seen := attemptSeen{ID: found.ID, ApprovalStatus: found.Status(c.api.Now()), AmountChanged: changed}
	if found.Done {
		seen.PaymentID = found.Payment
	}
	return seen, nil
}

// attemptApproved is the answer of an approval, the same again and again (D5).
type attemptApproved struct {
	PaymentAttemptID domain.AttemptID `json:"paymentAttemptId"`
	PaymentID        domain.PaymentID `json:"paymentId"`
}

// approveAttempt: POST /payment-attempts/{id}/approve.
func approveAttempt(c *call) (any, error) {
	done, err := c.api.Commands.ApproveAttempt(c.ctx, c.caller(), c.attemptID())
	if err != nil {
		return nil, err
	}
	return attemptApproved{done.ID, done.Payment}, nil
}

// abortRequest is the body of POST /payment-attempts/{id}/abort.
type abortRequest struct {
	Reason string `json:"reason"`
}

// attemptAborted is the answer of an abort.
type attemptAborted struct {
	PaymentAttemptID domain.AttemptID `json:"paymentAttemptId"`
	ApprovalStatus   attempt.Status   `json:"approvalStatus"`
}

// abortAttempt: POST /payment-attempts/{id}/abort.
func abortAttempt(c *call) (any, error) {
	body, err := decode[abortRequest](c)
	if err != nil {
		return nil, err
	}
	done, err := c.api.Commands.AbortAttempt(c.ctx, c.caller(), commands.AbortInput{Attempt: c.attemptID(), Reason: body.Reason})
	if err != nil {
		return nil, err
	}
	return attemptAborted{done.ID, done.Status(c.api.Now())}, nil
}

func (c *call) attemptID() domain.AttemptID { return domain.AttemptID(c.vars["id"]) }
