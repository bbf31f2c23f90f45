package payments

import (
	"slices"

	"payledger/eventstore/commands"
	"payledger/httpapi/request"
)

// resumeRequest is the body of POST /payments/{id}/resume (§4).
type resumeRequest struct {
	ResumeToken string   `json:"resumeToken"`
	Expand      []string `json:"expand"`
}

// ResumePayment serves POST /payments/{id}/resume. What is not finished in time is refused with NoActionsToHandle,
// which is 202 (D8).
func (h *Handlers) ResumePayment(c *request.Call) (any, error) {
	body, key, err := onPayment[resumeRequest](h, c)
	if err != nil {
		return nil, err
	}
	action, outcome := h.Tokens.ReadResume(body.ResumeToken, c.Merchant.ID, paymentID(c))
	after, err := h.Commands.Resume(c.Ctx, c.Caller(), commands.ResumeInput{
		Payment: paymentID(c), Action: action, Outcome: outcome, IdempotencyKey: key,
	})
	if err != nil {
		return nil, err
	}
	return h.renderPayment(c, after, slices.Contains(body.Expand, expandEvents))
}
