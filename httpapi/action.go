package httpapi

import (
	"strconv"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// intentAction is the intent of the token that starts a required action: the one action there is (D4, D13).
const intentAction = "3DS_AUTHENTICATION"

// action is the required action that a client token is for.
type action struct {
	payment  domain.PaymentID
	revision uint64
}

// signActionToken makes the client token of the action that a payment waits for; "" when it waits for none
// (D6). The same state gives the same token.
func (a *API) signActionToken(p payment.State) (string, error) {
	required := p.RequiredAction()
	if required == nil {
		return "", nil
	}
	claims := a.claims(a.actionAccess(p.ID, required.Revision), intentAction, p.Account, required.ExpiresAt)
	claims.PaymentID, claims.Action = p.ID, required.Revision
	return a.signClaims(claims)
}

// actionAccess is the accessToken of an action's client token: a uuid like a session's, made from what the
// token is for. By itself it opens nothing.
func (a *API) actionAccess(id domain.PaymentID, revision uint64) accessToken {
	return accessToken(a.keyedUUID("action " + string(id) + " " + strconv.FormatUint(revision, 10)))
}

// authenticateAction reads the client token of a required action; no other client token is one (D12).
func (c *call) authenticateAction() error {
	text, err := c.browsersToken()
	if err != nil {
		return err
	}
	return c.actionOf(text)
}

// actionOf reads which payment's action a client token is for.
func (c *call) actionOf(text string) error {
	claims, err := c.readClientToken(text)
	if err != nil || claims.Intent != intentAction {
		return badClientToken()
	}
	merchant, known := c.api.Reader.Account(domain.AccountID(claims.AccountID))
	if !known {
		return badClientToken()
	}
	c.merchant, c.action = merchant, action{claims.PaymentID, claims.Action}
	return c.checkBrowserRate(byActionToken, string(claims.PaymentID))
}

// actionRequest is the body of POST /required-actions/complete (D12).
type actionRequest struct {
	Outcome processor.Outcome `json:"outcome"`
}

// actionAnswer is what the browser hands to the merchant.
type actionAnswer struct {
	ResumeToken string `json:"resumeToken"`
}

// completeAction: POST /required-actions/complete, from the customer's browser. Nothing is recorded: that
// the action ended is told with the resume token. How it ended a browser may declare in the sandbox only: elsewhere
// the token says nothing about it, and resume asks the processor (D12).
func completeAction(c *call) (any, error) {
	body, err := decode[actionRequest](c)
	if err != nil {
		return nil, err
	}
	found, err := c.api.Reader.Payment(c.ctx, c.merchant.ID, c.action.payment)
	if err != nil {
		return nil, err
	}
	required := found.RequiredAction()
	if required == nil || required.Revision != c.action.revision {
		refusal := domain.Refuse(domain.KindConflict, domain.ReasonInvalidPaymentStatus, "The payment does not wait for this action any more.")
		refusal.Payment, refusal.Status = found.ID, string(found.Status())
		return nil, refusal
	}
	outcome := body.Outcome
	if c.api.Environment != account.Sandbox {
		outcome = ""
	}
	token, err := c.api.signResumeToken(found, required, outcome)
	return actionAnswer{ResumeToken: token}, err
}
