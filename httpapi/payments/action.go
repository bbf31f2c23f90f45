package payments

import (
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/httpapi/request"
)

// actionRequest is the body of POST /required-actions/complete (D12).
type actionRequest struct {
	Outcome processor.Outcome `json:"outcome"`
}

// actionAnswer is what the browser hands to the merchant.
type actionAnswer struct {
	ResumeToken string `json:"resumeToken"`
}

// CompleteAction serves POST /required-actions/complete, from the customer's browser. Nothing is recorded: that
// the action ended is told with the resume token. How it ended a browser may declare in the sandbox only: elsewhere
// the token says nothing about it, and resume asks the processor (D12).
func (h *Handlers) CompleteAction(c *request.Call) (any, error) {
	body, err := request.Decode[actionRequest](c)
	if err != nil {
		return nil, err
	}
	found, err := h.Reader.Payment(c.Ctx, c.Merchant.ID, c.Action.Payment)
	if err != nil {
		return nil, err
	}
	required := found.RequiredAction()
	if required == nil || required.Revision != c.Action.Revision {
		refusal := domain.Refuse(domain.KindConflict, domain.ReasonInvalidPaymentStatus, "The payment does not wait for this action any more.")
		refusal.Payment, refusal.Status = found.ID, string(found.Status())
		return nil, refusal
	}
	token, err := h.Tokens.SignResume(found, required, body.Outcome)
	return actionAnswer{ResumeToken: token}, err
}
