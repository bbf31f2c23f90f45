package httpapi

import (
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore/commands"
)

// resumeClaims are what a resume token says; to merchants it is opaque (D8). Its audience, and that it has
// no environment and no intent, tell it from a client token.
type resumeClaims struct {
	AccountID domain.AccountID  `json:"accountId"`
	PaymentID domain.PaymentID  `json:"paymentId"`
	Action    uint64            `json:"action"`            // revision that names the required action
	Outcome   processor.Outcome `json:"outcome,omitempty"` // "": the processor knows it
	jwt.RegisteredClaims
}

// resumeAudience is who a resume token is for.
const resumeAudience = "resume"

// signResumeToken makes the token with which a payment goes on after its action.
func (a *API) signResumeToken(p payment.State, action *payment.RequiredAction, outcome processor.Outcome) (string, error) {
	return jwt.NewWithClaims(jwt.SigningMethodHS256, resumeClaims{
		AccountID: p.Account, PaymentID: p.ID, Action: action.Revision, Outcome: outcome,
		RegisteredClaims: jwt.RegisteredClaims{
			Audience: jwt.ClaimStrings{resumeAudience}, ExpiresAt: jwt.NewNumericDate(action.ExpiresAt.Truncate(time.Second)),
		},
	}).SignedString(a.ClientTokenKey)
}

// resumedAction reads a resume token for the call's payment: the action that it names, 0 when it is none of
// ours or of another payment, and what the action ended with: outside the sandbox no token tells that. The expiry is left to the payment, which knows
// the action: one that is handed in too late is a failed challenge (D7).
func (c *call) resumedAction(token string) (uint64, processor.Outcome) {
	var claims resumeClaims
	err := c.api.verifyClaims(token, &claims, jwt.WithoutClaimsValidation())
	ours := err == nil && len(claims.Audience) == 1 && claims.Audience[0] == resumeAudience
	if !ours || claims.AccountID != c.merchant.ID || claims.PaymentID != c.paymentID() {
		return 0, ""
	}
	if c.api.Environment != account.Sandbox {
		return claims.Action, ""
	}
	return claims.Action, claims.Outcome
}

// resumeRequest is the body of POST /payments/{id}/resume (§4).
type resumeRequest struct {
	ResumeToken string   `json:"resumeToken"`
	Expand      []string `json:"expand"`
}

// resumePayment: POST /payments/{id}/resume. What is not finished in time is refused with NoActionsToHandle,
// which is 202 (D8).
func resumePayment(c *call) (any, error) {
	body, key, err := onPayment[resumeRequest](c)
	if err != nil {
		return nil, err
	}
	action, outcome := c.resumedAction(body.ResumeToken)
	after, err := c.api.Commands.Resume(c.ctx, c.caller(), commands.ResumeInput{
		Payment: c.paymentID(), Action: action, Outcome: outcome, IdempotencyKey: key,
	})
	if err != nil {
		return nil, err
	}
	return c.renderPayment(after, slices.Contains(body.Expand, expandEvents))
}
